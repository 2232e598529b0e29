"""What a run did, step by step, for reading: how the figures of the papers are checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.kernels.jit import kernel
from windrow.kernels.tuple_at_a_time.tape import Int64s

ADMIT, TOUCH, DROP, OUTPUT, PERIOD = range(5)
"""The events of a trace.

ADMIT and DROP name a stream and a position, TOUCH the stream and position looked at, OUTPUT the
line of a combination (-1, number); PERIOD the first and last tick of a period just made.
"""


class Trace(NamedTuple):
    """What a run did, step by step, for reading: events of three numbers each, and their count.

    Without room nothing is recorded.
    """

    events: Int64s
    noted: Int64s


def trace_of(events: int = 0) -> Trace:
    """A trace with room for so many events."""
    return Trace(np.empty((events, 3), np.int64), np.zeros(1, np.int64))


@kernel
def note(trace: Trace, event: int, first: int, second: int) -> None:
    """Records an event while there is room."""
    at = trace.noted[0]
    if at < len(trace.events):
        trace.events[at, 0] = event
        trace.events[at, 1] = first
        trace.events[at, 2] = second
        trace.noted[0] = at + 1


Record = tuple[Int64s, Trace]
"""Where a kernel counts its work, and notes its steps."""
