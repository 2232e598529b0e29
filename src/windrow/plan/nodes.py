"""Logical nodes: frozen, and each one kind of relation.

A relation has flat column names: a scan of stream `sales` under alias `s` gives `s.price`. The
topmost Project gives the names that the user sees. Beside its columns every row has an event time
in ticks, an end (the instant it stops being alive, or never), and a sign.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from windrow.errors import Span
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.aggregates.function import AggregateFunction
from windrow.plan.asof import AsofJoin, RangeAggregateJoin
from windrow.plan.catalog import StreamInfo
from windrow.plan.count_windows import CountWindows
from windrow.plan.exprs import Expr, Named
from windrow.plan.functions import UserFunction
from windrow.plan.windows import WindowGraph
from windrow.schema import Field, Schema


@dataclass(frozen=True)
class Scan:
    """The tuples of one stream under an alias; columns are named `alias.column`."""

    stream: StreamInfo
    alias: str
    schema: Schema
    span: Span | None = None


@dataclass(frozen=True)
class Filter:
    """The rows for which every predicate is true."""

    input: Node
    predicates: tuple[Expr, ...]

    @property
    def schema(self) -> Schema:
        """The input's."""
        return self.input.schema


@dataclass(frozen=True)
class Project:
    """Computed columns; event time, end and sign pass through."""

    input: Node
    items: tuple[Named, ...]
    schema: Schema


@dataclass(frozen=True)
class Range:
    """Gives every row of its input the window [RANGE ticks]: alive from t to t + ticks."""

    input: Node
    ticks: int

    @property
    def schema(self) -> Schema:
        """The input's."""
        return self.input.schema


@dataclass(frozen=True)
class ChangeFeed:
    """The rows that a stream of changes describes: they come with inserts and go with deletes.

    A delete takes back the newest row that equals it in all columns but the time.

    Attributes:
        input: the changes.
        alias: how the user calls the stream.
        time: the time column.
        ticks: the stream's window [RANGE ticks]; None: rows stay until they are deleted.
    """

    input: Node
    alias: str
    time: str
    ticks: int | None = None

    @property
    def schema(self) -> Schema:
        """The input's."""
        return self.input.schema

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns by which rows are equal."""
        return tuple(name for name in self.schema.names if name != self.time)


@dataclass(frozen=True)
class NewestRows:
    """[ROWS n] of a stream as changes: a row goes when the n-th after it, of its key, comes.

    Over rows that are deleted, too, it has the newest n of those there: a row may come back.
    `partition` are the columns of PARTITION BY; () for one window.
    """

    input: Node
    alias: str
    rows: int
    partition: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """The input's."""
        return self.input.schema


@dataclass(frozen=True)
class Equality:
    """A join condition `left = right` between flat columns of two inputs.

    `type` is the type both are compared in; `null_safe` means IS NOT DISTINCT FROM.
    """

    left: str
    right: str
    type: str
    null_safe: bool = False


PRESERVED = {
    "inner": (),
    "left": (0,),
    "right": (1,),
    "full": (0, 1),
    "semi": (),
    "anti": (0,),
}
"""Per kind of join, the inputs of which a row is in the answer although nothing matches it."""

KIND_NAMES = {
    "left": "left outer",
    "right": "right outer",
    "full": "full outer",
    "semi": "semi",
    "anti": "anti",
}
"""The kinds of join that are not inner, as people call them."""


@dataclass(frozen=True)
class WindowJoin:
    """Every combination of one row per input that meets the conditions and the window graph.

    Event time of a result: the greatest of its rows' times; its end: the least of their ends. A row
    that comes alone, from an outer, semi or anti join, has its own.

    Attributes:
        inputs: what is joined.
        aliases: how the user calls each input.
        equalities: the keys.
        graph: the windows.
        predicates: further conditions, each over two or more inputs; in a join that is not inner,
            every condition of ON that is neither key nor window.
        kind: "inner"; or, of two inputs, "left", "right" or "full" (outer), "semi" or "anti".
        alternative: windows that do as well as those of `graph` (EITHER WAY).
        counts: windows that count tuples; `graph` then has conditions on time alone.
        is_snapshot: rows of inputs that take rows back join while they are alive together; `graph`
            then has conditions on time alone.
        at_once: of an outer join: every row of a preserved input comes with NULLs as it arrives,
            whether it has a match or not; what reads the join takes out those that have one.
        span: where FROM stands in the SQL.
    """

    inputs: tuple[Node, ...]
    aliases: tuple[str, ...]
    equalities: tuple[Equality, ...]
    graph: WindowGraph
    span: Span | None = None
    predicates: tuple[Expr, ...] = ()
    kind: str = "inner"
    alternative: WindowGraph | None = None
    counts: CountWindows | None = None
    is_snapshot: bool = False
    at_once: bool = False

    @property
    def sealed(self) -> tuple[int, ...]:
        """The inputs that no condition may be tested below: each of their rows takes a place."""
        return () if self.counts is None else self.counts.sealed

    @property
    def preserved(self) -> tuple[int, ...]:
        """The inputs of which a row is in the answer although nothing matches it."""
        return PRESERVED[self.kind]

    @property
    def schema(self) -> Schema:
        """All columns of all inputs, in order; a semi or anti join has those of the first."""
        if self.kind in {"semi", "anti"}:
            return self.inputs[0].schema
        return Schema(tuple(field for node in self.inputs for field in node.schema.fields))


@dataclass(frozen=True)
class Aggregate:
    """One aggregate function over an expression; COUNT(*) has none.

    Attributes:
        function: its name, as `plan/aggregates` has it.
        argument: what it reads of a row.
        name: of the column that holds its answers.
        type: theirs, in Spark's words.
        is_distinct: whether equal values count once.
        registered: what it is, said along: where the plan is read, nobody may have registered it.
    """

    function: str
    argument: Expr | None
    name: str
    type: str
    is_distinct: bool = False
    registered: AggregateFunction | None = field(default=None, compare=False, repr=False)

    @property
    def definition(self) -> AggregateFunction:
        """All that is known of its function."""
        return self.registered or AGGREGATES[self.function]


@dataclass(frozen=True)
class WindowAggregate:
    """GROUP BY over the rows alive at each instant, as a changelog.

    Output columns: one per key (named by the key), then one per aggregate.
    Without keys there is one group, which exists from the first event on.
    """

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]
    span: Span | None = None

    @property
    def schema(self) -> Schema:
        """Keys, then aggregates."""
        keys = tuple(Field(k.name, k.expr.type) for k in self.keys)
        return Schema(keys + tuple(Field(a.name, a.type) for a in self.aggregates))


@dataclass(frozen=True)
class SetOperation:
    """Rows by how many copies of them its inputs hold: DISTINCT, UNION, EXCEPT, INTERSECT.

    All inputs have the same columns. With n copies of a row in the first and m in the second, the
    answer has, by `kind`:

        "distinct"    1 if n > 0            "union"           1 if n + m > 0
        "except"      1 if n > 0 and m = 0  "except all"      max(0, n - m)
        "intersect"   1 if n > 0 and m > 0  "intersect all"   min(n, m)
        "changes"     n                     "union all"       the copies of all its inputs

    All but "union all" give a changelog, net at each instant; "changes" gives the bag that it is
    given like that.
    """

    inputs: tuple[Node, ...]
    kind: str
    span: Span | None = None

    @property
    def schema(self) -> Schema:
        """That of each input."""
        return self.inputs[0].schema


MINDIST, SUBSET, YOUNGEST = "mindist", "subset", "youngest"

Limit: TypeAlias = float | int | Decimal
"""The greatest distance of a candidate: a float where distances are."""
"""The orders that dimensions of bestmatch joins have by themselves."""


@dataclass(frozen=True)
class Dimension:
    """One dimension of a bestmatch join: in which order pairs are better in it.

        MINDIST     |left - right| is less
        YOUNGEST    the later of both event times is later
        SUBSET      left and right, which are arrays, share all that those of the other pair share,
                    and more
        else        the user's `function` says: by a number that is less, or by comparing

    `eps` is the constraint that makes a pair a candidate, in the dimension's own unit (ticks for
    the time dimension), or None. Where `is_time`, the columns are the streams' event times. Where
    `is_wide`, distances are of decimals that no 64 bits hold; where there is a `unit`, of dates or
    timestamps, in ticks of that type. `text` is the dimension as the user wrote it.

    One that `is_condition` stands for a condition of ON about a side whose unmatched rows are kept:
    its columns are 0, or NULL where the condition is not true, so that such rows have no candidate,
    and others are compared as if it were not there.
    """

    left: str
    right: str
    order: str
    eps: Limit | None
    is_time: bool = False
    function: UserFunction | None = None
    text: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False)
    is_wide: bool = False
    unit: str | None = None
    is_condition: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether the order is by the distance between both columns."""
        return self.order == MINDIST

    @property
    def has_grid(self) -> bool:
        """Whether its limit cuts values into cells by which candidates are found."""
        return self.is_measured and self.eps is not None and not (self.is_time or self.is_wide)

    @property
    def is_by_value(self) -> bool:
        """Whether pairs are compared by the values of both columns, not by 64 bits of each."""
        return self.function is not None or self.order == SUBSET or self.is_wide

    @property
    def is_partial_order(self) -> bool:
        """Whether the user's function compares one pair with another."""
        return self.function is not None and self.function.is_partial_order


JUDGED = {"left outer": (0,), "right outer": (1,), "full outer": (0, 1)}
"""Of each kind of bestmatch join, the inputs whose rows have their best pairs kept."""


@dataclass(frozen=True)
class BestmatchJoin:
    """For each row of a judged input, its candidate pairs that none of its others dominates.

    Judged are left rows, right rows, or both (each pair of rows once), by `kind`. Candidates:
    every constraint of a dimension, every equality, and the time bound t(right) - t(left) in
    [-lo, hi]. Event time of a pair: the greater of both. `keep_unmatched` adds the rows of judged
    inputs that have no candidate.
    """

    left: Node
    right: Node
    kind: str  # one of JUDGED
    dimensions: tuple[Dimension, ...]
    equalities: tuple[Equality, ...]
    lo: int
    hi: int
    keep_unmatched: bool = False
    span: Span | None = None

    @property
    def schema(self) -> Schema:
        """The left columns, then the right ones."""
        return Schema(self.left.schema.fields + self.right.schema.fields)


@dataclass(frozen=True)
class TableScan:
    """The rows of one table under an alias; columns are named `alias.column`. It does not move."""

    table: StreamInfo
    alias: str
    schema: Schema
    span: Span | None = None


@dataclass(frozen=True)
class TableKey:
    """`row = table`: an expression over the rows equals one over the table, both of one type."""

    row: Expr
    table: Expr
    type: str
    null_safe: bool = False


@dataclass(frozen=True)
class TableJoin:
    """Each row of the input with the rows of a table that it matches.

    The table's rows are there at every instant: a result has the time, end and sign of its row.

    Attributes:
        input: the rows.
        table: a TableScan, perhaps below a Filter.
        alias: how the user calls the table.
        kind: "inner", "left" (outer), "semi" or "anti".
        keys: the equalities.
        predicates: further conditions on a row and a row of the table.
        place: why it stands where it does, for EXPLAIN.
        span: where the table stands in the SQL.
    """

    input: Node
    table: Node
    alias: str
    kind: str
    keys: tuple[TableKey, ...]
    predicates: tuple[Expr, ...] = ()
    place: str = ""
    span: Span | None = None

    @property
    def row_columns(self) -> set[str]:
        """The columns of the input that its conditions read."""
        read = [key.row for key in self.keys] + list(self.predicates)
        return {name for expr in read for name in expr.columns}.difference(self.table.schema.names)

    @property
    def table_columns(self) -> set[str]:
        """The columns of the table that its conditions read."""
        read = [key.table for key in self.keys] + list(self.predicates)
        return {name for expr in read for name in expr.columns}.intersection(
            self.table.schema.names
        )

    @property
    def schema(self) -> Schema:
        """The input's columns, then the table's; a semi or anti join has the former alone."""
        if self.kind in {"semi", "anti"}:
            return self.input.schema
        return Schema(self.input.schema.fields + self.table.schema.fields)


@dataclass(frozen=True)
class BestPairs:
    """The pairs of its input that no other pair alive dominates, as a changelog.

    A bestmatch join that says what is best now: over windows of its own, or plain. The input is a
    window join of two inputs.

    Attributes:
        input: the candidate pairs.
        kind: "plain", or "left outer", "right outer", "full outer".
        dimensions: what pairs are compared by.
        groups: lists of columns. A pair is judged among those with equal values in one of them, and
            is in the answer while one list says so. An empty list: all pairs together.
        spread_by: the columns that keep every group together in one place; empty where none do.
        span: where the join stands in the SQL.
        marks: per side, a column that is NULL where a row has no tuple of that side, and only
            there. Such a row is in the answer while no pair of its tuple is alive (KEEP UNMATCHED).
            () where all rows are pairs.
        spread_else: what keeps groups together in rows that have NULLs for `spread_by`; () where
            none do.
    """

    input: Node
    kind: str
    dimensions: tuple[Dimension, ...]
    groups: tuple[tuple[str, ...], ...]
    spread_by: tuple[str, ...] = ()
    span: Span | None = None
    marks: tuple[str, ...] = ()
    spread_else: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """That of the pairs."""
        return self.input.schema


PairJoin: TypeAlias = BestmatchJoin | AsofJoin | RangeAggregateJoin
"""Joins of two inputs that differ in what they are for."""

Node: TypeAlias = (
    Scan
    | Filter
    | Project
    | Range
    | ChangeFeed
    | NewestRows
    | WindowJoin
    | WindowAggregate
    | SetOperation
    | BestmatchJoin
    | BestPairs
    | AsofJoin
    | RangeAggregateJoin
    | TableScan
    | TableJoin
)


@dataclass(frozen=True)
class Hint:
    """An option written in the query: its name, the text of its value, and where it stands."""

    name: str
    text: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Query:
    """A whole query: the plan and what its answer looks like.

    `is_changelog`: the answer carries `_change_type` and `_event_time`; `time_type` is the type
    that `_event_time` is shown in. `keys`: the columns that tell the rows of a changelog apart at
    one instant.
    """

    root: Project
    is_changelog: bool
    time_type: str
    sql: str
    hints: tuple[Hint, ...] = ()
    keys: tuple[str, ...] | None = None


def children(node: Node) -> tuple[Node, ...]:
    """The inputs of a node, in order."""
    if isinstance(node, Scan | TableScan):
        return ()
    if isinstance(node, WindowJoin | SetOperation):
        return node.inputs
    if isinstance(node, TableJoin):
        return (node.input, node.table)
    if isinstance(node, PairJoin):
        return (node.left, node.right)
    return (node.input,)
