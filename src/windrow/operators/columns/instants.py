"""Instants in ticks, and the same as values of the time type that the user gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.operators.columns.arrow_types import arrow_type
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ticks_of(column: pa.Array) -> NDArray[np.int64]:
    """The ticks of a time column: microseconds, days or the number itself; MIN_TICK for NULL.

    MAX_TICK means "never" everywhere else, so a row that says it has no time either.

    Examples:
        >>> ticks_of(pa.array([5, None], pa.timestamp("us"))).tolist()
        [5, -9223372036854775808]
    """
    counts = column
    if pa.types.is_date(column.type):
        counts = column.view(pa.int32()).cast(pa.int64())
    elif column.type != pa.int64():
        counts = column.view(pa.int64())
    if counts.null_count:
        counts = counts.fill_null(MIN_TICK)
    ticks: NDArray[np.int64] = counts.to_numpy()
    if len(ticks) and ticks.max() == MAX_TICK:
        return np.where(ticks == MAX_TICK, MIN_TICK, ticks)
    return ticks


def instants(ticks: NDArray[np.int64], time_type: str) -> pa.Array:
    """The ticks as an Arrow array of the time type; the inverse of `ticks_of`.

    Examples:
        >>> instants(np.array([1]), "date").to_pylist()
        [datetime.date(1970, 1, 2)]
    """
    target = arrow_type(time_type)
    if pa.types.is_date(target):
        return pa.array(ticks.astype(np.int32)).view(target)
    return pa.array(ticks).view(target)


def show_instant(tick: int, time_type: str) -> str:
    """An instant as people read it; `-infinity` and `infinity` for the ends of time.

    Examples:
        >>> show_instant(1_500_000, "timestamp")
        '1970-01-01 00:00:01.5'
    """
    if tick <= MIN_TICK:
        return "-infinity"
    if tick >= MAX_TICK:
        return "infinity"
    if time_type == "bigint":
        return str(tick)
    if time_type == "date":
        return str(np.datetime64(tick, "D"))
    text = str(np.datetime64(tick, "us")).replace("T", " ")
    return text.rstrip("0").rstrip(".") if "." in text else text


def moved(times: NDArray[np.int64], ticks: int) -> NDArray[np.int64]:
    """The times so many ticks later, or earlier, as far as the first or last tick there is.

    MIN_TICK     MIN_TICK + 1 ............................ MAX_TICK - 1      MAX_TICK
    no time      the times that rows have                                    never

    Times only ever meet lengths here, in `less_delay` and, compiled, in `kernels/bew_period.py`: what
    would come to lie beyond the last tick is never, and no sum wraps around.

    Examples:
        >>> moved(np.array([5, MAX_TICK - 1]), 3).tolist() == [8, MAX_TICK]
        True
    """
    if ticks < 0:
        return np.maximum(times, MIN_TICK - ticks) + ticks
    return np.minimum(times, MAX_TICK - ticks) + ticks


def less_delay(watermark: int, delay: int) -> int:
    """The watermark that is `delay` ticks behind; the ends of time stay where they are."""
    if watermark in {MIN_TICK, MAX_TICK}:
        return watermark
    return max(watermark - delay, MIN_TICK)
