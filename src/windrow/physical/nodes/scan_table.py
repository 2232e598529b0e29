"""The node that reads a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.nodes.shapes import Leaf
from windrow.plan.texts import show_alias

if TYPE_CHECKING:
    from windrow.physical.nodes.base import Request
    from windrow.plan.nodes.table_scan import TableScan
    from windrow.schema import Schema


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
