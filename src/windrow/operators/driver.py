"""One stateful operator with the late rule in front: what either runner drives.

A micro-batch of a stage, between two watermarks of the query:

    time of a row       late                      in time
    ----------------------------|----------------------------------->
                         watermark before        watermark after
                         the batch begins        the batch has been taken

    1. rows below the watermark before are late: counted, kept aside, or fatal;
    2. the rest is pushed;
    3. the operator advances to the watermark after, less the delays of the operators below it.

Only ports that streams feed have late rows: what another operator produces is in time by the delay
that it states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from windrow.errors import DataError
from windrow.operators.build import build
from windrow.operators.instants import less_delay, show_instant
from windrow.physical.explain.promises import remedy, say_promises
from windrow.physical.nodes.base import PhysicalNode
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from windrow.operators.base import Counters, Snapshot
    from windrow.operators.changes import ChangeBatch
    from windrow.operators.memory import Memory
    from windrow.operators.partition import Own

    Collector = Callable[[int, ChangeBatch], None]


@dataclass
class LateAtPort:
    """Late rows of one port: how many, how many without a time, and how far below the watermark."""

    rows: int = 0
    null_time: int = 0
    gap: int = 0


class Stage:
    """An operator that is handed micro-batches and the query's watermark.

    Args:
        spec: what the operator computes.
        checks_late: per port, whether the late rule applies; None: where streams feed it.
        on_late: "count" (drop), "keep" (drop, and hand to `late`) or "fail".
        late: takes (port, rows) of late rows and of rows without a time, when `on_late` is "keep".
        memory: bounds what the operator holds; None: nothing does.
        own: in one bucket of several, which rows the operator answers for; None: for all.

    Examples:
        >>> stage = Stage(spec, on_late="fail")  # doctest: +SKIP
        >>> results = list(stage.step([left, right], before, after))  # doctest: +SKIP
    """

    def __init__(
        self,
        spec: PhysicalNode,
        *,
        checks_late: tuple[bool, ...] | None = None,
        on_late: str = "count",
        late: Collector | None = None,
        memory: Memory | None = None,
        own: Own | None = None,
    ) -> None:
        self.spec = spec
        self.operator = build(spec, own)
        self._own = own
        self.checks_late = fed_by_streams(spec) if checks_late is None else checks_late
        self.on_late = on_late
        self.late = late
        self.late_at: dict[int, LateAtPort] = {}
        self.memory = memory
        if memory is not None:
            memory.watch(spec.title, self.operator)
        self.delay = max(child.delay for child in spec.inputs)

    def become(self, spec: PhysicalNode) -> None:
        """Goes on by another plan of the same step, with the state and the figures of this one."""
        snapshot, figures = self.operator.snapshot(), self.operator.counters
        self.operator = build(spec, self._own)
        self.operator.restore(snapshot)
        self.operator.counters.add(replace(figures, stored=0, intermediate=0, state_bytes=0))
        self.spec = spec

    @property
    def counters(self) -> Counters:
        """The operator's figures, late rows included."""
        return self.operator.counters

    def step(
        self,
        batches: Sequence[ChangeBatch | None],
        watermark_before: int,
        watermark_after: int,
    ) -> Iterator[ChangeBatch]:
        """One micro-batch: the late rule, push, advance, settle.

        Args:
            batches: one batch, or None, per port.
            watermark_before: the query's watermark as the batch begins.
            watermark_after: the query's watermark once the batch has been taken.
        """
        yield from self.push(batches, watermark_before)
        yield from self.advance(watermark_after)
        yield from self.settle()

    def push(
        self, batches: Sequence[ChangeBatch | None], watermark_before: int
    ) -> Iterator[ChangeBatch]:
        """Takes a part of a micro-batch, without advancing; gives the results it completes."""
        in_time = [
            self.in_time(port, batch, watermark_before)
            if batch is not None and self.checks_late[port]
            else batch
            for port, batch in enumerate(batches)
        ]
        if any(batch is not None and len(batch) for batch in in_time):
            yield from self.operator.push(in_time)
            if self.memory is not None:
                self.memory.settle()

    def advance(self, watermark_after: int) -> Iterator[ChangeBatch]:
        """Gives what the query's watermark makes final, and drops what nothing can need."""
        watermark = less_delay(watermark_after, self.delay)
        if watermark > MIN_TICK:
            yield from self.operator.advance(watermark)

    def settle(self) -> Iterator[ChangeBatch]:
        """Ends a micro-batch: no more is held than may be."""
        yield from self.operator.settle()
        if self.memory is not None:
            self.memory.settle()

    def due(self) -> int:
        """The least watermark of the query at which `advance` gives or drops a row."""
        due = self.operator.due()
        return due if due in {MIN_TICK, MAX_TICK} else min(due + self.delay, MAX_TICK)

    def snapshot(self) -> Snapshot:
        """The operator's state between two micro-batches."""
        return self.operator.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back."""
        self.operator.restore(snapshot)

    def in_time(self, port: int, batch: ChangeBatch, watermark: int) -> ChangeBatch:
        """The rows of a stream that are not late; the others are dealt with."""
        # MIN_TICK stands for a NULL time: below every watermark but the first.
        first_in_time = max(watermark, MIN_TICK + 1)
        is_late = batch.times < first_in_time
        if not is_late.any():
            return batch
        late = batch.take(np.flatnonzero(is_late))
        tuples = late.tuples()
        without_time = int(tuples[late.times == MIN_TICK].sum())
        if self.on_late == "fail":
            raise self._late_row(port, late, watermark)
        self.counters.null_time += without_time
        self.counters.late += int(tuples.sum()) - without_time
        self._note_late(port, late, watermark)
        self.operator.lose(len(late))
        if self.on_late == "keep" and self.late is not None:
            self.late(port, late)
        return batch.take(np.flatnonzero(~is_late))

    def _note_late(self, port: int, late: ChangeBatch, watermark: int) -> None:
        timed = late.times[late.times > MIN_TICK]
        found = self.late_at.setdefault(port, LateAtPort())
        found.rows += len(timed)
        found.null_time += len(late) - len(timed)
        if len(timed):
            found.gap = max(found.gap, watermark - int(timed.min()))

    def _late_row(self, port: int, late: ChangeBatch, watermark: int) -> DataError:
        streams = self.spec.inputs[port].scans
        # Under a UNION ALL of several, the row may be any one's.
        stream = max(streams, key=lambda one: one.lateness or 0)
        names = " or ".join(dict.fromkeys(one.stream for one in streams))
        timed = late.times[late.times > MIN_TICK]
        if not len(timed):
            return DataError(
                "null-time",
                f"a row of {names} has no event time: its {stream.time} is NULL",
                hint="filter such rows out, or set on_late to 'count' or 'keep'",
            )
        worst = int(timed.min())
        who = "the stream promises" if len(streams) == 1 else "they promise"
        return DataError(
            "late-row",
            f"a row of {names} at {show_instant(worst, stream.time_type)} is late",
            reason=f"the watermark was {show_instant(watermark, stream.time_type)} as its batch "
            f"began; {who} {say_promises(stream)}",
            hint=f"{remedy(stream, names, watermark - worst)}, or set on_late to 'count' or 'keep'",
        )


def fed_by_streams(spec: PhysicalNode) -> tuple[bool, ...]:
    """Per port of a stateful spec, whether a stream feeds it without another one in between."""
    return tuple(not child.has_state for child in spec.inputs)
