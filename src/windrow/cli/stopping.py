"""SIGTERM, as a job that follows its streams takes it: it ends between two epochs, whenever the signal comes.

    loading    what a job is and how it runs is not known yet    the signal is kept in mind
    starting   sources, sink and checkpoint are opened           it breaks that off: nothing has begun
    running    epochs                                            the run is told to stop

A job that ends with what is there takes no part: the signal ends it as it ends any program.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class EndedEarly(BaseException):
    """The signal has come before the run had begun."""


class Sigterm:
    """Takes the signal from here on until the end of the block; `is_asked` says whether it has come."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self._breaks_off = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGTERM, self._come)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> bool:
        signal.signal(signal.SIGTERM, self._before)
        return kind is EndedEarly

    def leave(self) -> None:
        """Leaves the signal to whoever had it before, even if it has come already."""
        signal.signal(signal.SIGTERM, self._before)
        if self.is_asked.is_set():
            signal.raise_signal(signal.SIGTERM)

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Breaks off what is done inside as soon as the signal comes, or if it has."""
        self._breaks_off = True
        try:
            if self.is_asked.is_set():
                raise EndedEarly
            yield
        finally:
            self._breaks_off = False

    def _come(self, _: int, __: FrameType | None) -> None:
        self.is_asked.set()
        if self._breaks_off:
            raise EndedEarly
