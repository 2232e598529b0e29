"""SQL expressions in process: DuckDB types them and computes them (`duckdb_engine`).

Plain columns never reach DuckDB: a projection that only picks and renames moves references. Nor do
comparisons of numbers with constants, where nothing else is asked (`plain_comparisons`). Calls
of the user's functions do not reach it either: they are made first, and DuckDB is given their
values.

Values agree with Spark's ANSI mode: overflow and division by zero are errors, not NULL. See
docs/design/expressions.md for the measurements behind the choice, and for the known differences.

Which functions there are, and of what kind, the installed DuckDB says. A macro is what its
definition calls: `geomean(x)` is `exp(avg(ln(x)))`, an aggregate.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from windrow.errors import DataError
from windrow.operators.columns.arrow_types import arrow_schema, arrow_type, moved, spark_type
from windrow.operators.columns.changes import ChangeBatch, take_columns
from windrow.operators.expressions.duckdb_engine import (
    BoundExprs,
    conjunction,
    connect,
    duckdb_functions,
    reason,
)
from windrow.operators.expressions.functions import call_function
from windrow.operators.expressions.plain_comparisons import PlainComparisons
from windrow.physical.nodes.stateless import FilterRows, ProjectRows, RangeRows
from windrow.plan.exprs import EVENT_TIME
from windrow.plan.functions import FunctionKinds
from windrow.plan.types import refused_expression
from windrow.schema import MAX_TICK, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import duckdb
    from numpy.typing import NDArray

    from windrow.physical.nodes.base import PhysicalNode
    from windrow.plan.exprs import Expr


KEYWORDS = frozenset(
    {"current_timestamp", "current_date", "current_time", "localtimestamp", "localtime"}
)
"""Functions that SQL also writes without parentheses; their values are of the moment."""

_CALLED_CONSISTENT = frozenset({"current_localtime", "current_localtimestamp"})
"""Clocks that DuckDB's catalog calls consistent: two queries are given two values."""

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?P<quoted>(?:[^"]|"")+)"(?P<opens>\s*\()? | (?P<word>[^\W\d]\w*)(?P<calls>\s*\()?""",
    re.VERBOSE,
)
_ROW_MAKER = "unnest"


def called(text: str) -> frozenset[str]:
    """The functions that an expression of DuckDB calls, in lower case."""
    names = set()
    for token in _TOKEN.finditer(text):
        if token["opens"]:
            names.add(token["quoted"].lower())
        elif token["word"] and (token["calls"] or token["word"].lower() in KEYWORDS):
            names.add(token["word"].lower())
    return frozenset(names)


@lru_cache(maxsize=1)
def duckdb_kinds() -> FunctionKinds:
    """The kinds of all functions that the installed DuckDB has."""
    import duckdb  # noqa: PLC0415

    rows = (
        connect()
        .execute(
            "SELECT DISTINCT lower(function_name), function_type, stability, macro_definition"
            " FROM duckdb_functions()"
        )
        .fetchall()
    )
    macros = {
        (name, called(definition))
        for name, type_, _, definition in rows
        if type_ == "macro" and definition
    }
    volatile = {name for name, _, stability, _ in rows if stability not in {None, "CONSISTENT"}}
    return FunctionKinds(
        duckdb.__version__,
        _with_macros({name for name, type_, *_ in rows if type_ == "aggregate"}, macros),
        frozenset(name for name, type_, *_ in rows if type_ == "window"),
        _with_macros({_ROW_MAKER}, macros),
        _with_macros(volatile | KEYWORDS | _CALLED_CONSISTENT, macros),
    )


def _with_macros(names: set[str], macros: set[tuple[str, frozenset[str]]]) -> frozenset[str]:
    """The names, and those of macros that call one, directly or by another macro."""
    found = set(names)
    while True:
        more = {name for name, calls in macros if calls & found} - found
        if not more:
            return frozenset(found)
        found |= more


RowByRow = FilterRows | ProjectRows | RangeRows
Way: TypeAlias = "Callable[[ChangeBatch], ChangeBatch]"


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

    def types(self, columns: Schema, expressions: Sequence[Expr]) -> list[str]:
        """The Spark type of each expression.

        Raises:
            BindError: DuckDB refuses an expression; its reason is given.
        """
        calls = {call.column: call.function for expr in expressions for call in expr.calls}
        values = tuple(Field(name, function.returns) for name, function in calls.items())
        return _types(Schema(columns.fields + values), expressions)

    def has_function(self, name: str) -> bool:
        """Whether DuckDB has a function of that name."""
        return name.lower() in duckdb_functions()

    def volatile_parts(self, columns: Schema, expression: Expr) -> frozenset[str]:  # noqa: ARG002
        """The functions that the installed DuckDB's own catalog calls volatile."""
        return called(expression.duckdb) & duckdb_kinds().volatile

    def agrees_with_duckdb(
        self,
        columns: Schema,  # noqa: ARG002
        expression: Expr,  # noqa: ARG002
        *,
        may_differ: bool,  # noqa: ARG002
        depends_on_settings: bool,  # noqa: ARG002
    ) -> bool:
        """Always: it is DuckDB."""
        return True


def _types(rows: Schema, expressions: Sequence[Expr]) -> list[str]:
    """The types of all, asked at once; one by one only to find the one that is refused."""
    import duckdb  # noqa: PLC0415

    if not expressions:
        return []
    try:
        found = _bound_types(rows, tuple(each.duckdb for each in expressions))
    except (duckdb.Error, pa.ArrowException) as error:  # Arrow nests types 64 deep at most
        if len(expressions) > 1:
            return [each for one in expressions for each in _types(rows, [one])]
        raise refused_expression("DuckDB", expressions[0], reason(error)) from error
    return [spark_type(type_, each.text) for type_, each in zip(found, expressions, strict=True)]


@lru_cache(maxsize=1024)
def _bound_types(rows: Schema, texts: tuple[str, ...]) -> tuple[pa.DataType, ...]:
    """The types that DuckDB gives expressions over such rows.

    Texts and types of columns decide them, and to ask takes milliseconds: who asks the same
    question of many streams, or again, gets the answer that was found first.
    """
    values = ", ".join(f"({text}) AS value_{i}" for i, text in enumerate(texts))
    # A condition must be a value of one row: there DuckDB refuses aggregates, whatever their names,
    # functions for OVER and makers of rows.
    of_one_row = " AND ".join(f"(({text}) IS NULL)" for text in texts)
    query = f"SELECT {values} FROM rows WHERE {of_one_row}"
    with connect() as connection:
        connection.register("rows", arrow_schema(rows).empty_table())
        return tuple(connection.sql(query).to_arrow_table().schema.types)


class Evaluator:
    """Applies stateless nodes to change batches; times, ends and signs travel along.

    Keeps one DuckDB connection, opened when the first expression needs it.

    Examples:
        >>> evaluator = Evaluator()
        >>> rows = ChangeBatch(pa.record_batch({"a": [1, 2]}), np.array([10, 20]))
        >>> evaluator.apply(RangeRows(input=..., ticks=5), rows).ends
        array([16, 26])
    """

    def __init__(self) -> None:
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._expressions: dict[tuple[Expr, ...], BoundExprs] = {}
        self._questions: dict[
            tuple[Expr, ...], list[tuple[tuple[Expr, ...], PlainComparisons]]
        ] = {}
        # By the identity of the node, which is kept: to look a node up by its value takes longer.
        self._ways: dict[int, tuple[PhysicalNode, Way]] = {}

    def apply(self, node: PhysicalNode, batch: ChangeBatch) -> ChangeBatch:
        """The rows of the batch after the node.

        Raises:
            DataError: a value cannot be computed (overflow, division by zero, a bad cast).
        """
        found = self._ways.get(id(node))
        if found is None:
            found = self._ways[id(node)] = node, self._way(node)
        return found[1](batch)

    def _way(self, node: PhysicalNode) -> Way:
        """How batches go through a node."""
        if node.range_ticks is not None:
            return partial(_ranged, node.range_ticks)
        if isinstance(node, FilterRows):
            return partial(self._filter, node.predicates)
        assert isinstance(node, ProjectRows)
        exprs = [item.expr for item in node.items]
        # The schema is the node's, so that every batch of a relation has one schema.
        schema = arrow_schema(node.schema)
        if EVENT_TIME not in exprs and all(expr.is_column for expr in exprs):
            return partial(_picked, [expr.columns[0] for expr in exprs], schema)
        return partial(self._project, exprs, schema)

    def apply_all(self, nodes: Sequence[PhysicalNode], batch: ChangeBatch) -> ChangeBatch:
        """The rows of the batch after one node after the other."""
        for node in nodes:
            batch = self.apply(node, batch)
        return batch

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

        Raises:
            DataError: a value cannot be computed.
        """
        questions = self._questions.get(predicates)
        if questions is None:
            questions = [(own, PlainComparisons(own)) for own in _asked_together(predicates)]
            self._questions[predicates] = questions
        first, *others = questions
        holds = self._verdicts(first, columns, rows)
        for together in others:
            asked = np.flatnonzero(holds)
            if not len(asked):
                break
            own = columns if len(asked) == rows else take_columns(columns, asked)
            holds[asked] = self._verdicts(together, own, len(asked))
        return holds

    def compute(
        self, expressions: Sequence[Expr], columns: pa.RecordBatch, rows: int
    ) -> list[pa.Array]:
        """The values of expressions, plain columns among them, one array each.

        Raises:
            DataError: a value cannot be computed.
        """
        computed = tuple(dict.fromkeys(expr for expr in expressions if not expr.is_column))
        values = dict(zip(computed, self._compute(computed, columns, rows), strict=True))
        return [
            columns.column(expr.columns[0]) if expr.is_column else values[expr]
            for expr in expressions
        ]

    def _filter(self, predicates: tuple[Expr, ...], batch: ChangeBatch) -> ChangeBatch:
        if not predicates or not len(batch):
            return batch
        return batch.where(self.verdicts(predicates, batch.columns, len(batch)))

    def _project(self, exprs: list[Expr], schema: pa.Schema, batch: ChangeBatch) -> ChangeBatch:
        computed = [expr for expr in exprs if expr != EVENT_TIME]
        values = iter(self.compute(computed, batch.columns, len(batch)))
        arrays = [pa.array(batch.times) if expr == EVENT_TIME else next(values) for expr in exprs]
        columns = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return ChangeBatch(columns, batch.times, batch.ends, batch.signs)

    def _verdicts(
        self,
        question: tuple[tuple[Expr, ...], PlainComparisons],
        columns: pa.RecordBatch,
        rows: int,
    ) -> NDArray[np.bool_]:
        predicates, plain = question
        known = plain.verdicts(columns)
        if known is not None:
            return known
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
            try:
                value = call_function(call.function, arguments, rows)
            except DataError as error:
                error.at(call.span)
                raise
            columns = pa.RecordBatch.from_arrays(
                [*columns.columns, value], names=[*columns.schema.names, name]
            )
        return columns

    def _bound(self, expressions: tuple[Expr, ...]) -> BoundExprs:
        bound = self._expressions.get(expressions)
        if bound is None:
            if self._connection is None:
                self._connection = connect()
            bound = BoundExprs(self._connection, f"rows_{len(self._expressions)}", expressions)
            self._expressions[expressions] = bound
        return bound


def _ranged(ticks: int, batch: ChangeBatch) -> ChangeBatch:
    return ChangeBatch(batch.columns, batch.times, range_ends(batch, ticks), batch.signs)


def _picked(names: list[str], schema: pa.Schema, batch: ChangeBatch) -> ChangeBatch:
    """The named columns under the names of a schema; the batch itself where it has just these."""
    own = batch.columns
    if own.schema.names == names and own.schema.equals(schema):
        return batch
    columns = pa.RecordBatch.from_arrays([own.column(name) for name in names], schema=schema)
    return ChangeBatch(columns, batch.times, batch.ends, batch.signs)


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
    ends = moved(batch.times, min(ticks, MAX_TICK - 1) + 1)
    return ends if batch.ends is None else np.minimum(ends, batch.ends)
