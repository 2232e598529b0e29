"""What a stream promises of its disorder, and so how far it is known to be complete.

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

from dataclasses import dataclass, replace
from datetime import timedelta

from windrow.errors import BindError, UnknownColumn, nearest
from windrow.plan.catalog import StreamInfo
from windrow.plan.durations import to_ticks

Lateness = str | int | timedelta


@dataclass(frozen=True)
class Said:
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


NOTHING_SAID = Said()


def promising(info: StreamInfo, said: Said) -> StreamInfo:
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


def _first_of(said: Said) -> str:
    if said.lateness not in (None, 0):
        return "a lateness"
    return "a read-ahead" if said.read_ahead is not None else "a column of punctuations"


def _lateness(info: StreamInfo, said: Said) -> int | None:
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
        reason="so many rows in a row beyond an instant say that nothing at or before it follows",
        hint="1 or more; with 1 the stream comes in the order of time",
    )


def _punctuation(info: StreamInfo, column: str | None) -> str | None:
    """The column of punctuations as the data spells it, checked."""
    if column is None:
        return None
    found = info.schema.find(column)
    if found is None:
        raise UnknownColumn(
            "unknown-punctuation-column",
            f"the stream {info.name} has no column {column!r} that says which rows are punctuations",
            hint=f"one of {nearest(column, info.schema.names)}",
        )
    if found.type != "boolean":
        raise BindError(
            "bad-punctuation-type",
            f"the column {found.name!r}, which says which rows of {info.name} are punctuations, is"
            f" {found.type}",
            reason="it must be a BOOLEAN: true in rows that are no data, but a promise",
            hint="compute such a column before you register the stream",
        )
    return found.name
