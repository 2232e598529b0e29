"""Who works on an operator: one thread, or a team of several on as many buckets of its rows.

What the buckets do is in `bucketed.py`. The number of them is that of the team where a query begins, and
that of its state where it goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Protocol, TypeVar

from windrow.operators.engine.base import Operator, Snapshot, build
from windrow.physical.partitioning.threads import spread_over, threads_of

if TYPE_CHECKING:
    from windrow.operators.routing.partition import Own
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.options import Options

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


def team_of(options: Options) -> Team | None:
    """Who works on a query; None for one thread."""
    threads = threads_of(options)
    return Team(threads) if threads > 1 else None


def in_turn(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Does tasks one after the other."""
    return [task() for task in tasks]


def new_operator(node: PhysicalNode, own: Own | None, team: Team | None) -> Operator:
    """A new operator of a stateful node, in as many buckets as there are threads for."""
    buckets = 1 if team is None else spread_over(node, team.threads).buckets
    return _operator(node, own, team, buckets)


def operator_for(
    snapshot: Snapshot, node: PhysicalNode, own: Own | None, team: Team | None
) -> Operator:
    """A new operator of a node that goes on from a state, in the buckets that it has."""
    return _operator(node, own, team, _buckets_of(snapshot))


def suits(operator: Operator, snapshot: Snapshot) -> bool:
    """Whether an operator has the buckets of a state."""
    return operator.buckets_used == _buckets_of(snapshot)


def _operator(node: PhysicalNode, own: Own | None, team: Team | None, buckets: int) -> Operator:
    if buckets == 1:
        return build(node, own)
    # It is loaded where it is needed, with the kernels that route rows.
    from windrow.operators.engine.bucketed import BucketedOp  # noqa: PLC0415

    return BucketedOp(node, team, buckets)


def _buckets_of(snapshot: Snapshot) -> int:
    return snapshot.numbers[BUCKETS] if snapshot.kind.startswith(OF_BUCKETS) else 1
