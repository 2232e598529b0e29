"""The joins of two or more relations that change: at every instant, the join of what is alive there.

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
   alive together comes out in the push that brings its last row (`AliveTogether`). How each is
   found once, `bew_join` says, with ends in the place of times.
4. The new rows are kept until the watermark has passed their ends.

Where no input has ends of its own, neither has the answer: a combination that ends is two rows, one
that comes and one that takes it back.

State: the rows alive on each side, with the columns that the answer, the keys and the predicates
need, and those from the watermark on. A push costs its rows and what they are alive with.

By negative tuples a combination goes when the first of its rows does: `ExpiringJoinOp`.

The windows of the inputs are the join's own buffers, so that no operator below keeps them a second
time. A row that leaves joins, as a negative tuple, the rows that are still alive, and so takes
back what it was part of:

    a, alive in [3, 9)           3 |===========| 9
    b, alive in [5, 16)              5 |=====================| 16
    c, alive in [7, 12)                 7 |=========| 12
    + a b c                             7                          with the last that comes
    - a b c                                    9                   with the first that goes

Rows wait until the watermark has passed them. `advance(W)` then takes all that comes or goes below
a bound, at most W, in two searches (`AliveTogether`):

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

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.alive_index import AliveProbes
from windrow.kernels.bew_period import FoundMatches, Probes, Progress
from windrow.operators.columns.changes import (
    ChangeBatch,
    Places,
    concat,
    in_time_order,
    select,
    signs_alone,
)
from windrow.operators.columns.chunks import Chunk, ChunkBuffer
from windrow.operators.engine.base import BufferedOp, Counters, Snapshot, SteppingOp
from windrow.operators.joins.alive_rows import AliveRows
from windrow.operators.joins.bew_join import gathered
from windrow.operators.joins.bew_search import (
    FoundBlock,
    Int64s,
    LookUp,
    MatchTest,
    Partial,
    Search,
)
from windrow.operators.joins.bew_window import JoinWindow, Scan
from windrow.operators.joins.join_inputs import can_match
from windrow.operators.joins.join_steps import Predicates, Route, both, routes_of
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.snapshot_join import ExpiringJoin, SnapshotJoin
from windrow.schema import MAX_TICK


class SnapshotSearch(Search):
    """The combinations that the new rows of one push complete."""

    def _period(
        self,
        partial: Partial,
        route: Route,
        at: int,  # noqa: ARG002
    ) -> tuple[Int64s, Int64s]:
        """Any end after the time of every row chosen."""
        chosen = zip(route.order, partial.places, strict=False)
        latest = np.maximum.reduce([self._windows[i].times(Places(own)) for i, own in chosen])
        return latest + 1, np.full(len(partial), MAX_TICK)

    def _look_up(
        self,
        partial: Partial,
        window: JoinWindow,
        columns: tuple[str, ...],  # noqa: ARG002  # those of the scan
        scan: Scan | None,
    ) -> LookUp:
        """Asks for rows that end after the ones chosen begin, and start before they end."""
        assert scan is not None
        untils, own_scan = partial.times.min(axis=0), scan

        def look_up(chunk: int, probes: Probes, found: FoundMatches, progress: Progress) -> None:
            window.probe_alive(chunk, own_scan, AliveProbes(*probes, untils), found, progress)

        return look_up

    def _is_hashed(self, route: Route, at: int) -> bool:  # noqa: ARG002
        """Comparisons are tested as rows are looked up, with a key as without."""
        return False

    def _match_tests(self) -> Sequence[MatchTest]:
        return (self._there, *super()._match_tests())

    def _there(
        self, partial: Partial, route: Route, at: int, probes: Int64s, places: Int64s
    ) -> Int64s | None:
        """The matches that have not been taken back, and are in time."""
        slices = self._windows[route.steps[at].input].slices
        holds = self._within_windows(partial, route, at, probes, places)
        if any(part.gone for part in slices):
            is_gone = Places(places).computed(lambda chunk, rows: slices[chunk].is_gone(rows))
            holds = both(holds, ~is_gone)
        return None if holds is None else np.flatnonzero(holds)


class AliveTogether:
    """The combinations of a join of two or more inputs, by equal keys and predicates.

    A combination has the greatest time, the least end and the product of the signs of its rows.

    The steps are those of the join by time (`bew_search`), over ends in the place of times: chunks
    are ordered by end, so that the rows which are still alive are found at once, and those which come
    too late for a combination are stepped over (`kernels/alive_index`), whether there is a key or not.

        chosen          max(t) |===================| min(end)
        found                     |======================|     end > max(t), t < min(end)
        too late                                      |==|     t >= min(end): never looked at
    """

    def __init__(self, node: MultiJoin, counters: Counters) -> None:
        self._node = node
        self._counters = counters
        self._routes = routes_of(node)
        self._predicates = Predicates(node)
        self._columns = [node.columns_needed(port) for port in range(len(node.inputs))]

    def candidates(self, port: int, batch: ChangeBatch) -> ChangeBatch:
        """The rows that can match and are ever alive, with the columns that are needed."""
        rows = replace(batch, columns=select(batch.columns, self._columns[port]))
        return rows.where(can_match(self._node, port, rows) & (rows.times < rows.ends_or_never()))

    def found(self, windows: Sequence[JoinWindow]) -> Iterator[ChangeBatch]:
        """The combinations that have a new row, each once; chunks are in order of their ends."""
        if not all(windows):
            return
        search = SnapshotSearch(self._node, windows, self._counters, self._predicates)
        for block in search.blocks(self._routes):
            yield self._gathered(windows, block)

    def _gathered(self, windows: Sequence[JoinWindow], found: FoundBlock) -> ChangeBatch:
        """The rows of complete combinations, side by side."""
        columns, places = gathered(self._node, windows, found)
        own = list(zip(windows, places, strict=True))
        times = np.maximum.reduce([window.times(at) for window, at in own])
        signs = np.multiply.reduce([_signs_at(window, at) for window, at in own], dtype=np.int8)
        # A window's keys are ends here: so are the "times" of what was found.
        ends = np.concatenate([partial.times.min(axis=0) for _, partial in found])
        return ChangeBatch(columns, times, ends, signs)


def by_end(rows: ChangeBatch | None) -> Chunk | None:
    """Rows as a chunk in order of their ends; None for none."""
    if rows is None or not len(rows):
        return None
    rows = rows.sorted_by(rows.ends_or_never())
    return Chunk(rows, rows.ends_or_never())


def _signs_at(window: JoinWindow, places: Places) -> NDArray[np.int8]:
    """The signs of the rows at some places; those that have come are stored without."""

    def of(at: int, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        signs = window.slices[at].chunk.batch.signs
        return np.ones(len(rows), np.int8) if signs is None else signs[rows]

    return places.computed(of)


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
