"""A table in FROM: rows that do not move."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.errors import Span
from windrow.plan.catalog import StreamInfo
from windrow.plan.nodes.base import Leaf
from windrow.plan.texts import ColumnTexts, show_alias
from windrow.schema import Schema


@dataclass(frozen=True)
class TableScan(Leaf):
    """The rows of one table under an alias; columns are named `alias.column`. It does not move."""

    table: StreamInfo
    alias: str
    schema: Schema
    span: Span | None = None

    physical = "windrow.physical.nodes.scan_table:ScanTable.of"

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """The table, and how the user calls it."""
        return f"TableScan {show_alias(self.table.name, self.alias)}"
