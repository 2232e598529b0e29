"""Response time: from the instant at which a change becomes true to its production.

    change true at t           newest time that any stream has delivered, as it is produced
    ------|-----------------------------|------------------------------------------------>
           <------ response time ------>

It is in event time, so that it tells how late answers are whatever the machine: waiting for the
watermark, for the batch, and, with input-triggered scheduling, for input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.plan.units import show_ticks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Response:
    """The response times of the changes of a changelog, in ticks.

    Attributes:
        changes: how many were produced, those at the end of all streams apart.
        total: their response times together.
        maximum: the longest one.

    Examples:
        >>> Response(changes=4, total=6, maximum=3).show("bigint")
        'response time 1.5 on average, 3 at most'
    """

    changes: int = 0
    total: int = 0
    maximum: int = 0

    @property
    def average(self) -> float:
        """The mean response time; 0 before there was a change."""
        return self.total / self.changes if self.changes else 0.0

    def after(self, times: NDArray[np.int64], now: int) -> Response:
        """With changes that became true at these instants, and are produced now."""
        if not len(times):
            return self
        waited = now - times
        return Response(
            self.changes + len(times),
            self.total + int(waited.sum()),
            max(self.maximum, int(waited.max())),
        )

    def as_dict(self) -> dict[str, float]:
        """The figures by name, times in ticks."""
        return {"changes": self.changes, "average": self.average, "maximum": self.maximum}

    def show(self, time_type: str) -> str:
        """The figures as text."""
        average = (
            f"{self.average:g}"
            if time_type == "bigint"
            else show_ticks(round(self.average), time_type)
        )
        return f"response time {average} on average, {show_ticks(self.maximum, time_type)} at most"


NONE_YET = Response()
"""Of a query that has produced no change."""
