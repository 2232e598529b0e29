"""What a user tells of a stream's numbers, read and checked: its rate, and its different keys."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from windrow.errors import BindError, UnknownColumn, nearest
from windrow.plan.catalog import StreamInfo
from windrow.plan.durations import MICROSECONDS
from windrow.plan.statistics import HINT, NOTHING_KNOWN, Figure, Statistics
from windrow.schema import TICKS_PER_DAY

_RATE = re.compile(r"\s*([\d_,]*\.?\d+(?:e\d+)?)\s*(?:per|/)\s*([a-z]+)\s*", re.IGNORECASE)
_SHORT = {"us": "microsecond", "ms": "millisecond", "s": "second", "m": "minute", "min": "minute",
          "h": "hour", "d": "day"}  # fmt: skip
USUAL_UNIT = {"timestamp": "second", "timestamp_ntz": "second", "date": "day", "bigint": "tick"}
"""What a rate without a unit is counted by, and what EXPLAIN shows rates by."""
_LEAST_RATE, _MOST_RATE = 1e-30, 1e15
"""Tuples per tick; so that no cost, a product of rates and windows, leaves the range of doubles."""
_MOST_DIFFERENT = 2**64
_MOST_SHOWN = 40


@dataclass(frozen=True)
class Hints:
    """Hints as given: a rate, and the number of different values by column."""

    rate: str | float | None = None
    distinct: Mapping[str, float] = field(default_factory=dict)


NO_HINTS = Hints()


def ticks_per_unit(unit: str, time_type: str) -> float | None:
    """How many ticks a unit of time has; None where event time does not know the unit."""
    if unit == "tick":
        return 1.0
    if time_type not in TICKS_PER_DAY or unit not in MICROSECONDS:
        return None
    return TICKS_PER_DAY[time_type] * MICROSECONDS[unit] / MICROSECONDS["day"]


def hinted(info: StreamInfo, hints: Hints) -> Statistics:
    """The statistics that hints give.

    Raises:
        BindError: the rate is no rate of this stream, or a number of values is none.
        UnknownColumn: values are counted of a column that the stream lacks.
    """
    if hints.rate is None and not hints.distinct:
        return NOTHING_KNOWN
    rate = None if hints.rate is None else Figure(_rate(info, hints.rate), HINT)
    return Statistics(rate, tuple(_different(info, *item) for item in hints.distinct.items()))


def _rate(info: StreamInfo, given: str | float) -> float:
    """The rate in tuples per tick."""
    if info.time is None:
        raise _bad_rate(info, given, "it has no time column that a rate could be counted by")
    if isinstance(given, str):
        parts = rate_parts(given)
        if parts is None:
            raise _bad_rate(info, given, "it is not a number of tuples per unit of time")
        number, unit = parts
    else:
        number, unit = _as_float(given), USUAL_UNIT[info.time_type]
    ticks = ticks_per_unit(unit, info.time_type)
    if ticks is None:
        raise _bad_rate(info, given, f"its time is {info.time_type}, which has no {unit}")
    rate = number / ticks
    if math.isnan(rate) or rate <= 0:
        raise _bad_rate(info, given, "tuples come, so that it is more than 0")
    if not _LEAST_RATE <= rate <= _MOST_RATE:
        raise _bad_rate(
            info,
            given,
            f"it is not between {_LEAST_RATE:g} and {_MOST_RATE:g} per tick of its time",
        )
    return rate


def _as_float(number: float) -> float:
    """A number as a double; a whole number beyond all doubles is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def rate_parts(given: str) -> tuple[float, str] | None:
    """The number and the unit in `1000 per second`; None for what is no rate."""
    found = _RATE.fullmatch(given)
    if found is None:
        return None
    unit = found[2].lower()
    return float(re.sub("[_,]", "", found[1])), _SHORT.get(unit, unit.removesuffix("s"))


def _bad_rate(info: StreamInfo, given: object, reason: str) -> BindError:
    unit = USUAL_UNIT.get(info.time_type, "second")
    return BindError(
        "bad-rate",
        f"the rate {_shown(given)} of the stream {info.name} cannot be used",
        reason=reason,
        hint=f"for instance  rate='1000 per {unit}', or a number per {unit}",
    )


def _shown(given: object) -> str:
    """What was given; of a number of hundreds of digits the first ones."""
    text = repr(given)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _different(info: StreamInfo, column: str, number: float) -> tuple[str, Figure]:
    found = info.schema.find(column)
    if found is None:
        raise UnknownColumn(
            "unknown-column-of-distinct",
            f"the stream {info.name} has no column {column!r} whose values could be counted",
            hint=f"one of {nearest(column, info.schema.names)}",
        )
    if not 1 <= number <= _MOST_DIFFERENT:
        raise BindError(
            "bad-distinct",
            f"distinct = {_shown(number)} is no number of different values of {info.name}.{column}",
            hint=f"from 1 to 2**64, for instance  distinct={{{column!r}: 10000}}",
        )
    return found.name, Figure(float(number), HINT)
