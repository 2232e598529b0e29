"""Instants and dates as texts of ISO 8601, and back: all that 64 and 32 bits hold.

Years that four digits do not hold have a sign, as Java's and Spark's texts have it:

    -0001-12-31 .. 0000-01-01 .. 9999-12-31 .. +10000-01-01

Arrow writes and reads the years between; the others, which are rare, go through Python one by one. The
calendar repeats after 400 years, so that such a date is read as the one of a year near 2000, and moved.

Digits below a microsecond are cut off, as Spark does. A zone is an offset from UTC; where an instant
has none, it is in UTC. TIMESTAMP_NTZ is what a clock on the wall shows, so that a zone is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_DAY_US = 86_400_000_000
_YEAR_0, _YEAR_10000 = -719_528, 2_932_897
"""The days since 1970 of the first four-digit year, and of the first that has five digits."""
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097

_OF_DAY = r"([T ]\d{2}(?::?\d{2}){0,2}(?:\.\d+)?)"
_ZONE = _OF_DAY + r"(?:Z|[+-]\d{2}(?::?\d{2})?)$"
_OFFSET = _OF_DAY.replace("(", "(?:", 1) + r"(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})?$"
_BELOW_MICROS = r"(\.\d{6})\d+"
_WIDE = re.compile(r"([+-][0-9]{4,7})(-[0-9]{2}-[0-9]{2}.*)", re.DOTALL)
_IS_WIDE = r"^[+-]\d{4,7}-"


def instant_texts(column: pa.Array) -> pa.Array:
    """Instants without their zone: with one, Arrow takes twenty times as long.

    Examples:
        >>> instant_texts(pa.array([0, 2**63 - 1], pa.timestamp("us"))).to_pylist()
        ['1970-01-01T00:00:00.000000', '+294247-01-10T04:00:54.775807']
    """
    micros = column.cast(pa.timestamp("us")).view(pa.int64())
    between = (_YEAR_0 * _DAY_US, _YEAR_10000 * _DAY_US)
    return _texts(micros, pa.timestamp("us"), between, _instant_text)


def date_texts(column: pa.Array) -> pa.Array:
    """Dates.

    Examples:
        >>> date_texts(pa.array([0, -719529], pa.date32())).to_pylist()
        ['1970-01-01', '-0001-12-31']
    """
    days = column.cast(pa.date32()).view(pa.int32())
    return _texts(days, pa.date32(), (_YEAR_0, _YEAR_10000), _date_text)


def instants_of(texts: pa.Array, kind: pa.TimestampType) -> pa.Array:
    """Texts as instants.

    Raises:
        ValueError: one is none.

    Examples:
        >>> instants_of(
        ...     pa.array(["2026-01-01T00:00:00.123456789+02:00"]), pa.timestamp("us")
        ... ).to_pylist()
        [datetime.datetime(2026, 1, 1, 0, 0, 0, 123456)]
    """
    try:
        return texts.cast(pa.timestamp("us")).cast(kind)
    except pa.ArrowInvalid:
        pass  # one has a zone, or more digits than usual
    is_wide = pc.fill_null(pc.match_substring_regex(texts, _IS_WIDE), False)
    wide = texts.filter(is_wide).to_pylist()
    near = pc.if_else(is_wide, pa.scalar(None, pa.string()), texts)
    local = pc.replace_substring_regex(near, _ZONE, r"\1")
    local = pc.replace_substring_regex(local, _BELOW_MICROS, r"\1")
    local = pc.replace_substring(local, "T", " ", max_replacements=1)
    micros = local.cast(pa.timestamp("us")).view(pa.int64())
    if kind.tz is not None:
        micros = pc.subtract_checked(micros, _offsets(near))
    if wide:
        found = pa.array([_moved(own, _micros_of(kind), _DAY_US, 63) for own in wide], pa.int64())
        micros = pc.replace_with_mask(micros, is_wide, found)
    return micros.view(kind)


def dates_of(texts: pa.Array) -> pa.Array:
    """Texts as dates.

    Raises:
        ValueError: one is none.
    """
    is_wide = pc.fill_null(pc.match_substring_regex(texts, _IS_WIDE), False)
    if not pc.any(is_wide).as_py():
        return texts.cast(pa.date32())
    near = pc.if_else(is_wide, pa.scalar(None, pa.string()), texts).cast(pa.date32())
    wide = texts.filter(is_wide).to_pylist()
    found = pa.array([_moved(own, _days_of, 1, 31) for own in wide], pa.int32())
    return pc.replace_with_mask(near, is_wide, found.view(pa.date32()))


def micros_of_nanos(nanos: pa.Array) -> pa.Array:
    """Microseconds: what is below them is cut off, as Spark does."""
    micros = np.floor_divide(nanos.fill_null(0).to_numpy(), 1000)
    return pa.array(micros, mask=nanos.is_null().to_numpy(zero_copy_only=False))


def _texts(
    numbers: pa.Array,
    kind: pa.DataType,
    between: tuple[int, int],
    text_of: Callable[[int], str],
) -> pa.Array:
    """Arrow's texts where years have four digits, and others by `text_of`."""
    is_near = pc.and_(
        pc.greater_equal(numbers, pa.scalar(between[0], numbers.type)),
        pc.less(numbers, pa.scalar(between[1], numbers.type)),
    )
    if pc.all(is_near, min_count=0).as_py():
        return _arrow_texts(numbers.view(kind))
    is_wide = pc.fill_null(pc.invert(is_near), False)
    wide = [text_of(own) for own in numbers.filter(is_wide).to_pylist()]
    near = pc.if_else(is_wide, pa.scalar(0, numbers.type), numbers)
    return pc.replace_with_mask(_arrow_texts(near.view(kind)), is_wide, pa.array(wide, pa.string()))


def _arrow_texts(column: pa.Array) -> pa.Array:
    return pc.replace_substring(column.cast(pa.string()), " ", "T", max_replacements=1)


def _instant_text(micros: int) -> str:
    days, rest = divmod(micros, _DAY_US)
    of_day = np.datetime_as_string(np.datetime64(rest, "us"), unit="us").partition("T")[2]
    return f"{_date_text(days)}T{of_day}"


def _date_text(days: int) -> str:
    cycles, left = divmod(days, _CYCLE_DAYS)
    near, _, rest = str(np.datetime64(left, "D")).partition("-")
    year = int(near) + cycles * _CYCLE_YEARS
    return f"{'-' if year < 0 else '+'}{abs(year):04}-{rest}"


def _moved(text: str, count_of: Callable[[str], int], of_day: int, bits: int) -> int:
    """The count of a date with a year of any length, by that of the year of its cycle near 2000."""
    match = _WIDE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a date")
    year = int(match[1])
    near = 2000 + year % _CYCLE_YEARS
    cycles = (year - near) // _CYCLE_YEARS
    try:
        count = count_of(f"{near}{match[2]}") + cycles * _CYCLE_DAYS * of_day
    except pa.ArrowInvalid as error:
        raise ValueError(f"{text!r} is not a date") from error
    if not -(1 << bits) <= count < 1 << bits:
        raise ValueError(f"{text!r} is further from 1970 than can be counted")
    return count


def _micros_of(kind: pa.TimestampType) -> Callable[[str], int]:
    return lambda text: int(instants_of(pa.array([text]), kind).view(pa.int64())[0].as_py())


def _days_of(text: str) -> int:
    return int(pa.array([text]).cast(pa.date32()).view(pa.int32())[0].as_py())


def _offsets(texts: pa.Array) -> pa.Array:
    """How far, in microseconds, the zones of instants are ahead of UTC."""
    parts = pc.extract_regex(texts, _OFFSET)
    if parts.null_count == len(parts):
        return pa.array(np.zeros(len(parts), np.int64))
    sign = pc.equal(_filled(parts, "sign"), "-").to_numpy(zero_copy_only=False)
    hours, minutes = _number(parts, "hours"), _number(parts, "minutes")
    if hours.max() > 23 or minutes.max() > 59:  # of a day, of an hour
        raise ValueError("a zone is less than a day ahead of UTC")
    return pa.array(np.where(sign, -1, 1) * (hours * 60 + minutes) * 60_000_000)


def _filled(parts: pa.StructArray, name: str) -> pa.Array:
    text = pc.fill_null(pc.struct_field(parts, name), "")
    return pc.if_else(pc.equal(text, ""), "0", text)


def _number(parts: pa.StructArray, name: str) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = _filled(parts, name).cast(pa.int64()).to_numpy()
    return numbers
