"""The nodes that read a stream or a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.nodes.shapes import Leaf
from windrow.plan.texts import show_alias
from windrow.schema import SIGN, Schema

if TYPE_CHECKING:
    from windrow.physical.nodes.base import Request
    from windrow.plan.nodes.scan import Scan, TableScan
    from windrow.plan.statistics import Figure, Rates


@dataclass(frozen=True)
class ScanStream(Leaf):
    """Reads one stream: source columns `columns[i]` become `schema.names[i]`.

    `is_on_arrival`: the time column is not the source's; rows get it as they arrive. `changes`: the
    source's column that says whether a row comes or goes; None where all come. `lateness`,
    `read_ahead` and `punctuation` (the source's column) are its promises, None where it makes none.
    """

    stream: str
    alias: str
    columns: tuple[str, ...]
    schema: Schema
    time: str
    time_type: str
    lateness: int | None
    is_on_arrival: bool = False
    changes: str | None = None
    read_ahead: int | None = None
    punctuation: str | None = None

    driver = "windrow.operators.engine.row_drivers:ScanDriver"
    relation = "windrow.run.spark.relations:scan_stream"
    identity_fields = ("stream", "alias", "columns", "schema", "time", "time_type", "is_on_arrival")
    identity_later = ("changes", "punctuation")
    has_rate = True

    @classmethod
    def of(cls, node: Scan, request: Request) -> ScanStream:  # noqa: ARG003
        """That of a stream in FROM."""
        stream = node.stream
        assert stream.time is not None  # verified
        return cls(
            stream=stream.name,
            alias=node.alias,
            columns=node.source_columns,
            schema=node.schema,
            time=stream.time,
            time_type=stream.time_type,
            lateness=stream.lateness,
            is_on_arrival=stream.is_on_arrival,
            changes=stream.changes,
            read_ahead=stream.read_ahead,
            punctuation=stream.punctuation,
        )

    @property
    def scans(self) -> tuple[ScanStream, ...]:
        """This one."""
        return (self,)

    @property
    def row_marks(self) -> tuple[str, ...]:
        """The sign of a change feed."""
        return () if self.changes is None else (SIGN,)

    @property
    def source_columns(self) -> set[str]:
        """The columns of the source that it needs: those shown, and those that say when and whether."""
        beside = (self.time, self.changes, self.punctuation)
        return {*self.columns, *(name for name in beside if name is not None)}

    def source_of(self, column: str) -> tuple[str, str]:
        """The column of the stream."""
        return self.stream, self.columns[self.schema.names.index(column)]

    def rate(self, rates: Rates) -> Figure | None:
        """What the stream brings."""
        return rates.of_stream(self.stream)

    @property
    def title(self) -> str:
        """The stream and the columns read of it."""
        return f"ScanStream {show_alias(self.stream, self.alias)}: {', '.join(self.columns) or 'no columns'}"

    @property
    def origin(self) -> ScanStream:
        """This one."""
        return self


@dataclass(frozen=True)
class ScanTable(Leaf):
    """Reads one table: source columns `columns[i]` become `schema.names[i]`."""

    table: str
    alias: str
    columns: tuple[str, ...]
    schema: Schema

    relation = "windrow.run.spark.relations:scan_table"
    identity_fields = ("table", "alias", "columns", "schema")

    @classmethod
    def of(cls, node: TableScan, request: Request) -> ScanTable:  # noqa: ARG003
        """That of a table in FROM."""
        return cls(node.table.name, node.alias, node.source_columns, node.schema)

    @property
    def tables(self) -> tuple[ScanTable, ...]:
        """This one."""
        return (self,)

    @property
    def title(self) -> str:
        """The table and the columns read of it."""
        return f"ScanTable {show_alias(self.table, self.alias)}: {', '.join(self.columns) or 'no columns'}"

    def source_of(self, column: str) -> None:
        """What is counted of streams is not counted of tables."""
