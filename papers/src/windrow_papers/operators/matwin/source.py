"""A stream that is read a tuple at a time, and what it promises of its order in y1 (section 3.4).

Every promise comes to one number, `assured`: no tuple to come has a y1 below it.

    sorted       y1 of the last tuple                                   3 5 5 9 ..    9
    lateness c   the largest y1 so far, less c                c = 3     3 8 6 9 ..    6
    read-ahead c the largest y1 that c tuples in a row reach   c = 2     3 8 6 9 ..    6
    grid order   where the slab of the last tuple starts     eps = 5    3 1 8 6 ..    5

A tuple that breaks the promise is late: it is counted, and is no part of the answer.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from windrow.kernels.epsilon_grid import Int64s
from windrow.operators.bestmatch.pages.page_file import LEAST

MOST = 2**63 - 1

LATENESS, READ_AHEAD, GRID_ORDER = "lateness", "read-ahead", "grid order"


@dataclass(frozen=True)
class Promise:
    """How far a stream may be out of order.

    Attributes:
        kind: one of the above; sorted streams have a lateness of 0.
        amount: ticks of lateness; tuples read ahead; eps of the first dimension for the grid order,
            which is by slabs of y1 that are as high as eps, in them by cells, in these by y1.
    """

    kind: str = LATENESS
    amount: int = 0


SORTED = Promise()


class PageSource:
    """A stream.

    Args:
        values: its tuples in the order in which they come, a line each, y1 first.
        promise: what holds of their order.
    """

    def __init__(self, values: Int64s, promise: Promise = SORTED) -> None:
        self.promise = promise
        self.assured = LEAST if len(values) else MOST
        self.taken = 0
        self.late = 0
        self._values = values
        self._last: deque[int] = deque(maxlen=max(1, promise.amount))

    @property
    def is_ended(self) -> bool:
        """Whether there are no more tuples."""
        return self.taken == len(self._values)

    def read_into(self, row: Int64s) -> int | None:
        """Writes the next tuple, its number behind it; gives its y1, None for one that is late."""
        values = self._values[self.taken]
        row[:-1] = values
        row[-1] = self.taken
        self.taken += 1
        y1 = int(values[0])
        is_late = y1 < self.assured
        self.late += is_late
        self.assured = MOST if self.is_ended else max(self.assured, self._assured_by(y1))
        return None if is_late else y1

    def _assured_by(self, y1: int) -> int:
        amount = self.promise.amount
        if self.promise.kind == LATENESS:
            return y1 - amount
        if self.promise.kind == GRID_ORDER:
            return y1 // amount * amount
        self._last.append(y1)
        return min(self._last) if len(self._last) == amount else LEAST
