"""What makes rows a changelog, and an instant of it in ticks: the same for every runner."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from numbers import Integral
from typing import TypeAlias

from windrow.errors import BindError, DataError, nearest
from windrow.schema import CHANGE_TYPE, EVENT_TIME, MAX_TICK, MIN_TICK, TIME_TYPES, Schema

Instant: TypeAlias = datetime | date | int

SIGNS = {"insert": 1, "delete": -1, "update_preimage": -1, "update_postimage": 1}
"""What each `_change_type` adds to the copies of a row."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_EXAMPLES = {
    "timestamp": "a datetime with its time zone, datetime(2026, 5, 1, 10, 30, tzinfo=UTC)",
    "timestamp_ntz": "a datetime without a time zone, datetime(2026, 5, 1, 10, 30)",
    "date": "a date, date(2026, 5, 1)",
    "bigint": "a whole number, 1030",
}


def check_changelog(schema: Schema) -> str:
    """The type of a changelog's instants.

    Raises:
        BindError: the columns are not those of a changelog.
    """
    types = {field.name: field.type for field in schema.fields}
    for name, wanted in ((CHANGE_TYPE, ("string",)), (EVENT_TIME, TIME_TYPES)):
        if name not in types:
            raise BindError(
                "not-a-changelog",
                f"the rows have no column {name}",
                reason="only a changelog tells what is true at an instant",
                hint="give what an aggregate, or a query with EMIT CHANGES, answered; there are"
                f" {nearest(name, types)}",
            )
        if types[name] not in wanted:
            raise BindError(
                "not-a-changelog",
                f"the column {name} is {types[name]}",
                reason=f"in a changelog it is {' or '.join(wanted)}",
                hint="give the changelog as it was answered, or cast the column back",
            )
    if len(types) == 2:
        raise BindError(
            "not-a-changelog",
            f"the rows have no columns besides {CHANGE_TYPE} and {EVENT_TIME}",
            hint="keep the columns of the answer",
        )
    return types[EVENT_TIME]


def instant_ticks(instant: Instant, time_type: str) -> int:
    """An instant in ticks.

    Raises:
        BindError: it is of another type than the changelog's instants.

    Examples:
        >>> instant_ticks(date(1970, 1, 3), "date")
        2
    """
    is_moment = isinstance(instant, datetime)
    if time_type == "bigint" and isinstance(instant, Integral) and not isinstance(instant, bool):
        return min(max(int(instant), MIN_TICK + 1), MAX_TICK)
    if time_type == "date" and isinstance(instant, date) and not is_moment:
        return (instant - _EPOCH.date()).days
    if isinstance(instant, datetime):
        zone = instant.tzinfo
        if time_type == "timestamp" and zone is not None:
            return (instant - _EPOCH) // _TICK
        if time_type == "timestamp_ntz" and zone is None:
            return (instant - _EPOCH.replace(tzinfo=None)) // _TICK
    raise BindError(
        "instant-type",
        f"the instant {instant!r} is not a {time_type.upper()}, which {EVENT_TIME} is",
        hint=f"give {_EXAMPLES[time_type]}",
    )


def unknown_change(kind: object, column: str = CHANGE_TYPE) -> DataError:
    """The error of a change that is none that we know."""
    return DataError(
        "unknown-change",
        f"{column} is {kind!r}",
        hint=f"a change is one of {', '.join(SIGNS)}",
    )


def more_deletes() -> DataError:
    """The error of a changelog in which a row goes that never came."""
    return DataError(
        "delete-without-insert",
        "more copies of a row have gone than came",
        reason="the changelog is not whole: each delete follows the insert of an equal row",
        hint="give all changes from the first one on",
    )
