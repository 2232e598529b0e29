"""The bestmatch join that says what is best for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.algorithms import MATCH_ALGORITHMS, MATWIN, PAGED
from windrow.physical.explain.bounds_text import (
    drop_condition,
    event_time,
    plus,
    show_bound,
    state_bound,
)
from windrow.physical.explain.facts import said
from windrow.physical.nodes.shapes import TwoStreamJoin
from windrow.physical.options import Options
from windrow.physical.partitioning.buckets import show_class
from windrow.physical.partitioning.cells import cells_of
from windrow.plan.nodes.bestmatch_join import JUDGED, Dimension
from windrow.plan.texts import show_dimension
from windrow.plan.units import show_ticks

if TYPE_CHECKING:
    from windrow.physical.explain.facts import Fact, Show
    from windrow.physical.nodes.base import KeyClass, PhysicalNode
    from windrow.physical.partitioning.buckets import Partitioning
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
    keep: tuple[tuple[str, ...], tuple[str, ...]]
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
        return said(*_facts(self, options, show))

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


def _facts(node: MatwinBestmatch, options: Options, show: Show) -> list[Fact]:
    """The facts of a bestmatch join, in the order they are read."""
    time_type = node.time_type
    below = max(node.left.delay, node.right.delay)
    left, right = node.aliases
    keys = [show_class(key, show) for key in node.classes]
    return [
        ("algorithm", [f"{node.algorithm}: {MATCH_ALGORITHMS[node.algorithm]}"]),
        ("dimensions", [show_dimension(d, time_type, show) for d in node.dimensions]),
        ("orders", _orders(node)),
        ("candidates", [show_bound(left, right, node.lo, node.hi, time_type), *keys]),
        ("kept", _kept(node)),
        ("unmatched", [_unmatched(node)]),
        ("final", _final(node, below, time_type)),
        ("retention", _retention(node, below, time_type)),
        ("state", _state(node, below)),
        ("pages", _pages(node, keys, show)),
        ("emits", [_emission(node, time_type)]),
        ("why", _why(node, options)),
    ]


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
    rows = [
        state_bound(node, child, alias, _kept_for(node, port), below)
        for port, (child, alias) in enumerate(members)
    ]
    if len(node.judged) == 1:
        return rows
    return [*rows, "two numbers for each pair that came out for one row, until the other is judged"]


def _emission(node: MatwinBestmatch, time_type: str) -> str:
    ticks = max(map(node.wait, node.judged))
    added = f"adds a delay of {show_ticks(ticks, time_type)}" if ticks > 0 else "adds no delay"
    first = "" if len(node.judged) == 1 else " for either of its rows"
    return f"when final{first}; {added}"
