"""The late rule: which rows of streams are late, and what becomes of them. Both runners have this one.

    time of a row       late                      in time
    ----------------------------|----------------------------------->
                         the query's watermark
                         as the micro-batch begins

A row without a time is late whatever the watermark, and is counted apart. Late rows are dropped in front
of an operator: counted, kept aside, or fatal. Only what streams bring may be late: what another operator
gives is in time by the delay that it states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from windrow.errors import DataError
from windrow.operators.columns.arrow_types import show_instant
from windrow.physical.explain.facts import remedy, say_promises
from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.engine.base import Operator
    from windrow.physical.nodes.base import PhysicalNode

    Collector: TypeAlias = Callable[[int, ChangeBatch], None]
    """Takes the port and the late rows, those without a time among them."""


def late_rows(times: NDArray[np.int64], watermark: int) -> NDArray[np.int64]:
    """Which rows are late in a micro-batch that began with that watermark, by their numbers."""
    # MIN_TICK stands for a NULL time: below every watermark but the first.
    found: NDArray[np.int64] = (times < max(watermark, MIN_TICK + 1)).nonzero()[0]
    return found


def in_time(batch: ChangeBatch, watermark: int) -> ChangeBatch:
    """The rows that are not late; the others are dropped without a word."""
    late = late_rows(batch.times, watermark)
    return batch if not len(late) else _without(batch, late)


def _without(batch: ChangeBatch, late: NDArray[np.int64]) -> ChangeBatch:
    is_left = np.ones(len(batch), np.bool_)
    is_left[late] = False
    return batch.take(np.flatnonzero(is_left))


@dataclass
class LateAtPort:
    """Late rows of one port: how many, how many without a time, and how far below the watermark."""

    rows: int = 0
    null_time: int = 0
    gap: int = 0


class LateRule:
    """The late rule in front of one operator.

    Args:
        node: what the operator computes.
        on_late: "count" (drop), "keep" (drop, and hand to `keep`) or "fail".
        keep: takes the port and the rows that are late.

    Attributes:
        at: what was late, by port.
    """

    def __init__(
        self, node: PhysicalNode, on_late: str = "count", keep: Collector | None = None
    ) -> None:
        self.at: dict[int, LateAtPort] = {}
        self._node = node
        self._fails = on_late == "fail"
        self._keep = keep if on_late == "keep" else None

    def in_time(
        self, port: int, batch: ChangeBatch, watermark: int, operator: Operator
    ) -> ChangeBatch:
        """The rows of a stream that are not late; the operator counts the others.

        Raises:
            DataError: a row is late, and is to be fatal.
        """
        numbers = late_rows(batch.times, watermark)
        if not len(numbers):
            return batch
        late = batch.take(numbers)
        if self._fails:
            raise self._fatal(port, late, watermark)
        self._note(port, late, watermark)
        tuples = late.tuples()
        without_time = int(tuples[late.times == MIN_TICK].sum())
        operator.counters.null_time += without_time
        operator.counters.late += int(tuples.sum()) - without_time
        operator.lose(len(late))
        if self._keep is not None:
            self._keep(port, late)
        return _without(batch, numbers)

    def _note(self, port: int, late: ChangeBatch, watermark: int) -> None:
        timed = late.times[late.times > MIN_TICK]
        found = self.at.setdefault(port, LateAtPort())
        found.rows += len(timed)
        found.null_time += len(late) - len(timed)
        if len(timed):
            found.gap = max(found.gap, watermark - int(timed.min()))

    def _fatal(self, port: int, late: ChangeBatch, watermark: int) -> DataError:
        streams = self._node.inputs[port].scans
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
