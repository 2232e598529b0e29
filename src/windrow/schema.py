"""Names and types of columns, and how event time becomes ticks.

Types are written as Spark writes them (`bigint`, `decimal(10,2)`, `array<int>`): one text that
Spark reads as it is. The mapping to Arrow stays at the edges (`operators/columns/arrow_types.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

TIME_TYPES = ("timestamp", "timestamp_ntz", "date", "bigint")
"""The types that an event-time column may have."""

TICKS_PER_SECOND = {"timestamp": 1_000_000, "timestamp_ntz": 1_000_000}
"""Ticks of one second for the time types that measure clock time; DATE counts days."""

TICKS_PER_DAY = {"timestamp": 86_400_000_000, "timestamp_ntz": 86_400_000_000, "date": 1}

MIN_TICK = -(2**63)
"""Minus infinity for times: the watermark before a stream has delivered anything."""

MAX_TICK = 2**63 - 1
"""Plus infinity for times: the watermark after the end of every input, the end of a row that
never expires."""

TIME, END, SIGN = "__time", "__end", "__sign"
"""The columns that rows carry beside their own: event time, the instant they end, come or go."""

CHANGE_TYPE, EVENT_TIME = "_change_type", "_event_time"
"""The columns that a changelog has beside those of its rows."""

ARRIVAL_TYPE = "timestamp"
"""The type of a time that is given on arrival."""


@dataclass(frozen=True)
class OnArrival:
    """A stream's time is given when its rows arrive, in a column of this name.

    Examples:
        >>> ON_ARRIVAL.named("seen_at")
        OnArrival(column='seen_at')
    """

    column: str = "_arrived"

    def named(self, column: str) -> OnArrival:
        """The same with another name for the column."""
        return OnArrival(column)


ON_ARRIVAL = OnArrival()


@dataclass(frozen=True)
class Field:
    """A named column with its Spark type."""

    name: str
    type: str


@dataclass(frozen=True)
class Schema:
    """An ordered list of fields."""

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, **types: str) -> Schema:
        """Columns by their names, in that order, and their Spark types."""
        return cls(tuple(Field(name, type_) for name, type_ in types.items()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(field.name for field in self.fields)

    def find(self, name: str) -> Field | None:
        """The field of that name: as written, or the only one that differs in case alone."""
        exact = [field for field in self.fields if field.name == name]
        if exact:
            return exact[0]
        folded = [field for field in self.fields if field.name.lower() == name.lower()]
        return folded[0] if len(folded) == 1 else None

    def ddl(self) -> str:
        """The schema as Spark's DDL text."""
        return ", ".join(f"`{f.name.replace('`', '``')}` {f.type}" for f in self.fields)
