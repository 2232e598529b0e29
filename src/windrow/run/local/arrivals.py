"""Transaction time in process: the instant at which the query takes a batch, by a clock passed in.

All rows of a batch have one instant. The clock of a query never goes back: where the clock passed
in does, the newest instant is given again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from windrow.errors import BindError
from windrow.operators.arrow_types import arrow_type
from windrow.schema import ARRIVAL_TYPE, MIN_TICK

Clock = Callable[[], datetime]

_CLOCK = "for instance  Session(clock=lambda: datetime.now(UTC))"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def system_clock() -> datetime:
    """The present instant."""
    return datetime.now(UTC)


class ArrivalClock:
    """The clock of one query.

    Args:
        clock: gives the present instant, with its time zone.
        latest: an instant, in ticks, that it does not go back behind.

    Examples:
        >>> ArrivalClock(lambda: datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)).now()
        1000000
    """

    def __init__(self, clock: Clock = system_clock, latest: int = MIN_TICK) -> None:
        self._clock = clock
        self.latest = latest

    def now(self) -> int:
        """The present instant in ticks.

        Raises:
            BindError: the clock gives no instant.
        """
        try:
            instant: object = self._clock()
        except Exception as error:
            raise BindError(
                "bad-clock",
                f"the session's clock raised {type(error).__name__}: {error}",
                hint=_CLOCK,
            ) from error
        if not isinstance(instant, datetime) or instant.tzinfo is None:
            raise BindError(
                "bad-clock",
                f"the session's clock gives {instant!r}, which is no instant",
                reason="it is to give a datetime with a time zone",
                hint=_CLOCK,
            )
        self.latest = max(self.latest, (instant - _EPOCH) // _TICK)
        return self.latest

    def stamped(self, rows: pa.RecordBatch, column: str) -> pa.RecordBatch:
        """The rows with the instant that was read last in one more column."""
        kind = arrow_type(ARRIVAL_TYPE)
        instants = pa.repeat(pa.scalar(self.latest, pa.int64()), rows.num_rows).view(kind)
        return rows.append_column(pa.field(column, kind), instants)
