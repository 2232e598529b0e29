"""The spec that finds the best pairs among those alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.plan.nodes import JUDGED

if TYPE_CHECKING:
    from windrow.physical.specs import Spec
    from windrow.plan.nodes import Dimension
    from windrow.schema import Schema


@dataclass(frozen=True)
class SlidingSkyline:
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

    input: Spec
    kind: str
    dimensions: tuple[Dimension, ...]
    groups: tuple[tuple[str, ...], ...]
    spread_by: tuple[str, ...]
    schema: Schema
    marks: tuple[str, ...] = ()
    spread_else: tuple[str, ...] = ()

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
