"""How a query runs whose answer goes to a sink: what both runners are told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from windrow.errors import BindError
from windrow.io.protocol import Sink
from windrow.plan.units import to_ticks

EPOCH_S = 1.0
"""How long an epoch lasts at most, where nobody says otherwise."""

PATIENCE_S = 300.0
"""How long what is outside may be away before the run fails, where nobody says otherwise."""


@dataclass(frozen=True)
class Course:
    """How a query runs whose answer goes to a sink.

    Attributes:
        sink: where the answer goes.
        checkpoint: the folder that it survives by; None for none.
        epoch_s: how many seconds an epoch lasts at most.
        patience_s: how long what is outside may be away.
        until_done: whether it ends with what is there.
    """

    sink: Sink
    checkpoint: str | None
    epoch_s: float = EPOCH_S
    patience_s: float = PATIENCE_S
    until_done: bool = False


def course_of(
    sink: Sink,
    checkpoint: str | None,
    epoch: str | timedelta,
    patience: str | timedelta,
    *,
    until_done: bool,
) -> Course:
    """The course that a user has set.

    Raises:
        BindError: a length of time is none.
    """
    lengths = {"epoch": epoch, "patience": patience}
    seconds = {}
    for name, length in lengths.items():
        if not isinstance(length, str | timedelta):
            raise BindError(
                "bad-length",
                f"{name} is {length!r}, which is no length of time",
                hint=f"for instance {name}='10 seconds'",
            )
        seconds[name] = to_ticks(length, "timestamp") / 1_000_000
    place = None if checkpoint is None else str(checkpoint)
    return Course(sink, place, seconds["epoch"], seconds["patience"], until_done)
