"""Streams and tables as registered, without data: columns, times, promises and hints, checked.

A promise is about disorder, and says how far the stream is known to be complete:

    lateness L       once a row at m was delivered, none below m - L follows
    read-ahead c     after c rows in a row beyond T, none at or before T follows
    punctuations     after a row that says so, none at or before its time follows

    rows, as they come     12  15  11  14  16  13  17           L = 4: complete below 17 - 4 = 13
                                         [        ]      c = 3: below min(16, 13, 17) = 13
                                       ! 11                     a punctuation: below 11 + 1 = 12

A stream may promise several of them; it is complete as far as the furthest one reaches. One that
promises nothing else promises to come in the order of time, which is a lateness of 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from windrow.errors import BindError, UnknownColumn, nearest
from windrow.plan.statistics import HINT, NOTHING_KNOWN, Figure, Statistics
from windrow.plan.units import MICROSECONDS, to_ticks
from windrow.schema import ARRIVAL_TYPE, TICKS_PER_DAY, TIME_TYPES, Field, OnArrival, Schema


@dataclass(frozen=True)
class StreamInfo:
    """A stream as the planner sees it.

    Attributes:
        name: the name it was registered under.
        schema: its columns.
        time: the event-time column, or None where none was given.
        lateness: its promise of bounded disorder, in ticks; None where it makes none.
        read_ahead: how many rows in a row beyond an instant promise that it is complete; or None.
        punctuation: the column that says which rows are no data, but promises; or None.
        is_streaming: whether it is endless (a streaming DataFrame).
        is_bounded: whether all of it is there when a query begins: nobody waits for its first answers.
        is_table: whether it is a relation that does not move.
        is_on_arrival: whether its time is given as its rows arrive.
        changes: the column that says whether a row comes or goes; None where all come.
        statistics: what the user has said of its numbers.
    """

    name: str
    schema: Schema
    time: str | None
    lateness: int | None = 0
    is_streaming: bool = False
    is_bounded: bool = False
    is_table: bool = False
    is_on_arrival: bool = False
    changes: str | None = None
    read_ahead: int | None = None
    punctuation: str | None = None
    statistics: Statistics = field(default=NOTHING_KNOWN, compare=False)

    @property
    def time_type(self) -> str:
        """The Spark type of the time column ("" where there is none)."""
        field = self.schema.find(self.time) if self.time else None
        return field.type if field else ""

    @property
    def rows(self) -> Schema:
        """The columns of its rows, as queries see them: what says what a row is, is no part."""
        about_rows = {self.changes, self.punctuation}
        return Schema(tuple(f for f in self.schema.fields if f.name not in about_rows))


Catalog = Mapping[str, StreamInfo]


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
        raise _bad_rate(info, given, "a rate is more than 0")
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


def _column(schema: Schema, name: str, missing: UnknownColumn) -> Field:
    """The column that the user names, as the data has it; the error where there is none names others."""
    found = schema.find(name)
    if found is None:
        missing.hint = f"one of {nearest(name, schema.names)}"
        raise missing
    return found


def _different(info: StreamInfo, column: str, number: float) -> tuple[str, Figure]:
    lacks = f"the stream {info.name} has no column {column!r} whose values could be counted"
    found = _column(info.schema, column, UnknownColumn("unknown-column-of-distinct", lacks))
    if not 1 <= number <= _MOST_DIFFERENT:
        raise BindError(
            "bad-distinct",
            f"distinct = {_shown(number)} is not a number of different values of {info.name}.{column}",
            hint=f"from 1 to 2**64, for instance  distinct={{{column!r}: 10000}}",
        )
    return found.name, Figure(float(number), HINT)


Lateness = str | int | timedelta


@dataclass(frozen=True)
class Promises:
    """The promises as the user gave them; None for those that were not given."""

    lateness: Lateness | None = None
    read_ahead: int | None = None
    punctuation: str | None = None

    @property
    def is_about_time(self) -> bool:
        """Whether anything was promised that needs a time column."""
        return self.lateness not in (None, 0) or self.is_more_than_lateness

    @property
    def is_more_than_lateness(self) -> bool:
        """Whether there is a promise by read-ahead or by punctuations."""
        return self.read_ahead is not None or self.punctuation is not None


NOTHING_SAID = Promises()


def promising(info: StreamInfo, said: Promises) -> StreamInfo:
    """The stream with its promises, checked.

    Raises:
        BindError: a promise cannot be used.
    """
    if said.is_about_time and info.time is None:
        raise BindError(
            "bad-lateness",
            f"the stream {info.name} has {_first_of(said)} but no time column",
            hint="name its event-time column with time=...",
        )
    if said.is_about_time and info.is_on_arrival:
        raise BindError(
            "bad-lateness",
            f"the stream {info.name} has {_first_of(said)}, though its time is given on arrival",
            reason="the time of arrival never goes back: nothing is late",
            hint=f"leave {_first_of(said).replace('a ', 'the ', 1)} out, or name an event-time column"
            " with time=...",
        )
    return replace(
        info,
        lateness=_lateness(info, said),
        read_ahead=_read_ahead(info, said.read_ahead),
        punctuation=_punctuation(info, said.punctuation),
    )


def _first_of(said: Promises) -> str:
    if said.lateness not in (None, 0):
        return "a lateness"
    return "a read-ahead" if said.read_ahead is not None else "a column of punctuations"


def _lateness(info: StreamInfo, said: Promises) -> int | None:
    """The lateness in ticks; None where it is not promised."""
    if said.lateness is None:
        return None if said.is_more_than_lateness else 0
    if info.time is None:
        return 0
    try:
        return to_ticks(said.lateness, info.time_type)
    except BindError as error:
        raise BindError(
            "bad-lateness",
            f"the lateness {said.lateness!r} of the stream {info.name} cannot be used",
            reason=error.sentence.replace("the window", "the lateness"),
            hint="a whole number of ticks of 0 or more"
            if info.time_type == "bigint"
            else "for instance '5 seconds', timedelta(seconds=5), or a whole number of ticks",
        ) from error


def _read_ahead(info: StreamInfo, rows: int | None) -> int | None:
    if rows is None or rows >= 1:
        return rows
    raise BindError(
        "bad-read-ahead",
        f"the read-ahead of the stream {info.name} is {rows}",
        reason="after this many consecutive rows beyond an instant, none at or before it follows",
        hint="1 or more; with 1 the stream comes in the order of time",
    )


def _punctuation(info: StreamInfo, column: str | None) -> str | None:
    """The column of punctuations as the data spells it, checked."""
    if column is None:
        return None
    lacks = f"the stream {info.name} has no column {column!r} that says which rows are punctuations"
    found = _column(info.schema, column, UnknownColumn("unknown-punctuation-column", lacks))
    if found.type != "boolean":
        raise BindError(
            "bad-punctuation-type",
            f"the column {found.name!r}, which says which rows of {info.name} are punctuations, is"
            f" {found.type}",
            reason="it must be a BOOLEAN: true in rows that are not data, but a promise",
            hint="compute such a column before you register the stream",
        )
    return found.name


def stream_info(
    name: str,
    schema: Schema,
    time: str | OnArrival | None,
    said: Promises = NOTHING_SAID,
    *,
    is_streaming: bool = False,
    is_bounded: bool = False,
    hints: Hints = NO_HINTS,
) -> StreamInfo:
    """A stream for the catalog, from what the user gave; `schema` are the columns of its data.

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
            hint="give it another name: time=windrow.ON_ARRIVAL.named('arrived_at')",
        )
    return Schema((*schema.fields, Field(column, ARRIVAL_TYPE)))


def _time_column(name: str, schema: Schema, time: str | None) -> str | None:
    """The time column as the data spells it, checked."""
    if time is None:
        return None
    lacks = f"the stream {name} has no column {time!r} to take its time from"
    found = _column(schema, time, UnknownColumn("unknown-time-column", lacks))
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
    if column is None:
        return info
    name, schema, time = info.name, info.schema, info.time
    lacks = f"the stream {name} has no column {column!r} that says how its rows change"
    found = _column(schema, column, UnknownColumn("unknown-changes-column", lacks))
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
            reason="when a row comes and goes follows from event time",
            hint="name its event-time column with time=...",
        )
    if {f.name.lower() for f in schema.fields} <= {found.name.lower(), time.lower()}:
        raise BindError(
            "changes-without-columns",
            f"the stream {name} has no column beside its time and {found.name!r}",
            reason="a delete takes back a row that equals it in all other columns",
            hint="add the columns that tell its rows apart",
        )
    return replace(info, changes=found.name)
