"""Who works on an operator: one thread, or a team of several on as many buckets of its rows.

What the buckets do is in `bucketed.py`. The number of them is that of the team where a query begins, and
that of its state where it goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

T = TypeVar("T")

BUCKETS = "buckets"
"""The number of a snapshot that says how many buckets it is of."""

OF_BUCKETS = "buckets of "
"""What the kind of such a snapshot begins with."""


class Each(Protocol):
    """Does some tasks, and gives their results in order."""

    def __call__(self, tasks: Sequence[Callable[[], T]], /) -> list[T]:
        """Does them."""
        ...


class Team:
    """The thread that asks, and others which it has started: they share the tasks of a step.

    Examples:
        >>> Team(2).each([lambda: 1, lambda: 2, lambda: 3])
        [1, 2, 3]
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def each(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Does all tasks; where some fail, one of their errors is raised when all have ended."""
        helpers = min(self.threads, len(tasks)) - 1
        if helpers < 1:
            return in_turn(tasks)
        left = deque(enumerate(tasks))
        done: dict[int, T] = {}

        def work() -> None:
            while left:
                try:
                    at, task = left.popleft()
                except IndexError:  # another was faster
                    return
                done[at] = task()

        if self._pool is None:  # its threads end when nobody has it any more
            self._pool = ThreadPoolExecutor(self.threads - 1, "windrow-bucket")
        others = [self._pool.submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            wait(others)
        for other in others:
            other.result()
        return [done[at] for at in range(len(tasks))]


def in_turn(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Does tasks one after the other."""
    return [task() for task in tasks]
