"""A bestmatch join that says what is best now."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from windrow.errors import Span
from windrow.plan.nodes.base import Node, Predicates, SameColumns, reads_only, without
from windrow.plan.nodes.bestmatch_join import JUDGED, Dimension
from windrow.plan.nodes.filter import Filter, filtered
from windrow.plan.nodes.window_join import WindowJoin
from windrow.plan.texts import ColumnTexts, show_dimension


@dataclass(frozen=True)
class BestPairs(SameColumns):
    """The pairs of its input that no other pair alive dominates, as a changelog.

    A bestmatch join that says what is best now: over windows of its own, or plain. The input is a
    window join of two inputs.

    Attributes:
        kind: "plain", or "left outer", "right outer", "full outer".
        dimensions: what pairs are compared by.
        groups: lists of columns. A pair is judged among those with equal values in one of them, and
            is in the answer while one list says so. An empty list: all pairs together.
        spread_by: the columns that keep every group together in one place; empty where none do.
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

    is_stateful = True
    rows_end = True  # by being taken back
    physical = "windrow.physical.nodes.sliding_skyline:SlidingSkyline.of"

    def required_columns(self, wanted: Set[str]) -> list[set[str]]:
        """What pairs are compared, grouped and spread by."""
        compared = {name for dimension in self.dimensions for name in dimension.columns}
        spread = {*self.spread_by, *self.spread_else}
        return [compared.union(wanted, spread, self.marks, *self.groups)]

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """Conditions on the one side that is judged go below, as of any bestmatch join.

        Of a plain one none does: all pairs are judged together.
        """
        judged = JUDGED.get(self.kind, ())
        pairs = self.input
        while isinstance(pairs, Filter):
            pairs = pairs.input
        if len(judged) != 1 or not isinstance(pairs, WindowJoin):
            return self, predicates
        moved = tuple(p for p in predicates if reads_only(p, pairs.inputs[judged[0]]))
        return replace(self, input=filtered(self.input, moved)), without(predicates, moved)

    def title(self, time_type: str, show: ColumnTexts) -> str:
        """Kind and dimensions."""
        dimensions = ", ".join(show_dimension(d, time_type, show) for d in self.dimensions)
        unmatched = ", keep unmatched" if self.marks else ""
        return f"BestPairs {self.kind}{unmatched} on {dimensions}"
