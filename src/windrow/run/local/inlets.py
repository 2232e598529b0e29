"""Ctrl-C in a query: it comes between two steps of the operators, so that the query can go on.

A step changes state; left in the middle, rows would be lost or doubled. So while a query works in
the main thread, interrupts are put off, and the scheduler pauses after the step under way:

    steps       |---- a ----|-- b --|------- c -------|-- d --
    Ctrl-C                              x             ^ KeyboardInterrupt; later d
                                        x    x ^        the second is not put off: the query breaks

A query that waits for its streams is woken. Of a query that broke, nothing more can be had.

How the batches of a stream come in: at once from memory, or through a reader on its own thread.

Tables and lists are in memory: whoever asks gets the next batch. Any other iterator may block, so
that a thread of its own asks it, and hands over what comes:

    iterator --next()--> reader --held, at most HELD--> the query
                            |                               |
                            +-- rings --> the bell <-- waits+

Readers and query wait on one condition, the bell, which `stop` rings as well: nobody polls in a
loop, and a query ends at once though every one of its iterators blocks. A reader that is inside
its iterator when the query stops ends as soon as the iterator returns.

When the program ends, all readers are told to, and waited for: Python ends a thread that comes back to
it too late in the middle of what it does, and the C++ of an engine there takes the whole process down.
One that still blocks in its iterator after a while is left behind.
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
from typing import Final, Protocol, TypeAlias
from weakref import WeakSet

import pyarrow as pa

from windrow.errors import ResourceError
from windrow.kernels.signals import PutOff
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
        hint="ask again with sql(..), or resume from a checkpoint; after one Ctrl-C alone, which"
        " waits for the end of the step, a query can go on",
    )


HELD = 2
"""Batches that a reader has ready for the query; it goes on reading when there is room for more."""

PAUSE_S = 0.01
"""After its iterator said "nothing now", how long a reader waits before it asks again."""

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


class Inlet(Protocol):
    """Where a query takes the batches of one stream from."""

    @property
    def is_ready(self) -> bool:
        """Whether asking brings the stream on."""
        ...

    @property
    def is_silent(self) -> bool:
        """Whether the stream itself has said that there is nothing now."""
        ...

    def take(self) -> Taken:
        """The next batch if there is one now; never waits."""
        ...


class InMemory:
    """The batches of a table or a list."""

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

    Args:
        stream: its name, for messages.
        rows: the iterator; the thread alone touches it, closing included.
        bell: the query's.
    """

    def __init__(self, stream: str, rows: Iterator[pa.RecordBatch | Silence], bell: Bell) -> None:
        self._stream = stream
        self._rows = rows
        self._bell = bell
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
            self._bell.changed.notify_all()  # there is room again
        if isinstance(taken, BaseException):
            raise source_failed(self._stream, taken)
        return taken

    def end(self) -> None:
        """Tells the query of this reader that it is over, and so the reader."""
        self._bell.stop()

    def _run(self) -> None:
        try:
            for item in self._rows:
                if not self._hand_over(item):
                    return
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
                return not bell.wait_for(lambda: False, PAUSE_S)
            bell.wait_for(lambda: len(self._held) < HELD)
            if bell.is_stopped:
                return False
            self._held.append(item)
            bell.changed.notify_all()
            return True


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
