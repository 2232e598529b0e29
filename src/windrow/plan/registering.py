"""What a stream is registered as: its columns, its time and its promise, checked."""

from __future__ import annotations

from dataclasses import replace

from windrow.errors import BindError, UnknownColumn, nearest
from windrow.plan.catalog import StreamInfo
from windrow.plan.promises import NOTHING_SAID, Said, promising
from windrow.plan.stream_hints import NO_HINTS, Hints, hinted
from windrow.schema import ARRIVAL_TYPE, TIME_TYPES, Field, OnArrival, Schema


def stream_info(
    name: str,
    schema: Schema,
    time: str | OnArrival | None,
    said: Said = NOTHING_SAID,
    *,
    is_streaming: bool = False,
    is_bounded: bool = False,
    hints: Hints = NO_HINTS,
) -> StreamInfo:
    """A stream for the catalog.

    Args:
        name: what queries call it.
        schema: the columns of its data.
        time: the event-time column, or that time is given on arrival; None for no time.
        said: what it promises of its disorder, as the user gave it.
        is_streaming: whether it is endless.
        is_bounded: whether all of it is there when a query begins.
        hints: its rate and the different values of its columns, as the user gave them.

    Raises:
        BindError: the time column, a promise or a hint cannot be used.
    """
    is_on_arrival = isinstance(time, OnArrival)
    if isinstance(time, OnArrival):
        schema, time = _with_arrival(name, schema, time.column), time.column
    info = StreamInfo(
        name,
        schema,
        _time_column(name, schema, time),
        is_streaming=is_streaming,
        is_bounded=is_bounded,
        is_on_arrival=is_on_arrival,
    )
    return replace(promising(info, said), statistics=hinted(info, hints))


def _with_arrival(name: str, schema: Schema, column: str) -> Schema:
    """The columns with that of the arrival, which the data must not have."""
    if schema.find(column) is not None:
        raise BindError(
            "duplicate-column",
            f"{name} has a column {column!r}, the name of the time of arrival",
            hint="call it otherwise: time=windrow.ON_ARRIVAL.named('arrived_at')",
        )
    return Schema((*schema.fields, Field(column, ARRIVAL_TYPE)))


def _time_column(name: str, schema: Schema, time: str | None) -> str | None:
    """The time column as the data spells it, checked."""
    if time is None:
        return None
    found = schema.find(time)
    if found is None:
        raise UnknownColumn(
            "unknown-time-column",
            f"the stream {name} has no column {time!r} to take its time from",
            hint=f"one of {nearest(time, schema.names)}",
        )
    if found.type not in TIME_TYPES:
        raise BindError(
            "bad-time-type",
            f"the time column {found.name!r} of the stream {name} is {found.type}",
            reason="event time is TIMESTAMP, TIMESTAMP_NTZ, DATE or BIGINT",
            hint="cast the column before you register the stream",
        )
    return found.name


def of_changes(info: StreamInfo, column: str | None) -> StreamInfo:
    """The stream, of changes where a column says how its rows change.

    Raises:
        BindError: the column cannot be used.
    """
    return info if column is None else replace(info, changes=_changes_column(info, column))


def _changes_column(info: StreamInfo, changes: str) -> str:
    """The column of changes as the data spells it, checked."""
    name, schema, time = info.name, info.schema, info.time
    found = schema.find(changes)
    if found is None:
        raise UnknownColumn(
            "unknown-changes-column",
            f"the stream {name} has no column {changes!r} that says how its rows change",
            hint=f"one of {nearest(changes, schema.names)}",
        )
    if found.type != "string":
        raise BindError(
            "bad-changes-type",
            f"the column {found.name!r}, which says how the rows of {name} change, is {found.type}",
            reason="it must be a STRING: insert, delete, update_preimage or update_postimage",
            hint="compute such a column before you register the stream",
        )
    if time is None:
        raise BindError(
            "changes-without-time",
            f"the stream {name} has changes but no time column",
            reason="when a row comes and goes is told by event time",
            hint="name its event-time column with time=...",
        )
    if {f.name.lower() for f in schema.fields} <= {found.name.lower(), time.lower()}:
        raise BindError(
            "changes-without-columns",
            f"the stream {name} has no column beside its time and {found.name!r}",
            reason="a delete takes back a row that equals it in all other columns",
            hint="add the columns that tell its rows apart",
        )
    return found.name
