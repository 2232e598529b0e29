"""What is registered: streams and tables, without their data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windrow.plan.statistics import NOTHING_KNOWN, Statistics
from windrow.schema import Schema


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
