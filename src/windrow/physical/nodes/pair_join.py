"""What joins of two inputs have in common that differ in what they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.physical.nodes.shapes import TwoInputs
from windrow.physical.partitioning.buckets import HashShares, Single
from windrow.schema import END

if TYPE_CHECKING:
    from windrow.physical.nodes.base import KeyClass
    from windrow.physical.partitioning.buckets import Partitioning


class PairJoin(TwoInputs):
    """A join of two inputs by what pairs are for: the best, the newest, totals of what is near."""

    is_stateful = True
    is_join = True

    if TYPE_CHECKING:

        @property
        def classes(self) -> tuple[KeyClass, ...]:
            """The keys, each of both inputs."""

        @property
        def aliases(self) -> tuple[str, str]:
            """How the user calls the two."""

    @property
    def about(self) -> str:
        """What people call it."""
        return self.spoken.split(" ", 1)[1]

    def partitioning(self, buckets: int) -> Partitioning:
        """By all keys together, which both inputs have."""
        if self.classes:
            return HashShares((tuple(range(len(self.classes))),), (buckets,), (1, 1))
        return self._without_keys(buckets)

    def _without_keys(self, buckets: int) -> Partitioning:  # noqa: ARG002
        left, right = self.aliases
        return Single(
            f"any row of {right} may be the match of any row of {left}; an equality in ON would"
            " spread the join"
        )

    @property
    def row_marks(self) -> tuple[str, ...]:
        """Ends as below; no row is taken back."""
        return tuple(mark for mark in self.marks_below if mark == END)
