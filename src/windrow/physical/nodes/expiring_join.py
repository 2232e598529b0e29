"""The join that takes its combinations back by negative tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.explain.bounds_text import alive_bound
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.schema import SIGN

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode


@dataclass(frozen=True)
class ExpiringJoin(SnapshotJoin):
    """A join whose combinations have no end, and are taken back when the first of their rows ends."""

    has_ends = False  # each combination is taken back
    row_marks = (SIGN,)
    alive_ticks = None  # until it is taken back
    operator = "windrow.operators.joins.expiring_join:ExpiringJoinOp"

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"ExpiringJoin {', '.join(self.aliases)}"

    def identity(self) -> tuple[object, ...]:
        """Of a snapshot join, with what it is more."""
        return (*super().identity(), ("expires", True))

    def _bound(self, rows: PhysicalNode, alias: str, alive: int, below: int) -> str:
        return alive_bound(self, rows, alias, alive, below)

    def _how_rows_end(self) -> list[str]:
        return [
            "negative tuples: a row that ends joins those still alive, and takes back what it was"
            " part of; the windows are the join's own rows"
        ]

    def _emits(self, watermark: str) -> str:
        return (
            f"the combinations that come or go below {watermark}, in the order of time;"
            " adds no delay"
        )
