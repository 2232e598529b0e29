"""The window join of any number of inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.algorithm_facts import algorithm_facts, emission_of, search_facts
from windrow.physical.algorithms import ASYMMETRIC, BY_NAME
from windrow.physical.bounds_text import (
    drop_condition,
    implied_windows,
    stated_windows,
    tightened_windows,
    window_meanings,
)
from windrow.physical.cost_facts import estimate_facts
from windrow.physical.count_facts import count_facts
from windrow.physical.facts import said
from windrow.physical.lifetimes import state_bound
from windrow.physical.nodes.base import Inner, PhysicalNode
from windrow.physical.outer_facts import kind_facts, match_state
from windrow.physical.part_sizes import USUAL, PartSizes
from windrow.physical.partitioning import HashShares, Single, Slices, hypercube, show_class
from windrow.physical.pipeline import path_order
from windrow.physical.probe_facts import tests
from windrow.physical.shed_facts import shed_facts, shed_state
from windrow.physical.shedding import PANES_PER_WINDOW, Shedding, least_row_bytes, pane_ticks
from windrow.physical.snapshot_facts import snapshot_facts
from windrow.plan.nodes import KIND_NAMES, PRESERVED
from windrow.schema import END, SIGN

if TYPE_CHECKING:
    from windrow.physical.estimates import Estimate
    from windrow.physical.facts import Fact, Show
    from windrow.physical.nodes.base import KeyClass
    from windrow.physical.options import Options
    from windrow.physical.partitioning import Partitioning
    from windrow.plan.count_windows import CountWindows
    from windrow.plan.exprs import Expr
    from windrow.plan.functions import UserFunction
    from windrow.plan.windows import WindowGraph
    from windrow.schema import Schema


@dataclass(frozen=True)
class WJoin(Inner):
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

    inputs: tuple[PhysicalNode, ...]
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

    is_stateful = True

    @property
    def has_ends(self) -> bool:
        """Unless each combination is taken back by a negative tuple."""
        return not self.expires and super().has_ends

    @property
    def row_marks(self) -> tuple[str, ...]:
        """A sign where rows are taken back; ends as below."""
        if self.expires:
            return (SIGN,)
        below = super().row_marks
        return below if self.is_snapshot else tuple(mark for mark in below if mark == END)

    @property
    def alive_ticks(self) -> int | None:
        """Until the first row leaves; one that comes alone lives as long as it would by itself."""
        if self.expires:
            return None
        if self.tracked:
            lengths = [self.inputs[port].alive_ticks for port in self.tracked]
            return max((length for length in lengths if length is not None), default=None)
        lengths = [child.alive_ticks for child in self.inputs]
        return min((length for length in lengths if length is not None), default=None)

    is_joined = True

    def lifetime(self, length: str) -> str:
        """By the first row that leaves."""
        return f"from t until the first of its tuples leaves its window, t + {length} at most"

    @property
    def own_delay(self) -> int:
        """Rows that come alone wait, each for its own reach; one that sheds decides once a pane is over."""
        pane = 0 if self.shedding is None else self.pane
        return max([pane, *map(self.retention, self.awaited)])

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        kind = f", {KIND_NAMES[self.kind]}" if self.kind in KIND_NAMES else ""
        name = "SnapshotJoin" if self.is_snapshot else "WJoin"
        name = "ExpiringJoin" if self.expires else name
        return f"{name} {', '.join(self.aliases)}{kind}"

    @property
    def about(self) -> str:
        """For checkpoints."""
        name = "snapshot" if self.is_snapshot else "window"
        return f"{KIND_NAMES.get(self.kind, '')} {name} join".strip()

    def facts(self, options: Options, show: Show) -> list[Fact]:
        """How it finds combinations, what it keeps, when it forgets."""
        return _facts(self, options, show)

    def partitioning(self, buckets: int) -> Partitioning:
        """By shares of its keys; without keys by slices of time."""
        if self.counts is not None:
            return _counted(self, self.counts, buckets)
        if not self.classes:
            return _slices(self, buckets)
        return hypercube(tuple(key.inputs for key in self.classes), len(self.inputs), buckets)

    @property
    def operator(self) -> str:
        """By what the join is over and by its algorithm."""
        if self.counts is not None:
            return "windrow.operators.count_join:CountJoinOp"
        if self.is_snapshot:
            if self.expires:
                return "windrow.operators.expiring_join:ExpiringJoinOp"
            return "windrow.operators.snapshot_join:SnapshotJoinOp"
        if self.kind != "inner":
            return "windrow.operators.outer_join:OuterJoinOp"
        if self.shedding is not None:
            if self.algorithm == ASYMMETRIC:
                return "windrow.operators.shedding.structured_join:StructuredShedJoinOp"
            return "windrow.operators.shedding.join:SheddingJoinOp"
        return BY_NAME[self.algorithm].operator


def _facts(spec: WJoin, options: Options, show: Show) -> list[Fact]:
    if spec.counts is not None:
        return said(*count_facts(spec, spec.counts, options, show))
    if spec.is_snapshot:
        return said(*snapshot_facts(spec, options, show))
    time_type = spec.time_type
    below = max(child.delay for child in spec.inputs)
    graph = spec.graph
    keys = ", ".join(show_class(key, show) for key in spec.classes)
    members = list(
        zip(spec.inputs, spec.aliases, map(spec.retention, range(len(graph.streams))), strict=True)
    )
    return said(
        *algorithm_facts(spec, options, keys),
        *shed_facts(spec, time_type),
        *kind_facts(spec, below, time_type),
        ("form", [_form(spec)]),
        ("windows", stated_windows(graph, time_type)),
        ("implied", implied_windows(graph, time_type)),
        ("tightened", tightened_windows(graph, time_type)),
        *_other_way(spec, time_type),
        ("retention", [drop_condition(i, a, r, below, time_type) for i, a, r in members]),
        (
            "state",
            [
                *(state_bound(spec, child, alias, kept, below) for child, alias, kept in members),
                *match_state(spec),
                *shed_state(spec, time_type),
            ],
        ),
        *search_facts(spec, below, time_type),
        ("tests", tests(spec)),
        ("emits", [emission_of(spec, time_type)]),
        *estimate_facts(spec, time_type),
    )


def _other_way(spec: WJoin, time_type: str) -> list[Fact]:
    """The windows that do as well as those stated (EITHER WAY), and what they imply."""
    graph = spec.alternative
    if graph is None:
        return []
    return [
        ("or reversed", [*window_meanings(graph, time_type), "each combination once"]),
        ("implied", implied_windows(graph, time_type)),
        ("tightened", tightened_windows(graph, time_type)),
    ]


def _form(spec: WJoin) -> str:
    graph = spec.graph
    form = graph.form
    if form == "path":
        form += f" {' - '.join(graph.streams[s] for s in path_order(graph))}"
    return form if spec.alternative is None else f"{form}, either way"


def _counted(spec: WJoin, counts: CountWindows, buckets: int) -> Partitioning:
    """By keys of all inputs that every count window is divided by: its partitions stay whole."""
    if counts.within is not None:
        return Single(
            f"{counts.text or 'WINDOW .. ROWS'} numbers the tuples of all streams together;"
            " [PARTITION BY k ROWS n] after each stream, k a join key, would spread it"
        )
    common = [key for key in spec.classes if len(key.inputs) == len(spec.inputs)]
    if not common:
        return Single(
            "count windows are kept in one place; an equality between all streams, and"
            " [PARTITION BY k ROWS n] by its columns, would spread them"
        )
    counted = [port for port, window in enumerate(counts.own) if window.rows is not None]
    spread = [
        key for key in common if all(key.columns[i] in counts.own[i].partition for i in counted)
    ]
    if not spread:
        windows = [
            f"{spec.aliases[i]} [PARTITION BY {_as_written(common[0].columns[i])} ROWS {window.rows}]"
            for i, window in enumerate(counts.own)
            if i in counted and common[0].columns[i] not in window.partition
        ]
        return Single(
            f"count windows are kept in one place; {' and '.join(windows)} would spread them"
        )
    shared = tuple(spec.classes.index(key) for key in spread)
    return HashShares((shared,), (buckets,), (1,) * len(spec.inputs))


def _as_written(column: str | None) -> str:
    """A key column as a user may write it; one that is computed is for a derived table to name."""
    return "k, computed in a derived table," if column is None or "$" in column else column


def _slices(spec: WJoin, buckets: int) -> Partitioning:
    """Slices as wide as the farthest reach to an anchor row: others go to two of them on average.

    A row that comes out unmatched must be judged in one place, so that it has to be the anchor;
    else the input is the anchor that the others reach with the least copying.
    """
    if spec.is_snapshot:
        return Single(
            "rows of a changelog may be alive at any time; an equality would spread the join"
        )
    size = len(spec.inputs)
    graphs = [spec.graph] + ([spec.alternative] if spec.alternative is not None else [])

    def reach(a: int, b: int) -> int:
        return max(graph.upper[a][b] for graph in graphs)

    def width(anchor: int) -> int:
        others = [j for j in range(size) if j != anchor]
        return max(max(1, reach(anchor, j) + reach(j, anchor)) for j in others)

    if spec.kind == "full":
        # Whatever the windows, a row is to be found at its own time too: that is its home.
        back, on = max(0, reach(1, 0)), max(0, reach(0, 1))
        return Slices(None, max(1, back + on), (back, on), (on, back), buckets)
    preserved = {"left": 0, "semi": 0, "anti": 0, "right": 1}
    anchor = preserved[spec.kind] if spec.kind in preserved else min(range(size), key=width)
    return Slices(
        anchor=anchor,
        width=width(anchor),
        before=tuple(reach(anchor, j) for j in range(size)),
        after=tuple(reach(j, anchor) for j in range(size)),
        buckets=buckets,
    )
