"""Lengths of time and amounts of memory: from users' texts to numbers, and back for EXPLAIN."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from windrow.errors import BindError, PlanError
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
_WHOLE = (("d", "day"), ("h", "hour"), ("m", "minute"))
_PARTS = (("s", "second"), ("ms", "millisecond"), ("us", "microsecond"))


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
                f"{unit!r} in {written} is not a unit of time",
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
            f"{value!r} is not a length of time",
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
            f"{value!r} is not a length of time",
            hint="for instance '5 seconds' or '1 hour 30 minutes'",
        )
    return parts_to_ticks(parts, time_type, repr(value))


def show_ticks(ticks: int, time_type: str) -> str:
    """Ticks as people read them: `1h 30m`, `7.5s`, `250ms`, `3d`, or the number itself for BIGINT.

    Examples:
        >>> show_ticks(75_500_000, "timestamp"), show_ticks(312_500, "timestamp")
        ('1m 15.5s', '312.5ms')
    """
    if time_type not in TICKS_PER_DAY:
        return str(ticks)
    if ticks < 0:
        return "-" + show_ticks(-ticks, time_type)
    micros = ticks * MICROSECONDS["day"] // TICKS_PER_DAY[time_type]
    if micros == 0:
        return "0d" if time_type == "date" else "0s"
    shown = []
    for short, unit in _WHOLE:
        count, micros = divmod(micros, MICROSECONDS[unit])
        if count:
            shown.append(f"{count}{short}")
    if micros:  # less than a minute, in one unit
        fits = (one for one in _PARTS if micros >= MICROSECONDS[one[1]])
        short, unit = next(fits)
        shown.append(f"{(Decimal(micros) / MICROSECONDS[unit]).normalize():f}{short}")
    return " ".join(shown)


_UNITS = {
    "": 1, "b": 1,
    "kb": 1_000, "mb": 1_000**2, "gb": 1_000**3, "tb": 1_000**4,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip
_EXAMPLES = "for instance '512 MB', '2 GiB', '5000 tuples', or a number of bytes"
_TUPLES = re.compile(r"\s*([0-9][0-9_,]{0,25})\s*tuples?\s*", re.IGNORECASE)
_SIZE = re.compile(r"\s*([0-9]{1,40}(?:\.[0-9]{1,40})?)\s*([a-z]*)\s*", re.IGNORECASE)

MOST_BYTES = 2**63 - 1
"""What the counters of operators, and Spark's, can hold."""


@dataclass(frozen=True)
class Amount:
    """How much memory: so many bytes, or so many tuples of whatever size."""

    count: int
    is_tuples: bool = False

    def __str__(self) -> str:
        return f"{self.count:,} tuples" if self.is_tuples else show_bytes(self.count)


def to_amount(size: str | int) -> Amount:
    """An amount of memory: '5000 tuples', or what `to_bytes` reads.

    Raises:
        PlanError: it is no amount of memory.

    Examples:
        >>> str(to_amount("5000 tuples")), str(to_amount(1_000))
        ('5,000 tuples', '1.0 kB')
    """
    found = _TUPLES.fullmatch(size) if isinstance(size, str) else None
    count = int(re.sub("[_,]", "", found[1])) if found else 0
    if 1 <= count <= MOST_BYTES:
        return Amount(count, is_tuples=True)
    return Amount(to_bytes(size))


def to_bytes(size: str | int) -> int:
    """A size in bytes: '512 MB', '1.5 GiB', or a number of bytes.

    Raises:
        PlanError: it is no size, no whole number of bytes, less than a byte, or beyond counting.

    Examples:
        >>> to_bytes("1.5 GiB")
        1610612736
    """
    count = Fraction(size) if type(size) is int else _read(size)
    if count is None or count < 1:
        raise _not_memory(size, "an amount of memory")
    if count > MOST_BYTES:
        raise PlanError(
            "bad-option",
            "the memory is more than 2**63 - 1 bytes, which no machine has",
            hint=f"{_EXAMPLES}; without a limit, leave it out",
        )
    if count.denominator != 1:
        raise _not_memory(size, "a whole number of bytes")
    return int(count)


def _not_memory(size: object, what: str) -> PlanError:
    return PlanError("bad-option", f"memory = {size!r} is not {what}", hint=_EXAMPLES)


def _read(size: object) -> Fraction | None:
    """The bytes that a text says; None for what says none."""
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    unit = _UNITS.get(found[2].lower()) if found else None
    return Fraction(found[1]) * unit if found and unit else None


def show_bytes(count: int) -> str:
    """A number of bytes as people read it.

    Examples:
        >>> show_bytes(3_500_000)
        '3.5 MB'
    """
    if count < 1_000:
        return f"{count} B"
    size = float(count)
    for unit in ("kB", "MB", "GB"):
        size /= 1_000
        if size < 1_000:
            return f"{size:.1f} {unit}"
    return f"{size / 1_000:.1f} TB"
