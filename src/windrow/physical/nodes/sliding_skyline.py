"""The node that finds the best pairs among those alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.explain.bounds_text import lifetime, plus
from windrow.physical.nodes.shapes import MakesChanges, OneInput
from windrow.physical.partitioning.buckets import HashKeys, Single
from windrow.plan.nodes.bestmatch_join import JUDGED
from windrow.plan.texts import show_dimension

if TYPE_CHECKING:
    from windrow.physical.explain.facts import Fact, Show
    from windrow.physical.nodes.base import PhysicalNode, Request
    from windrow.physical.options import Options
    from windrow.physical.partitioning.buckets import Partitioning
    from windrow.plan.nodes.best_pairs import BestPairs
    from windrow.plan.nodes.bestmatch_join import Dimension
    from windrow.schema import Schema


@dataclass(frozen=True)
class SlidingSkyline(MakesChanges, OneInput):
    """The pairs of its input that no other pair alive dominates, as a changelog.

    Attributes:
        input: the pairs, each with its end.
        kind: that of the bestmatch join: "plain", or "left outer", "right outer", "full outer".
        dimensions: what pairs are compared by; their columns are the input's.
        groups: lists of columns. A pair is judged among those with equal values in one of them, and
            is in the answer while one list says so. An empty list: all pairs together.
        spread_by: the columns that keep every group together in one place; empty where none do.
        schema: the columns of the result.
        marks: per side, a column that is NULL where a row of the input has no tuple of that side,
            and only there. Such a row is in the answer while no pair of its tuple is alive. () where
            all rows are pairs.
        spread_else: what keeps groups together in rows that have NULLs for `spread_by`; () where
            none do.
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

    @classmethod
    def of(cls, node: BestPairs, request: Request) -> SlidingSkyline:
        """That of what is best now."""
        return cls(
            request.inputs[0],
            node.kind,
            node.dimensions,
            node.groups,
            node.spread_by,
            request.shown(node),
            node.marks,
            node.spread_else,
        )

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
        return _facts(self, show)

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
    "plain": ["among all pairs"],
    "left outer": ["among the pairs of its left tuple"],
    "right outer": ["among the pairs of its right tuple"],
    "full outer": [
        "among the pairs of its left tuple, or of its right one: a pair stays while either says so"
    ],
}


def _facts(node: SlidingSkyline, show: Show) -> list[Fact]:
    """The facts of a search for the best pairs, in the order they are read."""
    time_type = node.time_type
    below, alive = node.input.delay, node.input.alive_ticks
    trailing = plus("the watermark", -below, time_type)
    kept = "the pairs that no pair which stays as long dominates"
    rows = "for ever" if alive is None else lifetime(node.input, alive)
    state = [f"{kept}, of those alive" if alive is not None else f"{kept}: the best pairs so far"]
    if node.marks:
        state.append("and the tuples that may be unmatched yet")
    facts: list[Fact] = [
        ("dimensions", [show_dimension(d, time_type, show) for d in node.dimensions]),
        ("orders", _orders(node)),
        ("rows", [rows]),
        ("kept", ["pairs that none alive dominates", *_AMONG[node.kind]]),
        ("unmatched", _unmatched(node)),
        ("state", [*state, f"and those that wait for {trailing}"]),
        (
            "on Spark",
            ["a task sends on those of its pairs that are best among them at some instant"],
        ),
        ("emits", [f"the changes of each instant below {trailing}"]),
        (
            "why",
            [
                "what is best changes as pairs come and go: of each is kept from when on it is free",
                "of all that dominate it; one that never will be again is dropped",
                "a step reads the pairs that new ones are compared with, and writes those that change",
            ],
        ),
    ]
    return [fact for fact in facts if fact[1]]


def _orders(node: SlidingSkyline) -> list[str]:
    """What a partial order costs, and what is taken for granted of it."""
    return [
        f"{d.order} is asked of every new pair and each that it is compared with: the slow path;"
        " it has to be transitive"
        for d in node.dimensions
        if d.is_partial_order
    ]


def _unmatched(node: SlidingSkyline) -> list[str]:
    if not node.marks:
        return []
    sides = " or ".join(("left", "right")[side] for side in JUDGED[node.kind])
    return [
        f"a {sides} tuple is there with NULLs while no candidate of it is alive (KEEP UNMATCHED):",
        "to the search a pair that all others of the tuple dominate",
    ]
