"""Outer joins below a search for the best pairs of each instant: no row waits.

All rows of a preserved input come with NULLs as they arrive, and the search, which knows the
candidates of each, takes out those that have one.

    left row    t |==========|
    pair              t' |=======|     the row with NULLs came at t, and is the best until t'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.outer_join import OuterJoinOp, timed_rows
from windrow.physical.nodes.outer_join import CandidatesJoin

if TYPE_CHECKING:
    from windrow.operators.columns.chunks import Chunk
    from windrow.operators.routing.by_slices import OwnSlices


class CandidatesJoinOp(OuterJoinOp):
    """Joins two inputs, and gives the rows of one or both alone as well; keeps no matches.

    Its state is that of an outer join that waits for no row.
    """

    def __init__(self, node: CandidatesJoin, own: OwnSlices | None = None) -> None:
        super().__init__(node, own)
        self._matched = {}
        self._tracked = node.tracked
        self._arrived: list[tuple[int, ChangeBatch]] = []

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Gives the pairs whose last row is among these, and the rows that come alone."""
        yield from super().push(batches)
        arrived, self._arrived = self._arrived, []
        for port, rows in arrived:
            own = self._own_rows(rows)
            if len(own):
                self.counters.rows_out += len(own)
                yield self._with_nulls(port, own)

    def _admitted(self, port: int, batch: ChangeBatch | None) -> Chunk | None:
        chunk = super()._admitted(port, batch)
        if chunk is not None and port in self._tracked:
            self._arrived.append((port, chunk.batch))
        return chunk

    def _set_aside(self, port: int, rows: ChangeBatch) -> None:
        """Rows that can match nothing, but have a time, come alone with the others."""
        if port in self._tracked:
            self._arrived.append((port, timed_rows(rows)))
