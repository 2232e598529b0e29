"""How a query runs whose answer goes to a sink, and how long it waits for what is outside: on both runners."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self, TypeVar

from windrow.errors import BindError
from windrow.io.protocol import Sink, Unavailable
from windrow.plan.units import show_ticks, to_ticks

EPOCH_S = 1.0
"""How long an epoch lasts at most, where nobody says otherwise."""

PATIENCE_S = 300.0
"""How long what is outside may be away before the run fails, where nobody says otherwise."""


@dataclass(frozen=True)
class Course:
    """How a query runs whose answer goes to a sink.

    Attributes:
        sink: where the answer goes.
        checkpoint: the folder that it survives by; None for none.
        epoch_s: how many seconds an epoch lasts at most.
        patience_s: how long what is outside may be away.
        until_done: whether it ends with what is there.
    """

    sink: Sink
    checkpoint: str | None
    epoch_s: float = EPOCH_S
    patience_s: float = PATIENCE_S
    until_done: bool = False


def course_of(
    sink: Sink,
    checkpoint: str | None,
    epoch: str | timedelta,
    patience: str | timedelta,
    *,
    until_done: bool,
) -> Course:
    """The course that a user has set.

    Raises:
        BindError: a length of time is none.
    """
    lengths = {"epoch": epoch, "patience": patience}
    seconds = {}
    for name, length in lengths.items():
        if not isinstance(length, str | timedelta):
            raise BindError(
                "bad-length",
                f"{name} is {length!r}, which is not a length of time",
                hint=f"for instance {name}='10 seconds'",
            )
        seconds[name] = to_ticks(length, "timestamp") / 1_000_000
    place = None if checkpoint is None else str(checkpoint)
    return Course(sink, place, seconds["epoch"], seconds["patience"], until_done)


T = TypeVar("T")

FIRST_PAUSE_S, MOST_PAUSE_S = 0.1, 5.0
"""Between two tries of something outside that does not answer: it doubles."""


class Patience:
    """Tries again what is unavailable, until it works, patience ends, or the run is stopped.

    Args:
        seconds: from the first failure in a row.
        warn: is told, once for each failure that lasts.

    Attributes:
        is_stopped: set where nobody waits any more.
    """

    def __init__(self, seconds: float, warn: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._warn = warn
        self.is_stopped = threading.Event()

    def __call__(self, call: Callable[[], T]) -> T:
        """What the call gives, as soon as it does."""
        until, pause = None, FIRST_PAUSE_S
        while True:
            try:
                return call()
            except Unavailable as error:
                now = time.monotonic()
                if until is None:
                    until = now + self._seconds
                    self._warn(f"{error.sentence}: {error.reason}; tried again for {self._told}")
                if now >= until:
                    raise _gave_up(error, f"was tried again for {self._told}") from error
                if self.is_stopped.wait(min(pause, until - now)):
                    raise _gave_up(error, "the run was stopped while it waited") from error
                pause = min(2 * pause, MOST_PAUSE_S)

    @property
    def _told(self) -> str:
        return show_ticks(round(self._seconds * 1_000_000), "timestamp")


def _gave_up(error: Unavailable, why: str) -> Unavailable:
    return Unavailable(
        error.condition,
        f"{error.sentence}, and {why}",
        reason=error.reason,
        hint=f"{error.hint}; the run goes on from its checkpoint when it is started again",
    )


class ThreadedRun(ABC):
    """A query whose answer goes to a sink, followed by a thread of its own.

    Args:
        is_stopping: set where the run is to end.
    """

    def __init__(self, is_stopping: threading.Event) -> None:
        self._is_stopping = is_stopping
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="windrow-run", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            with suppress(Exception):  # what went wrong in the block is what is told
                self.stop()

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the run has ended, or so long; whether it has.

        Raises:
            WindrowError: it has failed.
        """
        self._thread.join(seconds)
        if self._thread.is_alive():
            return False
        if self._failure is not None:
            raise self._failure
        return True

    @abstractmethod
    def stop(self) -> None:
        """Ends the run, and waits for it.

        Raises:
            WindrowError: it has failed.
        """

    @abstractmethod
    def _run(self) -> None:
        """Goes on until the query has ended; notes what it fails with."""
