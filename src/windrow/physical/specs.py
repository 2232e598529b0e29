"""The specs: one frozen class per way of computing a node.

Column names are flat (`a.price`). Every relation carries, beside its columns, event time, end and
sign (see `operators/changes.py`). Stateless specs (scan, filter, project, range, join with a table)
are left to Spark on Spark and evaluated by DuckDB in process; stateful ones become operators, the same object in
either place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from windrow.physical.asof import AsofSweep, RangeAggregate
from windrow.physical.bestmatch import MatwinBestmatch
from windrow.physical.estimates import Estimate
from windrow.physical.options import Options
from windrow.physical.part_sizes import USUAL, PartSizes
from windrow.physical.schedule import Schedule
from windrow.physical.shedding import PANES_PER_WINDOW, Shedding, least_row_bytes, pane_ticks
from windrow.physical.sliding_skyline import SlidingSkyline
from windrow.plan.count_windows import CountWindows
from windrow.plan.exprs import Expr, Named
from windrow.plan.functions import UserFunction
from windrow.plan.nodes import PRESERVED, Aggregate, TableKey
from windrow.plan.statistics import Figure
from windrow.plan.windows import WindowGraph
from windrow.schema import Schema


@dataclass(frozen=True)
class ScanStream:
    """Reads one stream: source columns `columns[i]` become `schema.names[i]`.

    `is_on_arrival`: the time column is not the source's; rows get it as they arrive. `changes`: the
    source's column that says whether a row comes or goes; None where all come. `lateness`,
    `read_ahead` and `punctuation` (the source's column) are its promises, None where it makes none.
    """

    stream: str
    alias: str
    columns: tuple[str, ...]
    schema: Schema
    time: str
    time_type: str
    lateness: int | None
    is_on_arrival: bool = False
    changes: str | None = None
    read_ahead: int | None = None
    punctuation: str | None = None


@dataclass(frozen=True)
class FilterRows:
    """Keeps the rows for which every predicate is true."""

    input: Spec
    predicates: tuple[Expr, ...]

    @property
    def schema(self) -> Schema:
        """The input's."""
        return self.input.schema


@dataclass(frozen=True)
class ProjectRows:
    """Computes columns; event time, end and sign pass through."""

    input: Spec
    items: tuple[Named, ...]
    schema: Schema


@dataclass(frozen=True)
class RangeRows:
    """Sets every row's end to event time + ticks + 1, or leaves an earlier end."""

    input: Spec
    ticks: int

    @property
    def schema(self) -> Schema:
        """The input's."""
        return self.input.schema


@dataclass(frozen=True)
class UnionRows:
    """The rows of all inputs, which have the same columns: UNION ALL."""

    inputs: tuple[Spec, ...]

    @property
    def schema(self) -> Schema:
        """That of each input."""
        return self.inputs[0].schema


@dataclass(frozen=True)
class ScanTable:
    """Reads one table: source columns `columns[i]` become `schema.names[i]`."""

    table: str
    alias: str
    columns: tuple[str, ...]
    schema: Schema


@dataclass(frozen=True)
class TableJoinRows:
    """Joins each row with a table that does not move; event time, end and sign pass through.

    Attributes:
        input: the rows.
        table: a scan of the table, perhaps below filters and projections.
        alias: how the user calls the table.
        kind: "inner", "left" (outer), "semi" or "anti".
        keys: the equalities, by which rows of the table are looked up.
        predicates: further conditions on a row and a row of the table.
        schema: the columns that are used above; none of the table in a semi or anti join.
        place: why it stands where it does, for EXPLAIN.
    """

    input: Spec
    table: Spec
    alias: str
    kind: str
    keys: tuple[TableKey, ...]
    predicates: tuple[Expr, ...]
    schema: Schema
    place: str = ""

    @property
    def may_multiply(self) -> bool:
        """Whether a row may come out several times."""
        return self.kind in {"inner", "left"}


@dataclass(frozen=True)
class KeyClass:
    """Columns of several inputs that must all be equal: one per input, or None.

    All have one type. `null_safe` classes match NULL with NULL; others never match a NULL.
    """

    columns: tuple[str | None, ...]
    type: str
    null_safe: bool = False

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs that take part."""
        return tuple(i for i, name in enumerate(self.columns) if name is not None)


@dataclass(frozen=True)
class WJoin:
    """Multi-way window join.

    Attributes:
        inputs: what is joined.
        aliases: how the user calls each input.
        classes: the keys.
        graph: the windows, one stream per input; `graph.upper` is the closed bound of each
            ordered pair.
        keep: per input, the columns that the result carries; `schema` lists them in order.
        method: "hash" or "nested-loop".
        schema: the columns of the result.
        algorithm: by which of the papers' algorithms, one of `optimize.options.ALGORITHMS`.
        predicates: further conditions over the inputs' columns.
        kind: "inner"; or, of two inputs, "left", "right" or "full" (outer), "semi" or "anti".
        alternative: windows that do as well as those of `graph` (EITHER WAY).
        functions: the user's functions that the predicates call.
        counts: windows that count tuples; `graph` then has conditions on time alone.
        structures: of the algorithm "asymmetric", per input the structure of its window.
        sizes: how large buckets and nodes are made, wherever structures are.
        orders: per input, the order in which its new tuples meet the others; of a pipeline one
            order, of all inputs from the bottom up. () leaves it to `physical.routes` and
            `physical.pipeline`.
        estimate: what it and other plans cost, where enough is known.
        shedding: what it may hold and do; None: as much as it takes. Where totals are estimated
            from its results, `schema` ends with `physical.shedding.hidden_fields`.
        is_snapshot: rows join while they are alive together, each until its own end or until it is
            taken back; `graph` then has conditions on time alone, and bounds no state.
        expires: of a snapshot join: a combination has no end, and is taken back when the first of
            its rows ends (negative tuples).
        at_once: of an outer join: every row of a preserved input comes with NULLs as it arrives,
            whether it has a match or not.
    """

    inputs: tuple[Spec, ...]
    aliases: tuple[str, ...]
    classes: tuple[KeyClass, ...]
    graph: WindowGraph
    keep: tuple[tuple[str, ...], ...]
    method: str
    schema: Schema
    algorithm: str = "bew"
    predicates: tuple[Expr, ...] = ()
    kind: str = "inner"
    alternative: WindowGraph | None = None
    functions: tuple[UserFunction, ...] = ()
    counts: CountWindows | None = None
    structures: tuple[str, ...] = ()
    sizes: PartSizes = USUAL
    orders: tuple[tuple[int, ...], ...] = ()
    estimate: Estimate | None = None
    shedding: Shedding | None = None
    is_snapshot: bool = False
    expires: bool = False
    at_once: bool = False

    @property
    def ways(self) -> tuple[WindowGraph, ...]:
        """The graphs of windows of which a combination meets one; under EITHER WAY two."""
        return (self.graph,) if self.alternative is None else (self.graph, self.alternative)

    @property
    def tracked(self) -> tuple[int, ...]:
        """The inputs of which rows come alone: with no match at all, or with one in a semi join."""
        return (0,) if self.kind == "semi" else PRESERVED[self.kind]

    @property
    def awaited(self) -> tuple[int, ...]:
        """The inputs of which rows that come alone wait until no match can follow."""
        return () if self.at_once else self.tracked

    @property
    def has_plans(self) -> bool:
        """Whether it is of the kind that several plans are weighed for: inner, by time, one way."""
        is_by_time = self.counts is None and not self.is_snapshot
        return self.kind == "inner" and is_by_time and self.alternative is None

    def runs_like(self, other: object) -> bool:
        """Whether another plan of the same join runs as this one does."""
        return isinstance(other, WJoin) and self._way == other._way

    @property
    def _way(self) -> tuple[object, ...]:
        return self.algorithm, self.method, self.structures, self.orders

    def retention(self, port: int) -> int:
        """How many ticks behind the watermark a row of an input may still be needed."""
        return max(graph.retention(port) for graph in self.ways)

    def reach(self, last: int, other: int) -> tuple[int, int]:
        """From when to when, seen from the last row of a combination, one of another input may be.

        Both ends count. Of one instant, the rows of the later input come last:

            t + first .......... t  or  t - 1
                                 last row
        """
        before = max(graph.upper[other][last] for graph in self.ways)
        after = max(graph.upper[last][other] for graph in self.ways)
        return -before, min(after, 0 if other < last else -1)

    @property
    def pane(self) -> int:
        """Ticks of event time for which a join that sheds decides at once."""
        panes = PANES_PER_WINDOW if self.shedding is None else self.shedding.panes
        return pane_ticks(self.shortest, panes)

    @property
    def shortest(self) -> int:
        """Ticks of the shortest window, of those that have any."""
        reaches = [own for own in map(self.retention, range(len(self.inputs))) if own > 0]
        return min(reaches, default=0)

    @property
    def least_row_bytes(self) -> int:
        """What a tuple takes beside its columns, where a join that sheds counts bytes."""
        return least_row_bytes(len(self.inputs), len(self.classes), len(self.predicates))

    def columns_needed(self, port: int) -> list[str]:
        """The columns of an input that results, keys or predicates need, each once."""
        keys = [key.columns[port] for key in self.classes]
        own = set(self.inputs[port].schema.names)
        read = [name for predicate in self.predicates for name in predicate.columns if name in own]
        needed = [*self.keep[port], *(name for name in keys if name is not None), *read]
        return list(dict.fromkeys(needed))


@dataclass(frozen=True)
class ResolveChanges:
    """The relation that a stream of changes describes: each delete with the row it takes back.

    Attributes:
        input: the changes.
        alias: how the user calls the stream.
        compared: the columns that say which rows are equal: all but the time column.
        ticks: the stream's [RANGE]; None: a row is there until it is deleted.
        time: the time column, None where nothing above needs it.
        schema: the columns that are shown.
    """

    input: Spec
    alias: str
    compared: tuple[str, ...]
    ticks: int | None
    time: str | None
    schema: Schema

    @property
    def time_type(self) -> str:
        """The type of its event time."""
        return scans(self)[0].time_type


@dataclass(frozen=True)
class CountRows:
    """The newest rows of a stream, [ROWS n] or [PARTITION BY k ROWS n], as changes.

    Where the input takes rows back, the newest of those that are there.

    Attributes:
        input: the stream's rows, with all columns: these order rows of one time.
        alias: how the user calls the stream.
        rows: how many rows stay.
        partition: so many for each value of these columns; () for one window.
        schema: the columns that are shown.
    """

    input: Spec
    alias: str
    rows: int
    partition: tuple[str, ...]
    schema: Schema


@dataclass(frozen=True)
class ExpireRows:
    """The rows of the input as signs alone: each once more, as a negative tuple, when it ends."""

    input: Spec

    @property
    def schema(self) -> Schema:
        """The input's."""
        return self.input.schema


@dataclass(frozen=True)
class SlidingAggregate:
    """Aggregates per group over the rows alive at each instant, as a changelog.

    `keys` and every aggregate's argument are plain columns of the input (a projection below
    computes them). Output: keys under their own names, then aggregates.

    `estimated_from`: the rows are combinations of a join of so many inputs that sheds, and carry
    `physical.shedding.hidden_fields`. Each aggregate is then estimated, and gives three columns,
    the estimate and the ends of its interval. 0: the rows are all there are.

    `is_merged`: rows that come and go together were added up before they reach it.
    """

    input: Spec
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    schema: Schema
    estimated_from: int = 0
    is_merged: bool = False

    @property
    def may_be_merged(self) -> bool:
        """Whether rows of equal time, end and sign become few, without GROUP BY to spread them.

        Counts and sums, and what follows from these, add up to one row. Of values of which the least
        or the greatest is asked for no others need go on, as long as none is taken back by its value.
        """
        functions = {each.function for each in self.aggregates}
        if self.keys or self.estimated_from or any(each.is_distinct for each in self.aggregates):
            return False
        ordered, summed = self._arguments({"min", "max"}), self._arguments({"sum", "avg"})
        only_end = has_ends(self.input) and not has_state(self.input)
        return (
            functions <= {"count", "sum", "avg", "min", "max"}
            and not ordered & summed
            and (only_end or not ordered)
        )

    def _arguments(self, functions: set[str]) -> set[Expr]:
        """What some functions are asked of."""
        return {a.argument for a in self.aggregates if a.argument and a.function in functions}


@dataclass(frozen=True)
class SetOp:
    """Rows by how many copies of them the inputs hold at each instant, as a changelog.

    One or two inputs with the same columns, all of which are the key.

    Attributes:
        inputs: the inputs.
        kind: one of those of `plan.nodes.SetOperation`, but not "union all", which needs no state;
            or "rows", which hands rows on as they are, late ones aside.
        expected: per input, how many rows it is expected to hold, and how many different ones;
            None where too little is known.
        place: why it stands where it does, or why no other of its kind stands below a join, for
            EXPLAIN.
    """

    inputs: tuple[Spec, ...]
    kind: str
    expected: tuple[tuple[Figure, Figure] | None, ...] = ()
    place: tuple[str, ...] = ()

    @property
    def hands_on(self) -> bool:
        """Whether rows pass with the times, ends and signs that they have."""
        return self.kind == "rows"

    @property
    def adds_signs_up(self) -> bool:
        """Whether the signs of an instant say all that changes in it, whatever was there before."""
        return self.kind == "changes" and not any(map(has_ends, self.inputs))

    @property
    def schema(self) -> Schema:
        """That of each input."""
        return self.inputs[0].schema


Stateless: TypeAlias = (
    ScanStream | FilterRows | ProjectRows | RangeRows | UnionRows | ScanTable | TableJoinRows
)

OfChanges: TypeAlias = ResolveChanges | CountRows | ExpireRows
"""What makes changes of a stream, for others to take rows back by."""

PairJoinSpec: TypeAlias = MatwinBestmatch | AsofSweep | RangeAggregate
"""Joins of two inputs that differ in what they are for."""

PAIR_JOINS = {
    MatwinBestmatch: "a bestmatch join",
    AsofSweep: "an as-of join",
    RangeAggregate: "a WINDOW JOIN",
}
"""What people call them."""


def pair_join_names(root: Spec) -> list[str]:
    """What people call the joins of two inputs in a query, each once."""
    own = [PAIR_JOINS[type(root)]] if isinstance(root, PairJoinSpec) else []
    return list(dict.fromkeys(own + [n for child in inputs(root) for n in pair_join_names(child)]))


Stateful: TypeAlias = OfChanges | WJoin | SlidingAggregate | SlidingSkyline | SetOp | PairJoinSpec

Spec: TypeAlias = Stateless | Stateful


class Runner(Enum):
    """Where a query runs."""

    process = "in process"
    spark_batch = "on Spark, batch"
    spark_streaming = "on Spark, streaming"


@dataclass(frozen=True)
class PhysicalQuery:
    """A whole query, ready for a runner.

    `output` are the names the user sees, in order; a changelog adds `_change_type` and
    `_event_time` (shown as `time_type`). `keys` are the columns that tell its rows apart at one
    instant, None where it is no changelog. `schedule` says when its operators take note of time if
    it runs in process.
    """

    root: Spec
    is_changelog: bool
    time_type: str
    sql: str
    options: Options = field(default_factory=Options)
    runner: Runner = Runner.process
    keys: tuple[str, ...] | None = None
    schedule: Schedule = field(default_factory=Schedule)

    @property
    def pairs_by(self) -> tuple[str, ...] | None:
        """The key of which a delete and an insert at one instant are an update; None: none are.

        Rows that no less than all of their columns tell apart never change: they come and go.
        """
        if not self.options.updates or self.keys is None:
            return None
        return None if set(self.keys) >= set(self.root.schema.names) else self.keys

    @property
    def needs_netting(self) -> bool:
        """Whether two versions of an aggregate's row may look alike in the answer.

        So it is where the answer does not show every column of the aggregate: a row may then be
        deleted and inserted at one instant, and the runner takes such changes out. Every key is
        shown: where one is not, the plan ends in a SetOp of kind "changes".
        """
        spec, shown = self.root, set(self.root.schema.names)
        while isinstance(spec, FilterRows | ProjectRows | TableJoinRows):
            if isinstance(spec, ProjectRows):
                items = [item for item in spec.items if item.name in shown and item.expr.is_column]
                shown = {item.expr.columns[0] for item in items}
            spec = spec.input
        return isinstance(spec, SlidingAggregate) and not shown.issuperset(spec.schema.names)


def inputs(spec: Spec) -> tuple[Spec, ...]:
    """The inputs of a spec, in order."""
    if isinstance(spec, ScanStream | ScanTable):
        return ()
    if isinstance(spec, WJoin | SetOp | UnionRows):
        return spec.inputs
    if isinstance(spec, TableJoinRows):
        return (spec.input, spec.table)
    if isinstance(spec, PairJoinSpec):
        return (spec.left, spec.right)
    return (spec.input,)


def scans(spec: Spec) -> tuple[ScanStream, ...]:
    """The streams that a spec reads, from left to right."""
    if isinstance(spec, ScanStream):
        return (spec,)
    return tuple(scan for child in inputs(spec) for scan in scans(child))


def tables(spec: Spec) -> tuple[ScanTable, ...]:
    """The tables that a spec reads, from left to right."""
    if isinstance(spec, ScanTable):
        return (spec,)
    return tuple(scan for child in inputs(spec) for scan in tables(child))


def takes_back(spec: Spec) -> bool:
    """Whether a spec, or one below it, makes changes: rows that come and go."""
    if isinstance(spec, OfChanges | SlidingAggregate | SlidingSkyline):
        return True
    makes_changes = isinstance(spec, SetOp) and not spec.hands_on
    return makes_changes or any(map(takes_back, inputs(spec)))


def has_state(spec: Spec) -> bool:
    """Whether a stage makes the rows of a spec, or some of them."""
    return isinstance(spec, Stateful) or any(map(has_state, inputs(spec)))


def has_ends(spec: Spec) -> bool:
    """Whether the rows of a spec stop being alive by themselves: a window per row lies below."""
    if isinstance(spec, ScanStream | CountRows | ExpireRows):
        return False
    if isinstance(spec, SlidingAggregate | SlidingSkyline):
        return False
    if (isinstance(spec, SetOp) and not spec.hands_on) or (
        isinstance(spec, WJoin) and spec.expires
    ):
        return False
    if isinstance(spec, ResolveChanges):
        return spec.ticks is not None
    return isinstance(spec, RangeRows) or any(map(has_ends, inputs(spec)))


def delay(spec: Spec) -> int:
    """How many ticks the rows of a spec may trail the watermark of the streams below.

    A runner hands an operator the query's watermark less the delays below it. A left row that a
    bestmatch join has still to judge has t >= watermark - hi, and its pairs' event time is never
    below t; a right row has t >= watermark - lo. (With a negative hi none trails: left rows still
    to come have t >= watermark.) So it is with the rows that come alone from a window join which is
    not inner: each waits for its own reach. A join that sheds decides once a pane is over. Joins
    by time say it themselves.
    """
    below = max((delay(child) for child in inputs(spec)), default=0)
    if isinstance(spec, MatwinBestmatch):
        return below + max([0, *map(spec.wait, spec.judged)])
    if isinstance(spec, AsofSweep | RangeAggregate):
        return below + spec.delay
    if isinstance(spec, WJoin):
        pane = 0 if spec.shedding is None else spec.pane
        return below + max([pane, *map(spec.retention, spec.awaited)])
    return below
