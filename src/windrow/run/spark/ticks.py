"""Event time on Spark: SQL for ticks, and Spark's watermark to ticks and back.

Ticks are 64-bit numbers (microseconds, days, or the BIGINT itself). Spark keeps one watermark per
query, in milliseconds since 1970, and 0 means "none yet". So each stream's watermark column is its
event time moved far enough up that every time is positive:

    year   1           1970         2020                    4020
    ---|---|------------|------------|-----------------------|------> Spark's milliseconds
       0                             event time   + 2000 years = what Spark is told

2000 years are five whole calendar cycles: month, day, weekday and hour stay what they were, so
that the times in Spark's own progress are still readable. A BIGINT tick is told as a millisecond.
"""

from __future__ import annotations

from windrow.errors import DataError
from windrow.schema import MAX_TICK, MIN_TICK, TICKS_PER_SECOND

SHIFT_DAYS = 730_485
"""Days in 2000 Gregorian years."""

BIGINT_REACH = 2**52
"""BIGINT event times lie between minus and plus this, when streaming: Spark's timestamps hold no
more milliseconds."""

_DAY_US = 86_400_000_000
_DAY_MS = 86_400_000
_SHIFT_MS = {
    "timestamp": SHIFT_DAYS * _DAY_MS,
    "timestamp_ntz": SHIFT_DAYS * _DAY_MS,
    "date": SHIFT_DAYS * _DAY_MS,
    "bigint": BIGINT_REACH,
}
_EPOCH_NTZ = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


def ticks_sql(column: str, time_type: str) -> str:
    """Ticks of a time column (quoted), whatever the session's time zone.

    MIN_TICK for NULL, and for the BIGINT that means "never" everywhere else.
    """
    ticks = {
        "timestamp": f"unix_micros({column})",
        # Without a time zone there is no epoch function: days, and what the clock shows.
        "timestamp_ntz": (
            f"(unix_date(CAST({column} AS DATE)) * {_DAY_US}L"
            f" + (hour({column}) * 60L + minute({column})) * 60000000L"
            f" + CAST(extract(SECOND FROM {column}) * 1000000 AS BIGINT))"
        ),
        "date": f"CAST(unix_date({column}) AS BIGINT)",
        "bigint": f"nullif({column}, {MAX_TICK}L)",
    }[time_type]
    return f"coalesce({ticks}, {MIN_TICK})"


def time_sql(ticks: str, time_type: str) -> str:
    """The inverse of `ticks_sql`: a value of the time type."""
    return {
        "timestamp": f"timestamp_micros({ticks})",
        "timestamp_ntz": (
            f"{_EPOCH_NTZ} + make_dt_interval(0, 0, 0, CAST({ticks} AS DECIMAL(20, 0)) / 1000000)"
        ),
        "date": f"date_from_unix_date(CAST({ticks} AS INT))",
        "bigint": ticks,
    }[time_type]


def watermark_sql(ticks: str, time_type: str, stream: str) -> str:
    """The timestamp that Spark's watermark follows; NULL times leave it where it is."""
    if time_type == "bigint":
        moved = f"timestamp_millis({ticks} + {BIGINT_REACH}L)"
        refusal = f"raise_error({_text(str(_out_of_reach(stream)))})"
        moved = (
            f"IF({ticks} BETWEEN -{BIGINT_REACH - 1}L AND {BIGINT_REACH - 1}L, {moved}, {refusal})"
        )
    elif time_type == "date":
        moved = f"timestamp_micros(({ticks} + {SHIFT_DAYS}L) * {_DAY_US}L)"
    else:
        moved = f"timestamp_micros({ticks} + {SHIFT_DAYS * _DAY_US}L)"
    return f"CASE WHEN {ticks} > {MIN_TICK} THEN {moved} END"


def told_micros(ticks: int, time_type: str, stream: str) -> int | None:
    """What `watermark_sql` tells of a time, in microseconds; None for none.

    Raises:
        DataError: Spark's timestamps do not reach that far.
    """
    if ticks == MIN_TICK:
        return None
    if time_type == "bigint":
        if not -BIGINT_REACH < ticks < BIGINT_REACH:
            raise _out_of_reach(stream)
        return (ticks + BIGINT_REACH) * 1000
    moved = (ticks + SHIFT_DAYS) * _DAY_US if time_type == "date" else ticks + SHIFT_DAYS * _DAY_US
    if moved > MAX_TICK:
        raise DataError(
            "time-out-of-reach",
            f"an event time of {stream} is beyond what Spark's timestamps hold",
            reason="while streaming, Spark gets times 2000 years later, so that all are positive",
            hint="filter such rows out where the stream is read",
        )
    return moved


def whole_lateness(lateness: int, time_type: str) -> int:
    """A lateness in ticks, rounded up to Spark's milliseconds."""
    return -(-lateness // 1000) * 1000 if time_type in TICKS_PER_SECOND else lateness


def lateness_text(lateness: int, time_type: str) -> str:
    """A lateness in ticks as `withWatermark` reads it."""
    if time_type in TICKS_PER_SECOND:
        return f"{whole_lateness(lateness, time_type) // 1000} milliseconds"
    return f"{lateness * (_DAY_MS if time_type == 'date' else 1)} milliseconds"


def promised_ticks(newest: int, lateness: int, time_type: str) -> int:
    """The watermark, in ticks, that Spark makes of a stream's newest time."""
    if newest == MIN_TICK:
        return MIN_TICK
    if time_type in TICKS_PER_SECOND:
        return (newest // 1000 + -lateness // 1000) * 1000
    return newest - lateness


def watermark_ticks(millis: int, time_type: str) -> int:
    """Spark's watermark as ticks, rounded down: a time may close late, never early."""
    if millis <= 0:
        return MIN_TICK
    original = millis - _SHIFT_MS[time_type]
    if time_type == "date":
        return original // _DAY_MS
    return original if time_type == "bigint" else original * 1000


def _out_of_reach(stream: str) -> DataError:
    return DataError(
        "time-out-of-reach",
        f"an event time of {stream} is beyond 2^52",
        reason="while streaming, Spark takes a BIGINT event time as milliseconds",
        hint="divide the time column by a power of ten, or make it a TIMESTAMP",
    )


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"
