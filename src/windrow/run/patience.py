"""What is outside may be away for a while: it is tried again, for as long as a run was told to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from windrow.io.protocol import Unavailable
from windrow.plan.units import show_ticks

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
