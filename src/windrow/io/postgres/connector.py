"""PostgreSQL, as users name it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from windrow.errors import BindError
from windrow.io.options import listed_names
from windrow.io.postgres.sink import PostgresSink
from windrow.io.postgres.table import PostgresTable, relation_of
from windrow.io.protocol import Connector, Sink, Source

Mode = Literal["current", "append"]


@dataclass(frozen=True)
class Postgres(Connector):
    """A table of PostgreSQL's: read as a table, or written to as a sink.

    Args:
        url: of the database, `postgresql://user@host:5432/database`; what it leaves out is taken from
            where libpq looks (`PGPASSWORD`, `~/.pgpass`).
        table: the name of the table in SQL: `revenue`, `dashboards.revenue`.
        query: a query to read in place of a table.
        keys: for a sink, the columns that identify a row of the answer; by default those of GROUP BY.
        mode: for a sink, "current": the table is the answer; or "append": every change is appended,
            with `_change_type` and `_event_time`.
        refresh: for a table, how often it is read again: "5 minutes"; None reads it once.
    """

    name: ClassVar[str] = "postgres"

    url: str
    table: str | None = None
    query: str | None = None
    keys: Sequence[str] | None = None
    mode: Mode = "current"
    refresh: str | None = None

    def sink(self) -> Sink:
        """What writes to the table."""
        if self.table is None or self.query is not None or self.refresh is not None:
            raise BindError(
                "sink-table",
                "an answer goes to a table, which has to be named, and nothing else",
                reason="query= and refresh= say how a table is read",
                hint="postgres(url, table='revenue')",
            )
        if self.mode not in get_args(Mode):
            raise BindError(
                "bad-mode",
                f"{self.mode!r} is not a mode of postgres",
                hint='mode="current" keeps the table as the answer is; mode="append" adds every change',
            )
        keys = None if self.keys is None else listed_names(self.name, "keys", self.keys)
        return PostgresSink(self.url, self.table, keys, appends=self.mode == "append")

    def table_source(self) -> Source:
        """What reads the table or the query, whole."""
        return PostgresTable(self.url, relation_of(self.table, self.query))
