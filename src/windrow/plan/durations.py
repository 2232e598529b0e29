"""Lengths of time: from what users write to ticks, and back for EXPLAIN."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from windrow.errors import BindError
from windrow.schema import TICKS_PER_DAY

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
CALENDAR_UNITS = {"month", "quarter", "year", "decade", "century"}

_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)
_SHOWN = (("d", "day"), ("h", "hour"), ("m", "minute"), ("s", "second"), ("ms", "millisecond"))


def parts_to_ticks(parts: list[tuple[str, str]], time_type: str, written: str) -> int:
    """The ticks of a sum of (number, unit) parts; `written` is how the user wrote it."""
    total = Fraction(0)
    for number, unit in parts:
        name = unit.lower().rstrip("s") if unit.lower() != "s" else "s"
        if name in CALENDAR_UNITS:
            raise BindError(
                "calendar-window",
                f"the window {written} has no fixed length",
                reason="months and years differ in length",
                hint="write it in days, for instance INTERVAL '30' DAYS",
            )
        if name not in MICROSECONDS:
            raise BindError(
                "unknown-unit",
                f"{unit!r} in {written} is no unit of time",
                hint=f"one of {', '.join(MICROSECONDS)}",
            )
        total += Fraction(number) * MICROSECONDS[name]
    if time_type not in TICKS_PER_DAY:
        raise BindError(
            "interval-on-bigint",
            f"the window {written} is an interval, but the time column counts BIGINT ticks",
            hint="write the window as a whole number, in the unit of the time column",
        )
    return whole_ticks(total * TICKS_PER_DAY[time_type] / MICROSECONDS["day"], written)


def whole_ticks(ticks: Fraction, written: str) -> int:
    """The ticks as an integer, refused when negative or not whole."""
    if ticks < 0:
        raise BindError(
            "negative-window",
            f"the window {written} is negative",
            reason="a window reaches from 0 ticks upwards; zero is legal",
            hint="state the direction with DWINDOW (first, then) or BETWEEN .. PRECEDING AND ..",
        )
    if ticks.denominator != 1:
        raise BindError(
            "fractional-window",
            f"the window {written} is not a whole number of ticks",
            reason="a tick is 1 microsecond for timestamps, 1 day for DATE, 1 for BIGINT",
            hint="round it to whole ticks",
        )
    return int(ticks)


def to_ticks(value: str | int | timedelta, time_type: str) -> int:
    """Ticks of a length given in Python: '5 seconds', a timedelta, or a number of ticks."""
    if isinstance(value, bool) or not isinstance(value, str | int | timedelta):
        raise BindError(
            "bad-duration",
            f"{value!r} is no length of time",
            hint="give a text such as '5 seconds', a timedelta, or a whole number of ticks",
        )
    if isinstance(value, int):
        return whole_ticks(Fraction(value), str(value))
    if isinstance(value, timedelta):
        micros = value // timedelta(microseconds=1)
        return parts_to_ticks([(str(micros), "microseconds")], time_type, str(value))
    parts = [(match[1], match[2]) for match in _PART.finditer(value)]
    if not parts or _PART.sub("", value).strip():
        raise BindError(
            "bad-duration",
            f"{value!r} is no length of time",
            hint="for instance '5 seconds' or '1 hour 30 minutes'",
        )
    return parts_to_ticks(parts, time_type, repr(value))


def show_ticks(ticks: int, time_type: str) -> str:
    """Ticks as people read them: `1h 30m`, `250ms`, `3d`, or the number itself for BIGINT."""
    if time_type not in TICKS_PER_DAY:
        return str(ticks)
    if ticks < 0:
        return "-" + show_ticks(-ticks, time_type)
    micros = ticks * MICROSECONDS["day"] // TICKS_PER_DAY[time_type]
    if micros == 0:
        return "0d" if time_type == "date" else "0s"
    shown = []
    for short, unit in _SHOWN:
        count, micros = divmod(micros, MICROSECONDS[unit])
        if count:
            shown.append(f"{count}{short}")
    if micros:
        shown.append(f"{micros}us")
    return " ".join(shown)
