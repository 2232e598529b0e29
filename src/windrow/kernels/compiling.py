"""Who is told that a kernel is being compiled: the first run of a query on a machine takes seconds.

    call f    |- look for f -|- compile f ------------------------------|- run
                             began f   | look for g | compile g |
                                                    began g             done

`began` comes with each kernel that must be compiled, those that it calls as well, `done` when the
kernel that was called can run. Nothing is told where compiled code is read.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Compiled:
    """What this process has compiled so far.

    Attributes:
        kernel: the one that is being compiled; empty when it is done.
        kernels: how many were compiled.
        seconds: how long that took by the clock.
    """

    kernel: str
    kernels: int
    seconds: float

    def __str__(self) -> str:
        if not self.kernel:
            return f"{self.kernels} kernels compiled in {self.seconds:.1f} s"
        return f"compiling, once on this machine: {self.kernel} ({self.kernels} kernels so far)"


class Compiling:
    """Counts and tells what is compiled in this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._listeners: list[Callable[[Compiled], object]] = []
        self._turns = 0
        self._since: float | None = None
        self.kernels = 0
        self.seconds = 0.0
        self.names: list[str] = []

    @contextmanager
    def told(self, listener: Callable[[Compiled], object]) -> Iterator[None]:
        """Tells a listener meanwhile."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A kernel that is called and looked for, with all that it calls. One thread at a time."""
        self._turns += 1
        try:
            yield
        finally:
            self._turns -= 1
            if self._turns == 0 and self._since is not None:
                self.seconds += self._clock() - self._since
                self._since = None
                self._tell("")

    def began(self, kernel: str) -> None:
        """A kernel is compiled from now on."""
        if self._since is None:
            self._since = self._clock()
        self.kernels += 1
        self.names.append(kernel)
        self._tell(kernel)

    def _tell(self, kernel: str) -> None:
        running = self._clock() - self._since if self._since is not None else 0.0
        news = Compiled(kernel, self.kernels, self.seconds + running)
        for listener in list(self._listeners):
            with contextlib.suppress(Exception):  # a display must not break numba
                listener(news)


COMPILING = Compiling()


@contextmanager
def no_collection() -> Iterator[None]:
    """Keeps Python from looking for garbage meanwhile.

    What numba makes of a kernel is a great many objects that are alive to the end: to look through
    them again and again takes a sixth of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
