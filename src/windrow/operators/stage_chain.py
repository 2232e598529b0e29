"""The operators of one stage on Spark: what one gives goes straight into the next.

    batches --late rule--> bottom: push, advance
                             | results, columns picked and renamed, windows set
                           above: push .. advance
                             | results

Each is driven by a `Stage` of its own, with its own delay and figures, as if a queue or a shuffle
were between them. `physical/shared_stages.py` says which operators share a stage.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from windrow.operators.base import Snapshot
from windrow.operators.driver import Stage
from windrow.operators.evaluate import Evaluator
from windrow.physical.partitioning.shared_stages import Between, below
from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from windrow.operators.base import Counters, Left
    from windrow.operators.changes import ChangeBatch
    from windrow.operators.driver import Collector
    from windrow.operators.memory import Memory
    from windrow.operators.partition import Own
    from windrow.physical.nodes.base import PhysicalNode

    Entry = TypeVar("Entry")

_AND = " + "


class StageChain:
    """Operators one above the other, handed micro-batches and the query's watermark as one.

    Args:
        specs: what they compute, from the bottom up.
        on_late: "count" (drop), "keep" (drop, and hand to `late`) or "fail".
        late: takes (port, rows) of late rows and of rows without a time, when `on_late` is "keep".
        memory: bounds what all of them hold; None: nothing does.
        own: in one bucket of several, which rows the lowest answers for; None: for all.
    """

    def __init__(
        self,
        specs: Sequence[PhysicalNode],
        *,
        on_late: str = "count",
        late: Collector | None = None,
        memory: Memory | None = None,
        own: Own | None = None,
    ) -> None:
        bottom, *above = specs
        self.bottom = Stage(bottom, on_late=on_late, late=late, memory=memory, own=own)
        # Memory is looked at when the lowest has had its turn, and not while it is having it.
        self._above = [Stage(spec) for spec in above]
        self._between = [_between(spec) for spec in above]
        self._evaluator = Evaluator()
        self._memory = memory
        if memory is not None:
            for stage in self._above:
                memory.watch(stage.spec.title, stage.operator)

    @property
    def counters(self) -> list[Counters]:
        """The figures of each operator, from the bottom up."""
        return [stage.counters for stage in self._stages]

    def step(
        self,
        batches: Sequence[ChangeBatch | None],
        watermark_before: int,
        watermark_after: int,
        settled: int = MIN_TICK,
    ) -> Iterator[ChangeBatch]:
        """One micro-batch.

        Args:
            batches: one batch, or None, per port of the lowest.
            watermark_before: the query's watermark as the batch begins.
            watermark_after: the query's watermark once the batch has been taken.
            settled: a watermark beyond, that the lowest may go on to.
        """
        ahead = max(watermark_after, settled)
        yield from self._onwards(0, self.bottom.step(batches, watermark_before, ahead))
        for number, stage in enumerate(self._above, 1):
            final = chain(stage.advance(watermark_after), stage.settle())
            yield from self._onwards(number, final)
        if self._above and self._memory is not None:
            self._memory.settle()

    def due(self) -> int:
        """The least watermark of the query at which a step gives or drops a row."""
        return min(stage.due() for stage in self._stages)

    def snapshot(self) -> Snapshot:
        """The state of all operators between two micro-batches."""
        return together([stage.snapshot() for stage in self._stages])

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back."""
        for stage, own in zip(self._stages, apart(snapshot), strict=True):
            stage.restore(own)

    def leave(self) -> Left | None:
        """What the lowest operator leaves to the one that goes on from the last snapshot."""
        return self.bottom.operator.leave()

    def take_up(self, left: Left) -> None:
        """Takes up what an earlier lowest operator left."""
        self.bottom.operator.take_up(left)

    @property
    def _stages(self) -> list[Stage]:
        return [self.bottom, *self._above]

    def _onwards(self, number: int, results: Iterable[ChangeBatch]) -> Iterator[ChangeBatch]:
        """What the results of one operator make of those above it."""
        if number == len(self._above):
            yield from results
            return
        for batch in results:
            rows = batch
            for spec in self._between[number]:
                rows = self._evaluator.apply(spec, rows)
            yield from self._onwards(number + 1, self._above[number].push([rows], MIN_TICK))


def together(snapshots: Sequence[Snapshot]) -> Snapshot:
    """The states of a stage's operators as one; that of a single one stays as it is."""
    if len(snapshots) == 1:
        return snapshots[0]
    buffers = {f"{i}/{n}": v for i, one in enumerate(snapshots) for n, v in one.buffers.items()}
    numbers = {f"{i}/{n}": v for i, one in enumerate(snapshots) for n, v in one.numbers.items()}
    kind = _AND.join(one.kind for one in snapshots)
    return Snapshot(kind, buffers, numbers, snapshots[0].version)


def apart(snapshot: Snapshot) -> list[Snapshot]:
    """The state of each operator, from the bottom up."""
    kinds = snapshot.kind.split(_AND)
    if len(kinds) == 1:
        return [snapshot]
    return [
        Snapshot(kind, _own(snapshot.buffers, i), _own(snapshot.numbers, i), snapshot.version)
        for i, kind in enumerate(kinds)
    ]


def _own(entries: Mapping[str, Entry], number: int) -> dict[str, Entry]:
    prefix = f"{number}/"
    return {n.removeprefix(prefix): v for n, v in entries.items() if n.startswith(prefix)}


def _between(spec: PhysicalNode) -> Between:
    found = below(spec)
    assert found is not None, "nothing below it that it could share a stage with"
    return found[1]
