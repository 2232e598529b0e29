"""Negative tuples: each row goes up as it comes, and once more, negative, when it ends.

The 2004 paper's W-Expire. What stands above needs no window: a row goes when its negative comes,
and values say which row that is.

    row, alive in [3, 9)      3 |===========| 9            + at 3             - at 9
    row, alive in [5, 11)         5 |===========| 11         + at 5                - at 11
    taken back at 7,                  7 |=======| 11           - at 7
      which ends with it

1. `push` stores rows in `waiting`, ordered by time: below the watermark more may still come.
2. `advance(W)` takes the rows with time < W out of it. Those that come wait in `alive`, ordered by
   end; one that takes another back takes it out of there, and both are done with (`take_back`).
3. Rows with end < W leave `alive`, each as a negative tuple at its end.

So rows go up in the order of time, below the watermark, and whoever works on input alone is never
behind. Within an instant, those that go come before those that come.

State: the rows alive, and those from the watermark on. An advance costs what comes and goes.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.operators.accumulators.base import nothing_to_delete
from windrow.operators.columns.changes import ChangeBatch, concat, in_time_order, signs_alone
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.engine.base import SteppingOp
from windrow.operators.joins.alive_rows import take_back
from windrow.physical.nodes.feeds import ExpireRows
from windrow.schema import MAX_TICK


class ExpireRowsOp(SteppingOp):
    """Gives rows with ends as rows with signs."""

    kind = "expire-rows"
    step_rows = 1 << 15

    def __init__(self, node: ExpireRows) -> None:  # noqa: ARG002  # rows say all there is to know
        self._waiting, self._alive = ChunkBuffer("time"), ChunkBuffer("end")
        super().__init__({"waiting": self._waiting, "alive": self._alive})

    def _admit(self, port: int, batch: ChangeBatch) -> None:  # noqa: ARG002
        """Lets the rows wait that are ever alive."""
        self._waiting.append(batch.where(batch.times < batch.ends_or_never()))

    def _step(self, bound: int) -> ChangeBatch:
        """What comes and what goes below the bound."""
        coming = self._waiting.pop_below(bound)
        if coming is not None:
            self._enter(coming, bound)
        leaving = self._alive.pop_below(bound)
        changes = []
        if leaving is not None:
            self.counters.drops += len(leaving)
            changes.append(signs_alone(leaving, leaving.ends_or_never(), -1))
        if coming is not None:
            changes.append(signs_alone(coming, coming.times))
        return in_time_order(concat(changes))

    def _enter(self, coming: ChangeBatch, bound: int) -> None:
        """Keeps the rows that end some time, without those that are taken back."""
        signs, ends = coming.signs_or_insert(), coming.ends_or_never()
        self._alive.append(replace(coming.where((signs > 0) & (ends < MAX_TICK)), signs=None))
        goes = coming.where((signs < 0) & (ends < MAX_TICK))
        if not len(goes):
            return
        if take_back(self._alive, goes, bound) != len(goes):
            raise nothing_to_delete()
        self.counters.drops += len(goes)
