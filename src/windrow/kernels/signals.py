"""Ctrl-C put off: where a block must not be left in the middle, its handler runs at the end.

    block      |-------------------------------|
    signal            x                         handler runs, and raises KeyboardInterrupt

Python runs handlers of signals in the main thread, between any two of its instructions. In any other
thread, and where the program has no handler of Python's for it, nothing is done.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

Handler = Callable[[int, FrameType | None], Any]

_SIGINT = int(
    signal.SIGINT
)  # and `_signal`: `signal` looks each handler up among its constants first


class PutOff:
    """Interrupts of the main thread, put off to the end of a block.

    Args:
        on_first: called with the first interrupt, from within the handler.
        breaks_through: whether the second interrupt is not put off.
    """

    def __init__(
        self, on_first: Callable[[], object] | None = None, *, breaks_through: bool = False
    ) -> None:
        self._on_first = on_first
        self._breaks_through = breaks_through
        self._handler: Handler | None = None
        self.came = 0

    def __enter__(self) -> Self:
        if _is_main_thread():
            self.came = 0
            handler = _signal.getsignal(_SIGINT)
            if callable(handler):
                self._handler = handler
                _signal.signal(_SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if not _is_main_thread() or self._handler is None:
            return
        handler, self._handler = self._handler, None
        came, self.came = self.came, 0
        if _signal.getsignal(_SIGINT) == self._note:  # the block may have set another
            _signal.signal(_SIGINT, handler)
        # Whoever put this block's interrupts off as well may let the second one through.
        for _nth in range(min(came, 2)):
            handler(_SIGINT, None)

    def has_come(self) -> bool:
        """Whether there is an interrupt that has been put off."""
        return self.came > 0

    def _note(self, kind: int, frame: FrameType | None) -> None:
        self.came += 1
        if self.came == 1:
            if self._on_first is not None:
                self._on_first()
        elif self._breaks_through and self._handler is not None:
            self._handler(kind, frame)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
