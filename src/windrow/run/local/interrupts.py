"""Ctrl-C in a query: it comes between two steps of the operators, so that the query can go on.

A step changes state; left in the middle, rows would be lost or doubled. So while a query works in
the main thread, interrupts are put off, and the scheduler pauses after the step under way:

    steps       |---- a ----|-- b --|------- c -------|-- d --
    Ctrl-C                              x             ^ KeyboardInterrupt; later d
                                        x    x ^        the second is not put off: the query breaks

A query that waits for its streams is woken. Of a query that broke, nothing more can be had.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from enum import Enum
from typing import Final

from windrow.errors import ResourceError
from windrow.kernels.signals import PutOff


class Pause(Enum):
    """What a query gives in place of rows where it stops between two steps."""

    PAUSED = "paused"


PAUSED: Final = Pause.PAUSED


def put_off(ring: Callable[[], object]) -> PutOff:
    """Interrupts put off while a query works; the first one rings, the second is not put off."""
    # The handler may have stopped this very thread in the middle of what holds the bell.
    return PutOff(lambda: _thread.start_new_thread(ring, ()), breaks_through=True)


def broken_off() -> ResourceError:
    """The error of asking on for rows of a query that was left in the middle of a step."""
    return ResourceError(
        "query-broken-off",
        "the query was interrupted in the middle of a step, and cannot go on",
        reason="some rows of the step are in its state and some are not",
        hint="ask again with sql(..), or resume from a checkpoint; after one Ctrl-C alone, which"
        " waits for the end of the step, a query can go on",
    )
