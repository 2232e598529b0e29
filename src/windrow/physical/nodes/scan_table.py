"""The node that reads a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.nodes.base import Leaf
from windrow.plan.explain import show_alias

if TYPE_CHECKING:
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

    @property
    def tables(self) -> tuple[ScanTable, ...]:
        """This one."""
        return (self,)

    @property
    def title(self) -> str:
        """The table and the columns read of it."""
        return f"ScanTable {show_alias(self.table, self.alias)}: {', '.join(self.columns) or 'no columns'}"
