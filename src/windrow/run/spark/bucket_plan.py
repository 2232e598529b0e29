"""Which plan a worker runs a bucket of a window join by.

All plans keep the same state, so that a bucket may go on by another one with any micro-batch. It
does once its numbers have changed: `planned for` are those of the bucket as it was planned last, in
this worker. Until then the choice costs no more than a look at the times of the rows.

    numbers    rate of each input, rows of the micro-batch
    planned    |-- 1/4 --------- planned for --------- 4 --|
               anew             as it was               anew
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from windrow.operators.base import Snapshot
from windrow.operators.changes import ChangeBatch
from windrow.operators.join_inputs import stored_state
from windrow.physical.estimates import is_near
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.partitioning.buckets import Partitioning, Slices
from windrow.run.spark.bucket_statistics import BucketStatistics

if TYPE_CHECKING:
    from windrow.run.planner import Planner
    from windrow.run.spark.stages import StagePlan

NO_PLAN = -1
"""In place of a plan's number: nothing was chosen."""

MOST_REMEMBERED = 4_096
"""Buckets whose plans a worker remembers."""


@dataclass(frozen=True)
class Choice:
    """What a stage leaves to its workers.

    Attributes:
        planner: plans the join in a worker.
        names: the plans that it may take, by number.
        run: names the DataFrame: what is remembered of another one does not count.
    """

    planner: Planner
    names: tuple[str, ...]
    run: str


@dataclass(frozen=True)
class Chosen:
    """How a bucket runs.

    Attributes:
        spec: the step by its plan.
        plan: the number of the plan; NO_PLAN where nothing was chosen.
        numbers: what the plan was made for.
        is_change: whether this worker ran the bucket by another plan before.
    """

    spec: PhysicalNode
    plan: int = NO_PLAN
    numbers: tuple[float, ...] = ()
    is_change: bool = False


class Remembered:
    """The plans of buckets that had their turn in this worker, the longest ago forgotten first."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._chosen: OrderedDict[Hashable, Chosen] = OrderedDict()

    def choose(self, bucket: Hashable, stage: StagePlan, seen: BucketStatistics) -> Chosen:
        """How a bucket of a stage goes on, by what it shows."""
        choice = stage.choice
        assert choice is not None
        name, numbers = (choice.run, bucket), seen.numbers
        before = self._chosen.get(name)
        if before is not None and all(map(_is_like, numbers, before.numbers)):
            self._chosen.move_to_end(name)
            return before
        found = choice.planner.planned(stage.spec, stage.partitioning, seen)
        chosen = Chosen(found, choice.names.index(found.plan_kind), numbers)
        self._chosen[name] = chosen
        if len(self._chosen) > self._most:
            self._chosen.popitem(last=False)
        is_change = before is not None and not found.runs_like(before.spec)
        return replace(chosen, is_change=is_change)


@cache
def worker_memory() -> Remembered:
    """The plans that this worker remembers."""
    return Remembered()


def chosen_streaming(
    bucket: Hashable,
    stage: StagePlan,
    snapshot: Snapshot | None,
    come: Sequence[ChangeBatch | None],
    newest: Sequence[int],
) -> Chosen:
    """How a bucket goes through one micro-batch of a streaming query.

    Args:
        bucket: whose turn it is.
        stage: the stage.
        snapshot: the bucket's state; None where it has none yet.
        come: per input, the rows of the micro-batch.
        newest: per input, the newest time before it; empty where nothing came.
    """
    if stage.choice is None:
        return Chosen(stage.spec)
    if not any(rows is not None and len(rows) for rows in come):
        # Nothing is joined, and this plan alone holds rows as they are stored.
        return Chosen(stage.choice.planner.usual(stage.spec))
    held = stored_state(snapshot, stage.ports)[0] if snapshot is not None else [()] * stage.ports
    seen = BucketStatistics(held, come, newest, _slices(stage.partitioning), is_restored=True)
    return worker_memory().choose(bucket, stage, seen)


def chosen_in_batch(
    memory: Remembered, bucket: Hashable, stage: StagePlan, come: Sequence[ChangeBatch | None]
) -> Chosen:
    """How a bucket goes through the next rows of a batch run."""
    if stage.choice is None:
        return Chosen(stage.spec)
    seen = BucketStatistics([()] * stage.ports, come, (), _slices(stage.partitioning))
    return memory.choose(bucket, stage, seen)


def _slices(partitioning: Partitioning) -> Slices | None:
    """The slices of event time, where a bucket has some of them and not all."""
    if isinstance(partitioning, Slices) and partitioning.buckets > 1:
        return partitioning
    return None


def _is_like(number: float, planned: float) -> bool:
    """Whether a number is about what it was; 0, which is not known now, is no news."""
    return not number or is_near(number, planned)
