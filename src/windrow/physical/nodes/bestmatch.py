"""The nodes that find best pairs: those of each row, and those among all pairs alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.algorithms import MATCH_ALGORITHMS, MATWIN, PAGED
from windrow.physical.explain.facts import (
    ONCE_FINAL,
    Fact,
    Show,
    drop_condition,
    event_time,
    lifetime,
    plus,
    said,
    show_bound,
    state_bound,
)
from windrow.physical.nodes.shapes import MakesChanges, OneInput, TwoStreamJoin
from windrow.physical.options import Options
from windrow.physical.partitioning.buckets import (
    HashKeys,
    Partitioning,
    Single,
    cells_of,
    show_class,
)
from windrow.plan.nodes.bestmatch_join import JUDGED, Dimension
from windrow.plan.texts import show_dimension
from windrow.plan.units import show_ticks

if TYPE_CHECKING:
    from windrow.physical.nodes.base import KeyClass, PhysicalNode
    from windrow.schema import Schema


@dataclass(frozen=True)
class MatwinBestmatch(TwoStreamJoin):
    """Outer bestmatch join: windows shifted over both streams in time order.

    Candidates have t(right) - t(left) in [-lo, hi], |left - right| <= eps in every constrained
    dimension, and equal `classes` (two inputs each). Judged are the rows of one input or of both,
    by `kind`: a left row once the watermark is beyond t + hi, a right one beyond t + lo.
    """

    left: PhysicalNode
    right: PhysicalNode
    dimensions: tuple[Dimension, ...]
    classes: tuple[KeyClass, ...]
    lo: int
    hi: int
    keep: tuple[tuple[str, ...], ...]
    keep_unmatched: bool
    schema: Schema
    kind: str = "left outer"
    algorithm: str = MATWIN

    identity_fields = (
        "left", "right", "dimensions", "classes", "lo", "hi", "keep", "keep_unmatched", "schema", "kind",
    )  # fmt: skip
    spoken = "a bestmatch join"

    @property
    def judged(self) -> tuple[int, ...]:
        """The inputs whose rows have their best pairs kept."""
        return JUDGED[self.kind]

    def wait(self, port: int) -> int:
        """How long after its own time a candidate of a row of the input can lie."""
        return (self.hi, self.lo)[port]

    @property
    def own_delay(self) -> int:
        """A row that is still to be judged waits for its candidates.

        A left one has t >= watermark - hi, and its pairs' event time is never below t; a right one has
        t >= watermark - lo. (With a negative hi none trails: left rows still to come have t >= watermark.)
        """
        return max([0, *map(self.wait, self.judged)])

    def facts(self, options: Options, show: Show) -> list[Fact]:
        """What is best, among which rows, when it is known, what is kept."""
        time_type = self.time_type
        below = max(self.left.delay, self.right.delay)
        left, right = self.aliases
        keys = [show_class(key, show) for key in self.classes]
        return said(
            ("algorithm", f"{self.algorithm}: {MATCH_ALGORITHMS[self.algorithm]}"),
            ("dimensions", [show_dimension(d, time_type, show) for d in self.dimensions]),
            ("orders", _orders(self)),
            ("candidates", [show_bound(left, right, self.lo, self.hi, time_type), *keys]),
            ("kept", _kept(self)),
            ("unmatched", _unmatched(self)),
            ("final", _final(self, below, time_type)),
            ("retention", _retention(self, below, time_type)),
            ("state", _state(self, below)),
            ("pages", _pages(self, keys, show)),
            ("emits", _emission(self, time_type)),
            ("why", _why(self, options)),
        )

    @property
    def aliases(self) -> tuple[str, str]:
        """How the user calls both sides: as their flat column names begin."""
        first = self.dimensions[0]
        return first.left.split(".", 1)[0], first.right.split(".", 1)[0]

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"MatwinBestmatch {' with '.join(self.aliases)}, {self.kind}"

    def _without_keys(self, buckets: int) -> Partitioning:
        return cells_of(self, buckets)

    @property
    def operator(self) -> str:
        """The windows in chunks, or in pages once they do not fit into memory."""
        if self.algorithm in PAGED:
            return "windrow.operators.bestmatch.pages.paged_bestmatch:PagedBestmatchOp"
        return "windrow.operators.bestmatch.bestmatch:MatwinBestmatchOp"


def _pages(node: MatwinBestmatch, keys: list[str], show: Show) -> list[str]:
    """What there is in pages, where windows may go to these."""
    if node.algorithm not in PAGED:
        return []
    aliases = node.aliases
    met = " and ".join(aliases[1 - port] for port in reversed(node.judged))
    cells = [f"{show(d.left)} ~ {show(d.right)}" for d in _limited(node)]
    order = [
        *keys,
        *([f"cells of {', '.join(cells)}, about as wide as the limits"] if cells else []),
    ]
    return [
        f"of {met}, once the windows do not fit into memory: {', then '.join([*order, 'time'])}",
        "half of the memory for page frames, a quarter for the first and last rows of all pages; where"
        " that is too little, chunks are mapped instead",
        "gallop or crabstep, whichever reads fewer pages: both are counted beforehand",
    ]


def _limited(node: MatwinBestmatch) -> list[Dimension]:
    return [d for d in node.dimensions if d.has_grid]


def _why(node: MatwinBestmatch, options: Options) -> list[str]:
    chunks = "of what does not fit into memory chunks of rows go to disk, not pages"
    is_spilled = options.spills and node.algorithm not in PAGED
    if options.match_algorithm is not None:
        asked = f"asked for: algorithm = {options.match_algorithm!r}"
        return [asked, chunks] if is_spilled else [asked]
    lines = ["both streams are ordered by time, so that windows shift over them once"]
    if node.algorithm in PAGED:
        lines.append("pages: on_memory = 'spill', and no dimension is compared by value")
    elif is_spilled:
        by_value = next(d for d in node.dimensions if d.is_by_value)
        lines.append(f"{chunks}: {_order_name(by_value)} looks at values")
    if node.classes:
        return [*lines, "rows of one key are looked up together"]
    if _limited(node):
        return [*lines, "each chunk's rows choose: a grid pays where many are in reach of one"]
    return [*lines, "no grid: no dimension but time is a distance with a limit"]


def _orders(node: MatwinBestmatch) -> list[str]:
    """What orders that look at values cost."""
    by_value = [d for d in node.dimensions if d.is_by_value]
    partial = [d for d in by_value if d.function is not None and d.function.is_partial_order]
    asked = [_order_name(d) for d in by_value if d not in partial]
    lines = []
    if asked:
        verb = "are" if len(asked) > 1 else "is"
        lines.append(f"{' and '.join(asked)} {verb} asked for all candidates of a row")
    return lines + [
        f"{_order_name(d)} compares every two candidates of a row: the slow path" for d in partial
    ]


def _order_name(dimension: Dimension) -> str:
    if dimension.is_wide:
        return "MINDIST of decimals with more than 18 digits"
    return dimension.order if dimension.function is not None else dimension.order.upper()


def _kept(node: MatwinBestmatch) -> list[str]:
    aliases = node.aliases
    lines = [
        f"per row of {aliases[port]}, its candidates that none of its others dominates"
        for port in node.judged
    ]
    return [*lines, "each pair once"] if len(lines) > 1 else lines


def _unmatched(node: MatwinBestmatch) -> str:
    aliases = node.aliases
    rows = f"rows of {' and of '.join(aliases[port] for port in node.judged)}"
    if node.keep_unmatched:
        return f"{rows} without a candidate come with NULLs (KEEP UNMATCHED)"
    return f"{rows} without a candidate are absent"


def _final(node: MatwinBestmatch, below: int, time_type: str) -> list[str]:
    aliases, inputs = node.aliases, (node.left, node.right)
    trailing = plus("watermark", -below, time_type)
    return [
        f"the pairs of {aliases[port]} once {trailing} > "
        f"{plus(event_time(inputs[port], aliases[port]), node.wait(port), time_type)}"
        for port in node.judged
    ]


def _kept_for(node: MatwinBestmatch, port: int) -> int:
    """How long a row stays: until it is judged, or none of those that are judged can meet it."""
    is_met = 1 - port in node.judged
    return node.lo + node.hi if is_met else node.wait(port)


def _retention(node: MatwinBestmatch, below: int, time_type: str) -> list[str]:
    members = zip((node.left, node.right), node.aliases, strict=True)
    return [
        drop_condition(child, alias, _kept_for(node, port), below, time_type)
        for port, (child, alias) in enumerate(members)
    ]


def _state(node: MatwinBestmatch, below: int) -> list[str]:
    members = zip((node.left, node.right), node.aliases, strict=True)
    rows: list[str] = [
        state_bound(node, child, alias, _kept_for(node, port), below)
        for port, (child, alias) in enumerate(members)
    ]
    if len(node.judged) == 1:
        return rows
    return [*rows, "two numbers for each pair that came out for one row, until the other is judged"]


def _emission(node: MatwinBestmatch, time_type: str) -> str:
    ticks = max(map(node.wait, node.judged))
    added = f"adds a delay of {show_ticks(ticks, time_type)}" if ticks > 0 else "adds no delay"
    if len(node.judged) == 1:
        return f"{ONCE_FINAL}; {added}"
    return f"each pair once no later row can change it for one of its two rows; {added}"


@dataclass(frozen=True)
class SlidingSkyline(MakesChanges, OneInput):
    """The pairs of its input that no other pair alive dominates, as a changelog.

    The input are the pairs, each with its end; the other fields are those of `BestPairs`, and the
    columns of the result.
    """

    input: PhysicalNode
    kind: str
    dimensions: tuple[Dimension, ...]
    groups: tuple[tuple[str, ...], ...]
    spread_by: tuple[str, ...]
    schema: Schema
    marks: tuple[str, ...] = ()
    spread_else: tuple[str, ...] = ()

    identity_fields = (
        "input", "kind", "dimensions", "groups", "spread_by", "schema", "marks", "spread_else",
    )  # fmt: skip
    is_stateful = True
    hears_of_expiry = True
    combiner = "windrow.operators.bestmatch.sliding_skyline:ever_best"
    needs_all_rows = "a bestmatch join"
    operator = "windrow.operators.bestmatch.sliding_skyline:SlidingSkylineOp"

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that are kept of a pair, beside what it is worth."""
        asked = [n for d in self.dimensions if d.is_partial_order for n in (d.left, d.right)]
        groups = [name for group in self.groups for name in group]
        return tuple(dict.fromkeys([*self.schema.names, *asked, *groups]))

    @property
    def group_marks(self) -> tuple[str, ...]:
        """Per list of groups, the mark of the side whose tuples it tells apart; () without marks."""
        return tuple(self.marks[side] for side in JUDGED[self.kind]) if self.marks else ()

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """Which pairs are the best, and what is kept to know it."""
        time_type = self.time_type
        below, alive = self.input.delay, self.input.alive_ticks
        trailing = plus("the watermark", -below, time_type)
        kept = "the pairs that no pair which stays as long dominates"
        rows = "forever" if alive is None else lifetime(self.input, alive)
        state = [
            f"{kept}, of those alive" if alive is not None else f"{kept}: the best pairs so far"
        ]
        if self.marks:
            state.append("and the tuples that may be unmatched yet")
        return said(
            ("dimensions", [show_dimension(d, time_type, show) for d in self.dimensions]),
            ("orders", _partial_orders(self)),
            ("rows", rows),
            ("kept", ["pairs that none alive dominates", _AMONG[self.kind]]),
            ("unmatched", _rows_of_one_side(self)),
            ("state", [*state, f"and those that wait for {trailing}"]),
            (
                "on Spark",
                "a task sends on those of its pairs that are best among them at some instant",
            ),
            ("emits", f"the changes of each instant below {trailing}"),
            (
                "why",
                [
                    "the best pairs change as pairs come and go: each is kept with the time from which",
                    "no other dominates it; one that always will be dominated is dropped",
                    "a step reads the pairs that new ones are compared with, and writes those"
                    " that change",
                ],
            ),
        )

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"SlidingSkyline {self.kind}"

    @property
    def brief(self) -> str:
        """Whose best pairs it finds."""
        return self.about

    @property
    def about(self) -> str:
        """For checkpoints."""
        return f"best pairs ({self.kind})"

    def partitioning(self, buckets: int) -> Partitioning:
        """By what keeps the pairs of a tuple together."""
        if not self.spread_by:
            return Single(f"{_ALL_TOGETHER.get(self.kind, '')} would spread it")
        return HashKeys(self.spread_by, buckets, self.spread_else)


_ALL_TOGETHER = {
    "plain": "any pair may dominate any other; LEFT OUTER, or another side,",
    "full outer": "a pair is judged among those of its left and of its right tuple; an equality",
}
"""Why pairs are judged in one place."""

_AMONG = {
    "plain": "among all pairs",
    "left outer": "among the pairs of its left tuple",
    "right outer": "among the pairs of its right tuple",
    "full outer": "among the pairs of its left tuple, or of its right one: a pair stays while either"
    " says so",
}


def _partial_orders(node: SlidingSkyline) -> list[str]:
    """What a partial order costs, and what is taken for granted of it."""
    return [
        f"{d.order} is asked of every new pair and each that it is compared with: the slow path;"
        " it has to be transitive"
        for d in node.dimensions
        if d.is_partial_order
    ]


def _rows_of_one_side(node: SlidingSkyline) -> list[str]:
    if not node.marks:
        return []
    sides = " or ".join(("left", "right")[side] for side in JUDGED[node.kind])
    return [
        f"a {sides} tuple is there with NULLs while no candidate of it is alive (KEEP UNMATCHED):",
        "to the search a pair that all others of the tuple dominate",
    ]
