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

    @property
    def has_ends(self) -> bool:
        """Each combination is taken back."""
        return False

    @property
    def row_marks(self) -> tuple[str, ...]:
        """A sign."""
        return (SIGN,)

    @property
    def alive_ticks(self) -> int | None:
        """Until it is taken back."""
        return None

    @property
    def operator(self) -> str:
        """Where the windows are the join's own rows."""
        return "windrow.operators.joins.expiring_join:ExpiringJoinOp"

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
