"""SQL expressions in process: DuckDB types them and computes them.

Plain columns never reach DuckDB: a projection that only picks and renames moves references. What is
computed goes through one DuckDB relation per list of expressions, bound once and run per batch over
the columns it reads and nothing else, so that a small batch costs about a millisecond.

Values agree with Spark's ANSI mode: overflow and division by zero are errors, not NULL. See
docs/design/expressions.md for the measurements behind the choice, and for the known differences.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.errors import BindError, DataError
from windrow.operators.arrow_types import arrow_schema, arrow_type, conform, spark_type
from windrow.operators.changes import ChangeBatch, select, take_columns
from windrow.operators.functions import call_function
from windrow.physical.specs import FilterRows, ProjectRows, RangeRows
from windrow.schema import MAX_TICK, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import duckdb
    from numpy.typing import NDArray

    from windrow.plan.exprs import Expr

Stateless = FilterRows | ProjectRows | RangeRows

_ROW = "__row"
"""Stands in for the columns where an expression reads none: DuckDB needs one to count rows by."""

_DUCKDB_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.duration("us"): "INTERVAL",
    pa.time64("ns"): "TIME",
}


class DuckdbTypes:
    """Gives the Spark types of expressions, as DuckDB binds them.

    Implements `plan.types.TypeResolver`.

    Examples:
        >>> from windrow.plan.exprs import column
        >>> from windrow.schema import Field
        >>> columns = Schema((Field("a.price", "double"),))
        >>> DuckdbTypes().types(columns, [column("a.price", "")])
        ['double']
    """

    def __init__(self) -> None:
        self._connection = connect()

    def types(self, columns: Schema, expressions: Sequence[Expr]) -> list[str]:
        """The Spark type of each expression.

        Raises:
            BindError: DuckDB refuses an expression; its reason is given.
        """
        calls = {call.column: call.function for expr in expressions for call in expr.calls}
        values = tuple(Field(name, function.returns) for name, function in calls.items())
        rows = Schema(columns.fields + values)
        self._connection.register("rows", arrow_schema(rows).empty_table())
        try:
            return [self._type(expression) for expression in expressions]
        finally:
            self._connection.unregister("rows")

    def has_function(self, name: str) -> bool:
        """Whether DuckDB has a function of that name."""
        query = "SELECT count(*) FROM duckdb_functions() WHERE lower(function_name) = ?"
        ((found,),) = self._connection.execute(query, [name.lower()]).fetchall()
        return bool(found)

    def agrees_with_duckdb(
        self,
        columns: Schema,  # noqa: ARG002
        expression: Expr,  # noqa: ARG002
        *,
        depends_on_settings: bool,  # noqa: ARG002
    ) -> bool:
        """Always: it is DuckDB."""
        return True

    def _type(self, expression: Expr) -> str:
        import duckdb  # noqa: PLC0415

        query = f"SELECT {expression.duckdb} AS value FROM rows"
        try:
            schema = self._connection.sql(query).to_arrow_table().schema
        except duckdb.Error as error:
            raise BindError(
                "bad-expression",
                f"the expression {expression.text} cannot be evaluated",
                reason=_reason(error),
            ) from error
        return spark_type(schema.field(0).type, expression.text)


class Evaluator:
    """Applies stateless specs to change batches; times, ends and signs travel along.

    Keeps one DuckDB connection, opened when the first expression needs it.

    Examples:
        >>> evaluator = Evaluator()
        >>> rows = ChangeBatch(pa.record_batch({"a": [1, 2]}), np.array([10, 20]))
        >>> evaluator.apply(RangeRows(input=..., ticks=5), rows).ends
        array([16, 26])
    """

    def __init__(self) -> None:
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._expressions: dict[tuple[Expr, ...], _Bound] = {}

    def apply(self, spec: Stateless, batch: ChangeBatch) -> ChangeBatch:
        """The rows of the batch after the spec.

        Raises:
            DataError: a value cannot be computed (overflow, division by zero, a bad cast).
        """
        if isinstance(spec, RangeRows):
            return ChangeBatch(
                batch.columns, batch.times, range_ends(batch, spec.ticks), batch.signs
            )
        if isinstance(spec, FilterRows):
            return self._filter(spec, batch)
        return self._project(spec, batch)

    def close(self) -> None:
        """Closes DuckDB; the evaluator can be used again and then opens anew."""
        self._expressions.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def verdicts(
        self, predicates: tuple[Expr, ...], columns: pa.RecordBatch, rows: int
    ) -> NDArray[np.bool_]:
        """Which of the rows every predicate is true for; NULL counts as false.

        Each predicate is asked only of rows that those before it hold for.

        Args:
            predicates: conditions on the columns, at least one.
            columns: what they read, and perhaps more.
            rows: how many rows there are.

        Raises:
            DataError: a value cannot be computed.
        """
        first, *others = _asked_together(predicates)
        holds = self._verdicts(first, columns, rows)
        for together in others:
            asked = np.flatnonzero(holds)
            if not len(asked):
                break
            own = columns if len(asked) == rows else take_columns(columns, asked)
            holds[asked] = self._verdicts(together, own, len(asked))
        return holds

    def _filter(self, spec: FilterRows, batch: ChangeBatch) -> ChangeBatch:
        if not spec.predicates or not len(batch):
            return batch
        kept = np.flatnonzero(self.verdicts(spec.predicates, batch.columns, len(batch)))
        return batch if len(kept) == len(batch) else batch.take(kept)

    def _project(self, spec: ProjectRows, batch: ChangeBatch) -> ChangeBatch:
        computed = tuple(dict.fromkeys(i.expr for i in spec.items if not i.expr.is_column))
        found = self._compute(computed, batch.columns, len(batch))
        values = dict(zip(computed, found, strict=True))
        arrays = [
            batch.columns.column(item.expr.columns[0]) if item.expr.is_column else values[item.expr]
            for item in spec.items
        ]
        # The schema is the spec's, so that every batch of a relation has one schema.
        columns = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(spec.schema))
        return ChangeBatch(columns, batch.times, batch.ends, batch.signs)

    def _verdicts(
        self, predicates: tuple[Expr, ...], columns: pa.RecordBatch, rows: int
    ) -> NDArray[np.bool_]:
        if predicates[0].is_call:
            (answer,) = self._compute(predicates, columns, rows)
            found: NDArray[np.bool_] = answer.fill_null(False).to_numpy(zero_copy_only=False)
            return found
        columns = self._with_calls(predicates, columns, rows)
        return self._bound((conjunction(predicates),)).verdicts(columns, rows)

    def _compute(
        self, expressions: tuple[Expr, ...], columns: pa.RecordBatch, rows: int
    ) -> list[pa.Array]:
        if not expressions:
            return []
        if not rows:
            return [pa.array([], arrow_type(expression.type)) for expression in expressions]
        columns = self._with_calls(expressions, columns, rows)
        own = tuple(expr for expr in expressions if not expr.is_call)
        values = iter(self._bound(own).values(columns, rows) if own else ())
        return [
            columns.column(expr.calls[0].column) if expr.is_call else next(values)
            for expr in expressions
        ]

    def _with_calls(
        self, expressions: tuple[Expr, ...], columns: pa.RecordBatch, rows: int
    ) -> pa.RecordBatch:
        """The columns, with the value of each call of a user's function beside them."""
        calls = {call.column: call for expr in expressions for call in expr.calls}
        for name, call in calls.items():
            arguments = [
                columns.column(argument.columns[0])
                if argument.is_column
                else self._compute((argument,), columns, rows)[0]
                for argument in call.arguments
            ]
            value = call_function(call.function, arguments, rows)
            columns = pa.RecordBatch.from_arrays(
                [*columns.columns, value], names=[*columns.schema.names, name]
            )
        return columns

    def _bound(self, expressions: tuple[Expr, ...]) -> _Bound:
        bound = self._expressions.get(expressions)
        if bound is None:
            if self._connection is None:
                self._connection = connect()
            bound = _Bound(self._connection, f"rows_{len(self._expressions)}", expressions)
            self._expressions[expressions] = bound
        return bound


class _Bound:
    """Some expressions, bound by DuckDB once, over rows that change per batch."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, name: str, expressions: tuple[Expr, ...]
    ) -> None:
        self.connection = connection
        self.name = name
        self.expressions = expressions
        self.columns = list(dict.fromkeys(c for e in expressions for c in e.read_by_duckdb))
        self.source = _Source(pa.record_batch({}))
        self.relation: duckdb.DuckDBPyRelation | None = None

    def values(self, columns: pa.RecordBatch, rows: int) -> list[pa.Array]:
        """The values of each expression, one per row."""
        # A DuckDB relation keeps no result: it runs anew whenever it is read.
        table = self._over(columns, rows, lambda relation: relation.to_arrow_table())
        return [
            conform(_one_array(table.column(i)), arrow_type(e.type), e.text)
            for i, e in enumerate(self.expressions)
        ]

    def verdicts(self, columns: pa.RecordBatch, rows: int) -> NDArray[np.bool_]:
        """The values of the one expression, a boolean that is never NULL.

        The prepared statement with an array for its answer takes a third of the time that the
        relation takes; it cannot give every type.
        """
        found = self._over(
            columns, rows, lambda _: self.connection.execute(f"EXECUTE {self.name}").fetchnumpy()
        )
        verdicts: NDArray[np.bool_] = found["value_0"]
        return verdicts

    def _over(
        self, columns: pa.RecordBatch, rows: int, run: Callable[[duckdb.DuckDBPyRelation], Any]
    ) -> Any:
        """What `run` gives over the rows of the batch."""
        import duckdb  # noqa: PLC0415

        read = select(columns, self.columns) if self.columns else _row_numbers(rows)
        try:
            return run(self._relation(read))
        except duckdb.Error as error:
            raise self._blame(error, read) from error

    def _relation(self, rows: pa.RecordBatch) -> duckdb.DuckDBPyRelation:
        """The expressions over these rows; bound again only where the types have changed."""
        has_new_types = self.source.rows.schema != rows.schema
        self.source.rows = rows
        if self.relation is None or has_new_types:
            self.connection.register(self.name, self.source)
            values = ", ".join(f"{_typed(e)} AS value_{i}" for i, e in enumerate(self.expressions))
            query = f"SELECT {values} FROM {self.name}"
            self.connection.execute(f"PREPARE {self.name} AS {query}")
            self.relation = self.connection.sql(query)
        return self.relation

    def _blame(self, error: duckdb.Error, rows: pa.RecordBatch) -> DataError:
        """The error of the first expression that fails on these rows alone."""
        import duckdb  # noqa: PLC0415

        texts = ", ".join(e.text for e in self.expressions)
        self.connection.register("blamed", _Source(rows))
        for expression in self.expressions:
            try:
                self.connection.execute(f"SELECT {_typed(expression)} FROM blamed").fetchall()
            except duckdb.Error:
                texts = expression.text
                break
        return DataError(
            "bad-value",
            f"the expression {texts} cannot be computed for a row",
            reason=_reason(error),
            hint="guard it with CASE WHEN, try_divide or try_cast, or filter such rows out",
        )


class _Source:
    """The rows of the present batch, as DuckDB asks for them: a new Arrow stream per scan."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.rows.schema, [self.rows])
        return reader.__arrow_c_stream__(requested_schema)


def connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB connection that computes as Spark does: UTC, and errors instead of infinities."""
    return _database().cursor()


@lru_cache(maxsize=1)
def _database() -> duckdb.DuckDBPyConnection:
    """The one database of the process: opening one takes 50 ms, a further connection none."""
    import duckdb  # noqa: PLC0415

    database = duckdb.connect(config={"threads": 1})
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    # Spark's ANSI mode raises on division by zero, of doubles too.
    database.execute("SET GLOBAL ieee_floating_point_ops = false")
    database.execute("SET GLOBAL error_on_division_by_zero = true")
    return database


def conjunction(predicates: tuple[Expr, ...]) -> Expr:
    """One expression that is true where every predicate is, each asked only where those before it hold.

    `b <> 0 AND a / b > 1` must not divide by zero, so CASE keeps the order.
    """
    *first, last = predicates
    texts = [f"WHEN ({predicate.duckdb}) IS NOT TRUE THEN FALSE" for predicate in first]
    duckdb = f"({last.duckdb}) IS TRUE"
    if texts:
        duckdb = f"CASE {' '.join(texts)} ELSE {duckdb} END"
    return type(last)(
        text=" AND ".join(predicate.text for predicate in predicates),
        spark=" AND ".join(f"({predicate.spark})" for predicate in predicates),
        duckdb=duckdb,
        columns=tuple(dict.fromkeys(c for predicate in predicates for c in predicate.columns)),
        type="boolean",
        calls=tuple(dict.fromkeys(c for predicate in predicates for c in predicate.calls)),
    )


def _asked_together(predicates: tuple[Expr, ...]) -> list[tuple[Expr, ...]]:
    """Runs of predicates that one question to DuckDB answers: those that call no function.

    One with a call stands alone, so that its function sees only rows that those before left.
    """
    runs: list[tuple[Expr, ...]] = []
    for predicate in predicates:
        if runs and not predicate.calls and not runs[-1][-1].calls:
            runs[-1] = (*runs[-1], predicate)
        else:
            runs.append((predicate,))
    return runs


def range_ends(batch: ChangeBatch, ticks: int) -> NDArray[np.int64]:
    """Where the rows of a [RANGE ticks] window end: the tick after the last they are alive at.

    time                time + ticks   end
     [=======================]          |        alive on both bracketed instants
    """
    reach = min(ticks, MAX_TICK - 1) + 1
    # Where the sum would overflow the row never expires.
    ends = np.minimum(batch.times, MAX_TICK - reach) + reach
    return ends if batch.ends is None else np.minimum(ends, batch.ends)


def _typed(expression: Expr) -> str:
    name = _duckdb_type(arrow_type(expression.type))
    return f"CAST({expression.duckdb} AS {name})" if name else f"({expression.duckdb})"


def _duckdb_type(arrow: pa.DataType) -> str:
    """The DuckDB type of a canonical Arrow type; empty for one that holds NULL alone."""
    if pa.types.is_null(arrow):
        return ""
    if pa.types.is_decimal(arrow):
        return f"DECIMAL({arrow.precision},{arrow.scale})"
    if pa.types.is_list(arrow):
        return f"{_duckdb_type(arrow.value_type) or 'INTEGER'}[]"
    if pa.types.is_map(arrow):
        return f"MAP({_duckdb_type(arrow.key_type)}, {_duckdb_type(arrow.item_type)})"
    if pa.types.is_struct(arrow):
        fields = [arrow.field(i) for i in range(arrow.num_fields)]
        quoted = [(f.name.replace('"', '""'), _duckdb_type(f.type)) for f in fields]
        return f"STRUCT({', '.join(f'{chr(34)}{name}{chr(34)} {kind}' for name, kind in quoted)})"
    return _DUCKDB_NAMES[arrow]


def _row_numbers(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(np.arange(rows))], names=[_ROW])


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _reason(error: duckdb.Error) -> str:
    """The first line of what DuckDB says, without the suggestions meant for its own users."""
    return str(error).strip().splitlines()[0].split(" Use TRY(")[0]
