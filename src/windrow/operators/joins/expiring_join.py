"""The join of windows by negative tuples: a combination goes when the first of its rows does.

The windows of the inputs are the join's own buffers, so that no operator below keeps them a second
time. A row that leaves joins, as a negative tuple, the rows that are still alive, and so takes
back what it was part of:

    a, alive in [3, 9)           3 |===========| 9
    b, alive in [5, 16)              5 |=====================| 16
    c, alive in [7, 12)                 7 |=========| 12
    + a b c                             7                          with the last that comes
    - a b c                                    9                   with the first that goes

Rows wait until the watermark has passed them. `advance(W)` then takes all that comes or goes below
a bound, at most W, in two searches (`snapshot_matches`):

1. Rows that come meet the rows there, and one another: each combination that one of them is part
   of, once, at the greatest of its times.
2. Rows that go are taken out. They meet the rows that stay, and one another: each combination that
   one of them is part of, once, with the opposite sign, at the least of its ends.

        time     ...|       a step       | bound
                    +-----------)               comes and goes: in both searches
                       +-----------------...    comes
            --------------)                     goes
            -----------------------------...    stays: is met, in both

How each is found once, `bew_join` says: of the rows that come, or go, it is the last one's.

An input may take rows back itself: a row that is taken back ends there, before anything of the step
is searched for (`alive_rows`), and goes like one whose window is over.

State: the rows alive on each side, and those from the watermark on: no combination, and no row
twice. A combination is searched for twice, and the results of a step are put in the order of time.
"""

from __future__ import annotations

from collections.abc import Iterator

from windrow.operators.columns.changes import ChangeBatch, concat, in_time_order, signs_alone
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.engine.base import SteppingOp
from windrow.operators.joins.alive_rows import AliveRows
from windrow.operators.joins.bew_window import JoinWindow
from windrow.operators.joins.snapshot_matches import AliveTogether, by_end
from windrow.physical.nodes.expiring_join import ExpiringJoin
from windrow.schema import MAX_TICK


class ExpiringJoinOp(SteppingOp):
    """Joins inputs whose rows end or are taken back; gives combinations as rows with signs.

    Buffers `0`, `1`, .. are of the rows alive, and `waiting 0`, .. of those from the watermark on.
    """

    kind = "expiring-join"
    step_rows = 1 << 13  # what the rows of a step form is held together

    def __init__(self, node: ExpiringJoin) -> None:
        self._waiting = [ChunkBuffer("time") for _ in node.inputs]
        self._alive = [AliveRows() for _ in node.inputs]
        alive = {str(port): rows.come for port, rows in enumerate(self._alive)}
        waiting = {f"waiting {port}": own for port, own in enumerate(self._waiting)}
        super().__init__(alive | waiting)
        self._together = AliveTogether(node, self.counters)

    def _admit(self, port: int, batch: ChangeBatch) -> None:
        """Lets the rows wait that can match."""
        self._waiting[port].append(self._together.candidates(port, batch))

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the combinations that come or go below the watermark, in the order of time."""
        yield from super().advance(watermark)
        if watermark == MAX_TICK:  # nothing more comes for the rows to meet that never end
            self.counters.drops += sum(rows.drop_ended(MAX_TICK) for rows in self._alive)
            self._measure()

    def _step(self, bound: int) -> ChangeBatch | None:
        changes = [*self._come(bound), *self._go(bound)]
        return in_time_order(concat(changes)) if changes else None

    def _come(self, bound: int) -> Iterator[ChangeBatch]:
        """Takes the rows below the bound in; gives what they form.

        Raises:
            DataError: some take back what is not there: all that comes below the bound has come.
        """
        met = [
            rows.meet(waiting.pop_below(bound))
            for rows, waiting in zip(self._alive, self._waiting, strict=True)
        ]
        new = [by_end(own.new) for own in met]
        windows = [JoinWindow(rows.slices, own) for rows, own in zip(self._alive, new, strict=True)]
        for found in self._together.found(windows):
            yield signs_alone(found, found.times)
        for rows, own in zip(self._alive, new, strict=True):
            if own is not None:
                rows.keep(own)
            rows.check(bound)

    def _go(self, bound: int) -> Iterator[ChangeBatch]:
        """Takes the rows out that end below the bound; gives what they no longer form."""
        windows = []
        for rows in self._alive:
            leaving = by_end(rows.come.pop_below(bound))
            self.counters.drops += 0 if leaving is None else len(leaving)
            windows.append(JoinWindow(rows.slices, leaving))
        for found in self._together.found(windows):
            yield signs_alone(found, found.ends_or_never(), -1)
