"""The last step of a changelog, over whole instants: changes made net, updates told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from windrow.operators.columns.changes import concat
from windrow.operators.feeds.net_changes import net_changes
from windrow.operators.feeds.updates import pair_updates

if TYPE_CHECKING:
    from windrow.operators.columns.changes import ChangeBatch
    from windrow.physical.query import PhysicalQuery


class ChangelogOutput:
    """What is left to do with the rows of an answer, as they come.

    The changes of an instant follow one another, and all come in one micro-batch, that in which it is
    final. The last instant of a batch may go on in the next one, and waits for it.

    Args:
        nets: whether what an instant undoes is taken out.
        pairs_by: the key by which a delete and an insert are an update; None: none are.
    """

    def __init__(self, *, nets: bool, pairs_by: tuple[str, ...] | None) -> None:
        self._nets = nets
        self._pairs_by = pairs_by
        self._waiting: list[ChangeBatch] = []

    @classmethod
    def of(cls, query: PhysicalQuery) -> ChangelogOutput:
        """What is left to do with the rows of a query."""
        return cls(nets=query.needs_netting, pairs_by=query.pairs_by)

    @property
    def does_nothing(self) -> bool:
        """Whether rows pass as they are."""
        return not self._nets and self._pairs_by is None

    def push(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        """Takes rows, and gives those of instants that are whole."""
        if self.does_nothing:
            yield rows
            return
        if not len(rows):
            return
        others = np.flatnonzero(rows.times != rows.times[-1])
        before_last = int(others[-1]) + 1 if len(others) else 0
        is_next = bool(self._waiting) and self._waiting[-1].times[-1] != rows.times[0]
        if before_last or is_next:
            whole = concat([*self._waiting, rows.slice(0, before_last)])
            self._waiting = []
            yield from self._finished(whole)
        self._waiting.append(rows.slice(before_last, len(rows)))

    def settle(self) -> Iterator[ChangeBatch]:
        """Ends a micro-batch: what waits is whole."""
        if self._waiting:
            whole, self._waiting = concat(self._waiting), []
            yield from self._finished(whole)

    def _finished(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        left = net_changes(rows) if self._nets else rows
        if len(left):
            yield left if self._pairs_by is None else pair_updates(left, self._pairs_by)
