"""The join of two or more relations that change: at every instant, the join of what is alive there.

An input may take rows back (an aggregate, DISTINCT, a set operation), or its rows have ends (a
stream with a window). A join is linear in each input: of rows that are alive in [t, end), each with
a sign, a combination is alive while all of them are, and its sign is the product of theirs.

    + a     3 |===================| 20               + a + b     8 |===========| 20
    + b          8 |======================...        + a - b               15 |=| 20
    - b                   15 |============...        together    8 |=======|       15

So no order of processing is needed. A push goes through four steps:

1. A row that is taken back ends there, be it new or kept (`alive_rows`): rows that are no more meet
   nothing, and of the versions of a row only those that are alive together with one of another's.
2. What is gone of the rows kept meets what is kept, and one another: those combinations are taken
   back from then on.
3. New rows meet what is kept, and one another: each combination of rows with equal keys that are
   alive together comes out in the push that brings its last row (`snapshot_matches`). How each is
   found once, `bew_join` says, with ends in the place of times.
4. The new rows are kept until the watermark has passed their ends.

Where no input has ends of its own, neither has the answer: a combination that ends is two rows, one
that comes and one that takes it back.

State: the rows alive on each side, with the columns that the answer, the keys and the predicates
need, and those from the watermark on. A push costs its rows and what they are alive with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from windrow.operators.columns.changes import ChangeBatch, concat, signs_alone
from windrow.operators.engine.base import BufferedOp, Snapshot
from windrow.operators.joins.alive_rows import AliveRows
from windrow.operators.joins.bew_window import JoinWindow
from windrow.operators.joins.snapshot_matches import AliveTogether, by_end
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.schema import MAX_TICK


class SnapshotJoinOp(BufferedOp):
    """Joins inputs whose rows come and go, by equal keys and predicates.

    Buffers `0`, `1`, .. are of rows that have come, and `back 0`, .. of those that take others back.
    """

    kind = "snapshot-join"

    def __init__(self, node: SnapshotJoin) -> None:
        self._rows = [AliveRows() for _ in node.inputs]
        come = {str(port): own.come for port, own in enumerate(self._rows)}
        back = {f"back {port}": own.back for port, own in enumerate(self._rows)}
        super().__init__(come | back)
        self._together = AliveTogether(node, self.counters)
        self._has_ends = any(child.has_ends for child in node.inputs)

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Gives the combinations whose last row is among these, and those that these take back."""
        met = [
            rows.meet(self._admitted(port, batch))
            for port, (rows, batch) in enumerate(zip(self._rows, batches, strict=True))
        ]
        gone = [by_end(own.gone) for own in met]
        new = [by_end(own.new) for own in met]
        for found, sign in ((gone, -1), (new, 1)):
            windows = [
                JoinWindow(rows.slices, own) for rows, own in zip(self._rows, found, strict=True)
            ]
            for result in self._together.found(windows):
                changes = self._changes(result, sign)
                self.counters.rows_out += len(changes)
                yield changes
        for rows, own in zip(self._rows, new, strict=True):
            if own is not None:
                rows.keep(own)
        self._measure()

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Drops the rows that no row from the watermark on is alive with; gives nothing."""
        for rows in self._rows:
            rows.check(watermark)
            self.counters.drops += rows.drop_ended(watermark)
        self._measure()
        return iter(())

    def due(self) -> int:
        """The least watermark that ends a row, or that a row which takes one back waits for."""
        ends = [buffer.first for buffer in self.buffers()]
        return min([*ends, *(rows.first_waiting for rows in self._rows), MAX_TICK])

    def restore(self, snapshot: Snapshot) -> None:
        """Puts the rows of each input back."""
        super().restore(snapshot)
        for rows in self._rows:
            rows.meet_again()

    def _admitted(self, port: int, batch: ChangeBatch | None) -> ChangeBatch | None:
        """The rows that can match; None for none."""
        if batch is None or not len(batch):
            return None
        self.counters.rows_in += len(batch)
        return self._together.candidates(port, batch)

    def _changes(self, found: ChangeBatch, sign: int) -> ChangeBatch:
        """Combinations as they come, or as they are taken back; without ends where none has any."""
        if self._has_ends:
            signs = (found.signs_or_insert() * sign).astype(np.int8)
            return ChangeBatch(found.columns, found.times, found.ends, signs)
        ending = found.where(found.ends_or_never() < MAX_TICK)
        gone = signs_alone(ending, ending.ends_or_never(), -sign)
        return concat([signs_alone(found, found.times, sign), gone])
