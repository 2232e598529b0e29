"""The inner join of two or more inputs of which some windows count rows (`plan/windows.py`).

Which rows are the newest is known only once no earlier one can come: a row waits until the
watermark has passed its time.

    rows of all inputs    --------------------------------------|------------------------> time
                           numbered, in their windows or gone    watermark    waiting

A watermark takes the rows below it through four steps, some thousands of rows at a time:

1. They are put in the one order: by time and input, those of one time and input by their columns
   (`total_order`). Their numbers go on where the last ones ended.
2. Each finds the rows of the other inputs that were there as it entered, with equal keys
   (`CountSearch`); those of the same step count as soon as their number is lower.
3. Combinations are tested and gathered as in the join by time. The event time of one is that of
   the row that entered last.
4. The rows join the state, and those that no later row can find leave it (`CountWindow`).

State of an input: the rows that wait, with all their columns, by which they are still to be
ordered; and the numbered rows that are there, with the columns that the answer, the keys, the
predicates and PARTITION BY need. So no more is held than the newest n rows (of each k) below the
watermark, and everything from the watermark on.

Example: a [ROWS 1], b [ROWS 1] on equal k, all of one k; the watermark passes 20.

    a at 10, a at 14, b at 14, a at 17     numbers 0, 1, 2, 3 (a is first in FROM)
    b (2) meets a (1): a at 10 left as a at 14 entered;  a (3) meets b (2)

**The search** (`CountSearch`) finds the combinations of the row that enters last. Its steps are
those of the join by time (`bew_search`), over numbers in the place of times: a row that enters
looks the other inputs up for rows that are there, with the same keys. Which are there depends on
that row alone, not on those chosen on the way:

    numbers of an input   --------[===================)------->
                             first there            the row that enters

**An input** (`CountWindow`) has its rows in order of number. A row that has been numbered is kept
with its number in the place of its end: rows of a count window leave by number. What a probe may
find of an input, as row x of another one enters:

    rows of the input, by number      0   2   3   5   7   8
    [ROWS n], [RANGE w], WINDOW                   [=======]  x      from `first_there` up to x
    [PARTITION BY k ROWS n]           .   2   .   5   .   8         those of them that have not
                                                                    left before x;
                                                                    k known: from the n-th before x

Of a window that is divided, rows leave from the middle of chunks. Those that left in an earlier
step are marked as gone in their slices; those that leave in this one are known by the number at
which they do. Only partitions that new rows are of can lose a row: their rows are looked up, by the
words of PARTITION BY, so that a step costs what enters, whatever the window holds.

A row with a NULL in a key takes its place but is never found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.count_join import NEVER, Partitions, newest_of_partition, partition_exits
from windrow.kernels.jit import writable
from windrow.operators.columns.arrow_types import moved
from windrow.operators.columns.changes import (
    ROW_BITS,
    ROW_MASK,
    ChangeBatch,
    Places,
    rows_by_chunk,
    select,
)
from windrow.operators.columns.chunks import Chunk, ChunkBuffer, bound_of_step
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.columns.total_order import in_total_order
from windrow.operators.engine.base import Counters, WaitingOp
from windrow.operators.joins.bew_join import gathered
from windrow.operators.joins.bew_search import FoundBlock, Int64s, MatchTest, Partial, Search
from windrow.operators.joins.bew_window import JoinWindow
from windrow.operators.joins.join_inputs import can_match, last_needed, only_inserts
from windrow.operators.joins.join_steps import Predicates, Route, both, routes_of
from windrow.operators.joins.keyed_rows import divided_by
from windrow.physical.nodes.count_join import CountJoin
from windrow.schema import MAX_TICK, MIN_TICK


class CountSearch(Search):
    """The combinations that rows give as they enter.

    Windows are keyed by number; `counted` says of the same rows when they leave.
    """

    def __init__(
        self,
        node: CountJoin,
        windows: Sequence[JoinWindow],
        counted: Sequence[CountWindow],
        counters: Counters,
        predicates: Predicates,
    ) -> None:
        super().__init__(node, windows, counters, predicates)
        self._join = node
        self._counted = counted
        self._first: dict[tuple[int, int], Int64s] = {}

    def _period(self, partial: Partial, route: Route, at: int) -> tuple[Int64s, Int64s]:
        """From the first row there up to the one that enters, which is the route's start."""
        places = partial.places[0]
        low = self._first_there(route.start, route.steps[at].input)[places & ROW_MASK]
        high = partial.times[0] - 1
        can_enter = self._counted[route.start].can_enter(places)
        return low, high if can_enter is None else np.where(can_enter, high, -1)

    def _first_there(self, start: int, port: int) -> Int64s:
        """The first number of an input that is there as each new row of another one enters."""
        if (start, port) not in self._first:
            new = self._windows[start].new
            assert new is not None
            names = partition_keys(self._join, start, port)
            keys = None if names is None else [new.batch.columns.column(name) for name in names]
            self._first[start, port] = self._counted[port].first_there(
                new.keys, new.batch.times, keys
            )
        return self._first[start, port]

    def _match_tests(self) -> Sequence[MatchTest]:
        return (self._there, *super()._match_tests())

    def _there(
        self, partial: Partial, route: Route, at: int, probes: Int64s, places: Int64s
    ) -> Int64s | None:
        """The matches that are there as a row enters, and in time."""
        counted = self._counted[route.steps[at].input]
        there = counted.is_there(places, partial.times[0][probes])
        holds = both(there, self._within_windows(partial, route, at, probes, places))
        return None if holds is None else np.flatnonzero(holds)


NEXT_NUMBER = "next_number"

SETTLED_ROWS = 1 << 15
"""Rows of a chunk that are numbered together: at the end of the streams, all that wait are."""

FEWER_ROWS = 1 << 11
"""The same, where a row that enters does not say which partition of a window it asks for: it then
looks at all rows of its key that entered in the same step, those that have left included."""


class CountJoinOp(WaitingOp):
    """Joins inputs of inserts by count windows, and by time windows beside them.

    Buffers `0`, `1`, .. are of numbered rows, and `waiting 0`, .. of those that wait.
    """

    kind = "count-join"

    def __init__(self, node: CountJoin) -> None:
        self._node = node
        self._counts = node.counts
        ports = range(len(node.inputs))
        self._waiting = [ChunkBuffer("time") for _ in ports]
        self._there = [ChunkBuffer("end") for _ in ports]
        there = {str(port): self._there[port] for port in ports}
        waiting = {f"waiting {port}": self._waiting[port] for port in ports}
        super().__init__(there | waiting, {NEXT_NUMBER: 0})
        self._routes = routes_of(node)
        self._predicates = Predicates(node)
        partitions = [window.partition for window in node.counts.own]
        self._kept = [
            list(dict.fromkeys([*node.columns_needed(port), *partitions[port]])) for port in ports
        ]
        self._ordered = [
            list(node.inputs[port].schema.names) if port in node.counts.sealed else self._kept[port]
            for port in ports
        ]
        asks_any = [
            partition_keys(node, start, port) is None
            for start in ports
            for port in ports
            if port != start
        ]
        self._step_rows = FEWER_ROWS if any(asks_any) else SETTLED_ROWS

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the combinations whose last row is below the watermark."""
        for bound in self._steps(watermark):
            rows = [waiting.pop_below(bound) for waiting in self._waiting]
            if any(own is not None for own in rows):
                yield from self._settle(rows)
            self._forget_before(bound)
        self._measure()

    def due(self) -> int:
        """The least watermark that some row waits for, or that ends some row's [RANGE w]."""
        dues = [waiting.first + 1 for waiting in self._waiting if waiting.slices]
        for buffer, own in zip(self._there, self._counts.own, strict=True):
            if buffer.slices and own.ticks is not None:
                dues.append(_first_time(buffer) + own.ticks + 1)
        return max(MIN_TICK, min([*dues, MAX_TICK]))

    def _admit(self, port: int, batch: ChangeBatch) -> None:
        rows = only_inserts(self._node, port, batch, self._ordered[port])
        rows = ChangeBatch(rows.columns, rows.times)
        is_usable = rows.times != MIN_TICK
        if port not in self._counts.sealed:  # a row that takes no place, and matches nothing
            is_usable = can_match(self._node, port, rows)
        self._waiting[port].append(rows.where(is_usable))

    def _steps(self, watermark: int) -> Iterator[int]:
        """Bounds that lead up to the watermark: so many rows at a time are taken."""
        bound = MIN_TICK
        while bound < watermark:
            bound = bound_of_step(self._waiting, watermark, self._step_rows)
            yield bound

    def _settle(self, rows: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Numbers rows that nothing can come before, joins them, and puts them in their windows."""
        new = self._numbered(rows)
        windows = [
            JoinWindow(buffer.slices, chunk) for buffer, chunk in zip(self._there, new, strict=True)
        ]
        counted = [CountWindow(self._node, port, own) for port, own in enumerate(windows)]
        if all(windows):
            search = CountSearch(self._node, windows, counted, self.counters, self._predicates)
            for found in search.blocks(self._routes):
                yield self._gathered(windows, found)
        for port, chunk in enumerate(new):
            if chunk is not None:
                self._enter(port, chunk, counted[port])

    def _numbered(self, rows: Sequence[ChangeBatch | None]) -> list[Chunk | None]:
        """The rows of each input in the one order, with their numbers as keys."""
        ordered = [
            own if own is None or port not in self._counts.sealed else in_total_order(own)
            for port, own in enumerate(rows)
        ]
        sizes = [0 if own is None else len(own) for own in ordered]
        times = np.concatenate([own.times for own in ordered if own is not None])
        inputs = np.repeat(np.arange(len(rows)), sizes)
        numbers = np.empty(len(times), np.int64)
        next_number = self._numbers[NEXT_NUMBER]
        numbers[np.lexsort((inputs, times))] = np.arange(len(times)) + next_number
        self._numbers[NEXT_NUMBER] += len(times)
        chunks: list[Chunk | None] = []
        for port, own in enumerate(ordered):
            if own is None:
                chunks.append(None)
                continue
            mine = numbers[inputs == port]
            kept = ChangeBatch(select(own.columns, self._kept[port]), own.times, mine)
            chunks.append(Chunk(kept, mine))
        return chunks

    def _gathered(self, windows: Sequence[JoinWindow], found: FoundBlock) -> ChangeBatch:
        """The rows of complete combinations, side by side."""
        columns, _ = gathered(self._node, windows, found)
        starts = [(windows[route.start], Places(partial.places[0])) for route, partial in found]
        times = np.concatenate([own.times(places) for own, places in starts])
        self.counters.rows_out += len(times)
        return ChangeBatch(columns, times)

    def _enter(self, port: int, new: Chunk, counted: CountWindow) -> None:
        """Puts rows in their window, and takes out those that had to leave it."""
        buffer, own = self._there[port], self._counts.own[port]
        stored, passing = counted.leaving()
        self.counters.drops += buffer.drop(stored) + len(passing)
        if len(passing):  # what came and left in this step never gets into a chunk
            buffer.append(new.batch.take(np.delete(np.arange(len(new)), passing)))
        else:
            buffer.put(new)
        if own.rows is not None and not own.partition:
            self.counters.drops += buffer.drop_below(_first_of_newest(buffer, own.rows))

    def _forget_before(self, watermark: int) -> None:
        """Drops the rows that no row from the watermark on can find, by their time or number."""
        next_number = self._numbers[NEXT_NUMBER]
        for buffer, own in zip(self._there, self._counts.own, strict=True):
            first = 0
            if watermark == MAX_TICK:
                first = next_number
            elif own.ticks is not None:
                first = _first_number_since(buffer, last_needed(watermark, own.ticks))
            if self._counts.within is not None:
                first = max(first, next_number - self._counts.within)
            self.counters.drops += buffer.drop_below(first)


def _first_of_newest(buffer: ChunkBuffer, rows: int) -> int:
    """The number of the oldest of the newest n rows of a buffer that none has left by itself."""
    for part in reversed(buffer.slices):
        if len(part) >= rows:
            return int(part.chunk.keys[len(part.chunk) - rows])
        rows -= len(part)
    return 0


def _first_time(buffer: ChunkBuffer) -> int:
    """The least time of the rows of a buffer in order of number, which is one of time too."""
    first = buffer.slices[0]
    return int(first.chunk.batch.times[first.skip])


def _first_number_since(buffer: ChunkBuffer, time: int) -> int:
    """The number of the first row from a time on, or one beyond the last."""
    number = 0
    for part in buffer.slices:
        at = int(np.searchsorted(part.chunk.batch.times, time, side="left"))
        if at < len(part.chunk):
            return int(part.chunk.keys[max(at, part.skip)])
        number = part.last + 1
    return number


Flags = NDArray[np.bool_]


class CountWindow:
    """The rows of one input that are there, with those that enter now.

    They are the rows that a search sees; there, their keys are their numbers.
    """

    def __init__(self, node: CountJoin, port: int, rows: JoinWindow) -> None:
        self._node, self._port = node, port
        self._own = node.counts.own[port]
        self._within = node.counts.within
        self._parts = rows.slices
        self._stored = rows.stored
        self._has_gone = any(part.gone for part in rows.slices)
        self._hides = any(len(self._unmatched(part.chunk)) for part in rows.slices)
        self._directory = KeyDirectory()
        self._partitions: Partitions | None = None
        self._members: Int64s = np.zeros(0, np.int64)
        self._leaving: Int64s = np.zeros(0, np.int64)  # places, ascending
        self._exits: Int64s = np.zeros(0, np.int64)  # the number at which each of them leaves
        if self._own.partition and rows.new is not None:
            self._divide(rows.new)

    def first_there(
        self, entering: Int64s, times: Int64s, keys: Sequence[pa.Array] | None
    ) -> Int64s:
        """The first number that may still be there as rows of another input enter.

        Args:
            entering: the numbers of those rows.
            times: their event times.
            keys: what each asks for in the columns of PARTITION BY; None: it may be anything.
                A partition that no row enters now has at most n rows, all of them there.
        """
        rows = self._own.rows
        first = np.zeros(len(entering), np.int64)
        if rows is not None and not self._own.partition:
            first = self._newest_before(entering, rows)
        if rows is not None and self._partitions is not None and keys is not None:
            slots = self._directory.slots_of(keys)
            entering = writable(entering)
            first = newest_of_partition(self._partitions, self._members, slots, entering, rows)
        if self._own.ticks is not None:
            first = np.maximum(first, self.first_since(moved(times, -self._own.ticks)))
        if self._within is not None:
            first = np.maximum(first, entering - self._within)
        return first

    def first_since(self, times: Int64s) -> Int64s:
        """The number of the first row from each of some times on; NEVER for none."""
        parts = self._parts
        lasts = np.array([part.chunk.batch.times[-1] for part in parts], np.int64)
        # Times ascend with numbers, over all chunks: the first that reaches a time has the row.
        holders = np.searchsorted(lasts, times, side="left")
        first = np.full(len(times), NEVER, np.int64)
        for at in np.unique(holders[holders < len(parts)]).tolist():
            part, asked = parts[at], np.flatnonzero(holders == at)
            rows = np.searchsorted(part.chunk.batch.times, times[asked], side="left")
            first[asked] = part.chunk.keys[np.maximum(rows, part.skip)]
        return first

    def is_there(self, places: Int64s, entering: Int64s) -> Flags | None:
        """Whether rows that `first_there` allows are there as others enter; None: all are."""
        there: Flags | None = None
        if self._has_gone:
            there = Places(places).computed(lambda at, rows: ~self._parts[at].is_gone(rows))
        if self._hides:
            there = both(there, self._can_match(places))
        if len(self._leaving):
            at = np.minimum(np.searchsorted(self._leaving, places), len(self._leaving) - 1)
            there = both(there, (self._leaving[at] != places) | (self._exits[at] > entering))
        return there

    def can_enter(self, places: Int64s) -> Flags | None:
        """Whether rows can match anything at all as they enter; None: all can."""
        return self._can_match(places) if self._hides else None

    def leaving(self) -> tuple[list[Int64s], Int64s]:
        """Per slice stored the rows of its chunk that leave in this step, and those of the new."""
        *stored, new = rows_by_chunk(self._leaving, self._stored + 1)
        return stored, new

    def _newest_before(self, entering: Int64s, rows: int) -> Int64s:
        """The number of the oldest row in [ROWS n] as each of some others enters.

            numbers    2   5   6   9           n = 2
            entering             8             5 and 6 are there: gives 5

        Where fewer than n have come, all of them are there: gives the first number possible, 0.
        All that is stored came before all that enters.
        """
        lengths = [len(part) for part in self._parts]
        starts = np.array([sum(lengths[:at]) for at in range(len(lengths))], np.int64)
        skips = np.array([part.skip for part in self._parts], np.int64)
        before = np.full(len(entering), sum(lengths[: self._stored]), np.int64)
        for part in self._parts[self._stored :]:
            before += np.searchsorted(part.chunk.keys, entering, side="left")
        first = np.zeros(len(entering), np.int64)
        asked = np.flatnonzero(before >= rows)
        if len(asked):
            oldest = before[asked] - rows
            at = np.searchsorted(starts, oldest, side="right") - 1
            places = Places((at << ROW_BITS) + skips[at] + oldest - starts[at])
            first[asked] = places.numbers(lambda at: self._parts[at].chunk.keys)
        return first

    def _divide(self, new: Chunk) -> None:
        """Finds the rows of the partitions that new rows are of, and which of them leave when."""
        assert self._own.rows is not None
        divided = divided_by(self._parts[: self._stored], new, self._own.partition)
        self._directory, self._partitions = divided.directory, divided.partitions
        self._members = divided.numbers
        exits = partition_exits(divided.partitions, divided.numbers, self._own.rows)
        leaves = np.flatnonzero(exits != NEVER)
        self._leaving, self._exits = divided.places[leaves], exits[leaves]

    def _can_match(self, places: Int64s) -> Flags:
        return Places(places).computed(
            lambda at, rows: ~_is_among(rows, self._unmatched(self._parts[at].chunk))
        )

    def _unmatched(self, chunk: Chunk) -> Int64s:
        """The rows of a chunk with a key that can equal no other, ascending."""
        keys = [(key.columns[self._port], key.null_safe) for key in self._node.classes]

        def found() -> Int64s:
            return np.flatnonzero(~can_match(self._node, self._port, chunk.batch))

        return chunk.derive(f"unmatched by {keys}", found)


def partition_keys(node: CountJoin, start: int, port: int) -> tuple[str, ...] | None:
    """The columns of one input that equal those of another's PARTITION BY; None if some do not."""
    found = []
    for name in node.counts.own[port].partition:
        equal = [key.columns[start] for key in node.classes if key.columns[port] == name]
        columns = [column for column in equal if column is not None]
        if not columns:
            return None
        found.append(columns[0])
    return tuple(found)


def _is_among(rows: Int64s, some: Int64s) -> Flags:
    """Which rows are among some others, which ascend."""
    if not len(some):
        return np.zeros(len(rows), np.bool_)
    found: Flags = some[np.minimum(np.searchsorted(some, rows), len(some) - 1)] == rows
    return found
