"""The spec that finds the best pairs among those alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    """

    input: Spec
    kind: str
    dimensions: tuple[Dimension, ...]
    groups: tuple[tuple[str, ...], ...]
    spread_by: tuple[str, ...]
    schema: Schema

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that are kept of a pair."""
        dimensions = [name for d in self.dimensions for name in (d.left, d.right) if not d.is_time]
        groups = [name for group in self.groups for name in group]
        return tuple(dict.fromkeys([*self.schema.names, *dimensions, *groups]))
