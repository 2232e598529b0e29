"""What comes into a running query from outside: batches, whole or in parts, and Ctrl-C.

**Batches.** Tables and lists are in memory: whoever asks gets the next batch. Any other iterator
may block, so that a thread of its own asks it, and hands over what comes:

    iterator --next()--> reader --held, HELD or SMALL--> the query
                            |                               |
                            +-- rings --> the bell <-- waits+

Readers and query wait on one condition, the bell, which `stop` rings as well: nobody polls in a
loop, and a query ends at once though every one of its iterators blocks. A reader that is inside
its iterator when the query stops ends as soon as the iterator returns.

When the program ends, all readers are told to, and waited for: Python ends a thread that comes back
to it too late in the middle of what it does, and the C++ of an engine there takes the whole process
down. One that still blocks in its iterator after a while is left behind.

**Parts** of batches are taken where what a query does or holds would grow with a batch, not with
its windows. A batch of one stream waits for the others, whole. Cut, and the streams read in step,
no more of it waits than one part:

    a   |=====|-----|-----|-----|        a batch of a, its first part taken
    b   |===|---|---|                    then the first of b, which is behind, and so on

So it is for every query that keeps rows: what a table costs follows its windows, as what a stream
costs does. One that makes changes, counts rows or joins tuple by tuple costs the more, the more it
is given at once: its parts are small, whatever the batch. Others only lose time by small parts, so
that theirs are an eighth of a large batch, which its owner holds anyway. One that must hold little,
for it sheds or fails beyond its memory, takes parts by that.

What is not taken yet is the caller's. The rows of a batch that has parts are put in the order of
time first: those that were not late as the batch began are not late when their part does.

**Ctrl-C** comes between two steps of the operators, so that the query can go on. A step changes
state; left in the middle, rows would be lost or doubled. So while a query works in the main thread,
interrupts are put off, and the scheduler pauses after the step under way:

    steps       |---- a ----|-- b --|------- c -------|-- d --
    Ctrl-C                              x             ^ KeyboardInterrupt; later d
                                        x    x ^        the second is not put off: the query breaks

A query that waits for its streams is woken. Of a query that broke, nothing more can be had.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final, TypeAlias
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from windrow.errors import ResourceError
from windrow.kernels.signals import PutOff
from windrow.operators.columns.arrow_types import ticks_of
from windrow.physical.load_shedding.limits import OF_ITS_OWN, part_of
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.options import SPILL, Options
from windrow.run.local.sources import NOTHING_NOW, Silence, source_failed


class Pause(Enum):
    """What a query gives in place of rows where it stops between two steps."""

    PAUSED = "paused"


PAUSED: Final = Pause.PAUSED


def put_off(ring: Callable[[], object]) -> PutOff:
    """Interrupts put off while a query works; the first one rings, the second is not put off."""
    # The handler may have stopped this very thread in the middle of what holds the bell.
    return PutOff(lambda: _thread.start_new_thread(ring, ()), breaks_through=True)


def broken_off() -> ResourceError:
    """The error of asking on for rows of a query that was left in the middle of a step."""
    return ResourceError(
        "query-broken-off",
        "the query was interrupted in the middle of a step, and cannot go on",
        reason="some rows of the step are in its state and some are not",
        hint="ask again with sql(..), or resume from a checkpoint; after a single Ctrl-C, which"
        " waits for the end of the step, a query can go on",
    )


HELD = 2
"""Batches that a reader has ready for the query; it goes on reading when there is room for more."""

SMALL = 128
"""Rows that it reads ahead where batches are small: of a row each, so many. It is woken when it has half of
them, and then reads the other half: to wake a thread for each row took a third of all a row takes."""

WOKEN_AT = SMALL // 2

FEW = 8192
"""Rows that are given as one batch where they came as several: of so few, each batch costs more than its rows."""

PAUSE_S = 0.01
"""A reader whose iterator says "nothing now" asks no more often than that."""

PARTING_S = 1.0
"""How long a program that ends waits for its readers: a few times what reading a batch takes."""

Taken: TypeAlias = pa.RecordBatch | Silence | None
"""A batch, NOTHING_NOW, or None for the end of the stream."""


class Bell:
    """What the readers of a query ring when something has changed, and the query waits for."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.is_stopped = False

    def stop(self) -> None:
        """Ends all waiting: readers stop reading, and the query does not wait any more."""
        with self.changed:
            self.is_stopped = True
            self.changed.notify_all()

    def ring(self) -> None:
        """Has those who wait look again at what they wait for."""
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, claim: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Waits until the claim holds or the query is stopped; False if neither came in time."""
        with self.changed:
            return self.changed.wait_for(lambda: self.is_stopped or claim(), timeout_s)


class InMemory:
    """The batches of a table or a list, which are ready at any time.

    Silent where the list itself has said that there is nothing now.
    """

    is_ready = True

    def __init__(self, rows: Iterator[pa.RecordBatch | Silence]) -> None:
        self._rows = rows
        self.is_silent = False

    def take(self) -> Taken:
        """The next batch; NOTHING_NOW where the list says so."""
        taken: Taken = next(self._rows, None)
        self.is_silent = taken is NOTHING_NOW
        return taken


class Reader:
    """A thread that asks an iterator for its batches and holds them ready.

    Silent where the iterator itself has said that there is nothing now.

    Args:
        stream: its name, for messages.
        rows: the iterator; the thread alone touches it, closing included.
        bell: the query's.
        merges: whether small batches are given as one; then as many are held as have few rows.
    """

    def __init__(
        self,
        stream: str,
        rows: Iterator[pa.RecordBatch | Silence],
        bell: Bell,
        *,
        merges: bool = False,
    ) -> None:
        self._stream = stream
        self._rows = rows
        self._bell = bell
        self._merges = merges
        self._asked = 0.0
        self._held: deque[pa.RecordBatch | BaseException | None] = deque()
        self.is_silent = False
        # A daemon: a program may end while an iterator blocks for ever.
        self.thread = threading.Thread(target=self._run, name=f"windrow-{stream}", daemon=True)
        self._is_started = False

    @property
    def is_ready(self) -> bool:
        """Whether there is a batch, the end, or an error to hand over."""
        return bool(self._held)

    def take(self) -> Taken:
        """The next batch if one has come; the first call starts the reading.

        Raises:
            DataError: the iterator has raised an error.
        """
        if not self._is_started:
            self._is_started = True
            _READERS.add(self)
            self.thread.start()
        with self._bell.changed:
            if not self._held:
                return NOTHING_NOW
            taken = self._held.popleft()
            if self._merges and isinstance(taken, pa.RecordBatch):
                taken = self._with_more(taken)
            if self._merges or len(self._held) in (HELD - 1, WOKEN_AT):
                self._bell.changed.notify_all()  # there is room again
        if isinstance(taken, BaseException):
            raise source_failed(self._stream, taken)
        return taken

    def end(self) -> None:
        """Tells the query of this reader that it is over, and so the reader."""
        self._bell.stop()

    def _with_more(self, first: pa.RecordBatch) -> pa.RecordBatch:
        """A batch with those held behind it, as long as they are few rows together."""
        batches, rows = [first], first.num_rows
        while self._held and isinstance(self._held[0], pa.RecordBatch):
            rows += self._held[0].num_rows
            if rows > FEW:
                break
            batches.append(self._held.popleft())
        return first if len(batches) == 1 else pa.concat_batches(batches)

    def _has_room(self) -> bool:
        if len(self._held) < HELD:
            return True
        batches = (own for own in self._held if isinstance(own, pa.RecordBatch))
        # An empty batch counts as one row: a promise that time goes on is held as well.
        rows: int = sum(max(1, own.num_rows) for own in batches)
        return rows < (FEW if self._merges else SMALL)

    def _run(self) -> None:
        try:
            self._asked = time.monotonic()
            for item in self._rows:
                if not self._hand_over(item):
                    return
                self._asked = time.monotonic()
            self._hand_over(None)
        except BaseException as error:  # noqa: BLE001  # whatever it is, the query must hear of it
            self._hand_over(error)
        finally:
            close = getattr(self._rows, "close", None)
            if close is not None:
                close()

    def _hand_over(self, item: pa.RecordBatch | Silence | BaseException | None) -> bool:
        """Hands an item to the query, waiting for room; False once the query is stopped."""
        bell = self._bell
        with bell.changed:
            self.is_silent = item is NOTHING_NOW
            if isinstance(item, Silence):
                bell.changed.notify_all()  # the query need not wait for this stream
                # An iterator that has waited itself is asked again at once.
                pause = PAUSE_S - (time.monotonic() - self._asked)
                return not bell.wait_for(lambda: False, max(0.0, pause))
            while not (self._has_room() or bell.is_stopped):
                bell.changed.wait()
            if bell.is_stopped:
                return False
            self._held.append(item)
            if len(self._held) == 1:
                bell.changed.notify_all()  # else the query had something to take before
            return True


Inlet: TypeAlias = InMemory | Reader
"""Where a query takes the batches of one stream from, without ever waiting."""

_READERS: WeakSet[Reader] = WeakSet()


@atexit.register
def end_readers() -> bool:
    """Ends all readers; whether none is left at work."""
    readers = [reader for reader in list(_READERS) if reader.thread.is_alive()]
    until = time.monotonic() + PARTING_S
    with contextlib.suppress(KeyboardInterrupt):  # who does not want to wait need not
        for reader in readers:
            reader.end()
        for reader in readers:
            reader.thread.join(max(0.0, until - time.monotonic()))
    return not any(reader.thread.is_alive() for reader in readers)


PART_ROWS = 1 << 14
"""Rows of a batch that are taken at a time, at least.

Of tables of 100,000 rows, in seconds and MB, taken whole, in parts of 32,768 and of 16,384: a join of
three streams 0.13 s and 64 MB, 0.21 s and 59 MB, 0.25 s and 47 MB; of two 0.14 s and 64 MB, 0.17 s and
55 MB, 0.18 s and 51 MB; as-of 0.08 s and 45 MB, 0.08 s and 34 MB, 0.09 s and 31 MB. A band join by trees
gains in time as well: with tables of 200,000 rows it took 10.1 s whole, 1.8 s in parts of 32,768, 1.3 s in
parts of 16,384, 1.1 s in parts of 8,192."""

PARTS = 4
"""Parts of a large batch where many only take time: of tables of 2,000,000 rows a join by a key took
0.36 s whole and 0.66 s in eighths. (As-of joins 0.29 s and 0.65 s; of 10,000,000 rows 1.7 s and 4.8 s.)"""

PARTS_PER_THREAD = 2
"""How many times as many rows each thread is given, where there are several: what a step costs in Python,
with the interpreter held, does not grow with its rows."""

RowsAtOnce = Callable[[pa.RecordBatch], int]
"""How many rows of a batch are taken at a time."""


class BatchSplitter:
    """One batch after the other, in parts."""

    def __init__(self, rows_at_once: RowsAtOnce) -> None:
        self._rows_at_once = rows_at_once
        self._batch: pa.RecordBatch | None = None
        self._most = 0
        self.whole = 0
        self.taken = 0

    @property
    def is_done(self) -> bool:
        """Whether the batch has been taken whole."""
        return self.taken >= self.whole

    def begin(self, batch: pa.RecordBatch, time: str | None, taken: int) -> None:
        """Begins a batch, so many rows of which have been taken before the query was stopped.

        One that is taken whole stays as it came.
        """
        self._most = self._rows_at_once(batch)
        has_parts = taken > 0 or batch.num_rows > self._most
        if time is not None and has_parts:
            ticks = ticks_of(batch.column(time))
            # A copy of what is in order would be held for nothing.
            if np.any(ticks[1:] < ticks[:-1]):
                batch = batch.take(pa.array(np.argsort(ticks, kind="stable")))
        self._batch, self.whole, self.taken = batch, int(batch.num_rows), taken

    def next(self) -> pa.RecordBatch:
        """The next part; an empty batch is one."""
        assert self._batch is not None
        part = self._batch
        if self.taken or self._most < self.whole:
            part = part.slice(self.taken, self._most)
        self.taken += part.num_rows
        if self.is_done:
            self._batch = None
        return part


def first_of(
    batches: Iterator[pa.RecordBatch | Silence], rows: int
) -> Iterator[pa.RecordBatch | Silence]:
    """The batches, the first of which has so many rows, however they were cut before.

    For a batch that was stopped in: its rows were put in order as a whole.
    """
    gathered: list[pa.RecordBatch] = []
    missing = rows
    for batch in batches:
        if isinstance(batch, Silence):
            yield batch
            continue
        gathered.append(batch.slice(0, missing))
        missing -= gathered[-1].num_rows
        if not missing:
            yield pa.concat_batches(gathered)
            rest = batch.slice(gathered[-1].num_rows)
            if rest.num_rows:
                yield rest
            break
    yield from batches


def rows_at_once(root: PhysicalNode, options: Options) -> RowsAtOnce | None:
    """How batches are cut for a plan; None where they are not.

    A plan without state makes nothing wait, and an as-of join lets go of what it has met. A query
    that fails or sheds beyond its memory takes parts by that: a table is one batch, which would wait
    whole, and memory for the windows would not suffice. One that spills has a place for what waits.
    """
    amount = options.memory_amount
    if amount is None or options.on_memory == SPILL:
        if not root.has_state or _first_operator(root).lets_go_of_met:
            return None
        least = PART_ROWS
        if options.most_threads > 1:
            least *= PARTS_PER_THREAD * options.most_threads
        if _follows_a_batch(root):
            return lambda _: least
        return lambda batch: max(least, -(-batch.num_rows // PARTS))
    memory, streams = amount.count, len(root.scans)
    if amount.is_tuples:
        return lambda _: part_of(memory, streams)
    beside = max(node.shed_row_bytes for node in root.walk()) or OF_ITS_OWN

    def rows_in_memory(batch: pa.RecordBatch) -> int:
        row_bytes = beside + batch.nbytes / max(1, batch.num_rows)
        return part_of(memory / row_bytes, streams)

    return rows_in_memory


def all_at_once(batch: pa.RecordBatch) -> int:
    """As many rows as a batch has."""
    return max(1, int(batch.num_rows))


def _first_operator(node: PhysicalNode) -> PhysicalNode:
    """The first stateful node of a plan from the answer down; where there are several, what unites them."""
    while not node.is_stateful and len(node.inputs) == 1:
        (node,) = node.inputs
    return node


def _follows_a_batch(root: PhysicalNode) -> bool:
    """Whether a plan has what takes more time, or holds more, for a large batch than for small ones.

    What makes changes, or counts rows, has those of a whole batch at a time; a join that takes tuple by
    tuple has all tuples of a batch in its window before the first of another stream comes.
    """
    return root.takes_back or any(node.follows_a_batch for node in root.walk())
