"""DuckDB as the engine of expressions: connections, and expressions bound once.

What is computed goes through one DuckDB relation per list of expressions, bound once and run per
batch over the columns it reads and nothing else, so that a small batch costs about a millisecond.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.errors import DataError, cover
from windrow.operators.columns.arrow_types import arrow_type, conform
from windrow.operators.columns.changes import select

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb
    from numpy.typing import NDArray

    from windrow.errors import Span
    from windrow.plan.exprs import Expr

_ROW = "__row"
"""Stands in for the columns where an expression reads none: DuckDB needs one to count rows by."""

_PLACE = "__place"
"""The numbers of a table's rows, beside `_ROW`."""

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


class BoundExprs:
    """Some expressions, bound by DuckDB once, over rows that change per batch."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, name: str, expressions: tuple[Expr, ...]
    ) -> None:
        self.connection = connection
        self.name = name
        self.expressions = expressions
        self.columns = list(dict.fromkeys(c for e in expressions for c in e.read_by_duckdb))
        values = ", ".join(f"{_typed(e)} AS value_{i}" for i, e in enumerate(expressions))
        self.query = f"SELECT {values} FROM {name}"
        self.source = _Source(pa.record_batch({}))
        self.relation: duckdb.DuckDBPyRelation | None = None
        self.is_prepared = False

    def values(self, columns: pa.RecordBatch, rows: int) -> list[pa.Array]:
        """The values of each expression, one per row."""
        table = self._over(columns, rows, self._read_relation)
        return [
            conform(_one_array(table.column(i)), arrow_type(e.type), e.text)
            for i, e in enumerate(self.expressions)
        ]

    def verdicts(self, columns: pa.RecordBatch, rows: int) -> NDArray[np.bool_]:
        """The values of the one expression, a boolean that is never NULL.

        The prepared statement with an array for its answer takes a third of the time that the
        relation takes; it cannot give every type.
        """
        verdicts: NDArray[np.bool_] = self._over(columns, rows, self._execute)["value_0"]
        return verdicts

    def _over(self, columns: pa.RecordBatch, rows: int, run: Callable[[], Any]) -> Any:
        """What `run` gives over the rows of the batch."""
        import duckdb

        read = (
            select(columns, self.columns)
            if self.columns
            else _numbered(select(columns, []), rows, _ROW)
        )
        try:
            self._put(read)
            return run()
        except duckdb.Error as error:
            raise self._blame(error, read) from error

    def _put(self, rows: pa.RecordBatch) -> None:
        """Has the expressions read these rows; what was bound is bound again for other types."""
        has_new_types = self.source.rows.schema != rows.schema
        self.source.rows = rows
        if has_new_types:
            self.connection.register(self.name, self.source)
            self.relation, self.is_prepared = None, False

    def _read_relation(self) -> pa.Table:
        if self.relation is None:
            self.relation = self.connection.sql(self.query)
        # A DuckDB relation keeps no result: it runs anew whenever it is read.
        return self.relation.to_arrow_table()

    def _execute(self) -> dict[str, Any]:
        if not self.is_prepared:
            self.connection.execute(f"PREPARE {self.name} AS {self.query}")
            self.is_prepared = True
        found: dict[str, Any] = self.connection.execute(f"EXECUTE {self.name}").fetchnumpy()
        return found

    def _blame(self, error: duckdb.Error, rows: pa.RecordBatch) -> DataError:
        """The error of the first expression that fails on these rows alone."""
        import duckdb

        texts, place = ", ".join(e.text for e in self.expressions), None
        self.connection.register("blamed", _Source(rows))
        for expression in self.expressions:
            try:
                self.connection.execute(f"SELECT {_typed(expression)} FROM blamed").fetchall()
            except duckdb.Error:
                texts, place = expression.text, expression.span
                break
        return bad_value(texts, error, place)


class BoundPairs:
    """Finds the pairs of a batch's rows and a table's that meet conditions, by a join of DuckDB's.

    Conditions that only compare columns are left to DuckDB, which has joins for them; any others
    keep their order, so that one guards those after it.

    Args:
        predicates: the conditions, at least one.
        table: what they read of the table, and perhaps more.
        places: how many rows the table has: one without columns does not say.
    """

    def __init__(self, predicates: tuple[Expr, ...], table: pa.RecordBatch, places: int) -> None:
        self.connection = connect()
        self.predicates = predicates
        read = list(dict.fromkeys(c for p in predicates for c in p.read_by_duckdb))
        of_table = [column for column in read if column in table.schema.names]
        self.columns = [column for column in read if column not in of_table]
        numbered = _numbered(select(table, of_table), places, _PLACE)
        self.connection.register("arrived", numbered)
        self.connection.execute("CREATE TEMP TABLE places AS SELECT * FROM arrived")

    def pairs(
        self, columns: pa.RecordBatch, rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of the rows of each pair."""
        import duckdb

        batch = _numbered(select(columns, self.columns), rows, _ROW)
        self.connection.register("arrived", batch)
        whole = conjunction(self.predicates)
        condition = whole.duckdb
        if all(predicate.comparisons for predicate in self.predicates):
            condition = " AND ".join(f"({predicate.duckdb})" for predicate in self.predicates)
        query = f"SELECT {_ROW}, {_PLACE} FROM arrived, places WHERE {condition}"
        try:
            found = self.connection.execute(query).fetchnumpy()
        except duckdb.Error as error:
            raise bad_value(whole.text, error, whole.span) from error
        return found[_ROW], found[_PLACE]


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
    import duckdb

    database = duckdb.connect(config={"threads": 1})
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    # Spark's ANSI mode raises on division by zero, of doubles too.
    database.execute("SET GLOBAL ieee_floating_point_ops = false")
    database.execute("SET GLOBAL error_on_division_by_zero = true")
    return database


@lru_cache(maxsize=1)
def duckdb_functions() -> frozenset[str]:
    """The names of all functions, in lower case: to look one up takes as long as to list them."""
    query = "SELECT DISTINCT lower(function_name) FROM duckdb_functions()"
    return frozenset(name for (name,) in connect().execute(query).fetchall())


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
        span=cover(*(predicate.span for predicate in predicates)),
    )


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


def _numbered(columns: pa.RecordBatch, rows: int, name: str) -> pa.RecordBatch:
    """The columns with the numbers of their rows under a name."""
    arrays = [*columns.columns, pa.array(np.arange(rows))]
    return pa.RecordBatch.from_arrays(arrays, names=[*columns.schema.names, name])


def bad_value(texts: str, error: duckdb.Error, place: Span | None) -> DataError:
    """The error of an expression that DuckDB cannot compute for some row."""
    return DataError(
        "bad-value",
        f"the expression {texts} cannot be computed for a row",
        reason=reason(error),
        hint="guard it with CASE WHEN, try_divide or try_cast, or filter such rows out",
        span=place,
    )


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def reason(error: Exception) -> str:
    """The first line of what DuckDB says, without the suggestions meant for its own users."""
    return str(error).strip().splitlines()[0].split(" Use TRY(")[0]
