"""The node that joins rows with a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windrow.errors import UnsupportedError
from windrow.physical.explain.facts import said
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.shapes import PerRow
from windrow.plan.texts import show_table_join

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from windrow.physical.explain.facts import Fact, Show
    from windrow.physical.nodes.base import Request
    from windrow.physical.options import Options
    from windrow.plan.exprs import Expr
    from windrow.plan.nodes.table_join import TableJoin, TableKey
    from windrow.schema import Schema


@dataclass(frozen=True)
class TableJoinRows(PerRow):
    """Joins each row with a table that does not move; event time, end and sign pass through.

    Attributes:
        input: the rows.
        table: a scan of the table, perhaps below filters and projections.
        alias: how the user calls the table.
        kind: "inner", "left" (outer), "semi" or "anti".
        keys: the equalities, by which rows of the table are looked up.
        predicates: further conditions on a row and a row of the table.
        schema: the columns that are used above; none of the table in a semi or anti join.
        place: why it stands where it does, for EXPLAIN.
    """

    input: PhysicalNode
    table: PhysicalNode
    alias: str
    kind: str
    keys: tuple[TableKey, ...]
    predicates: tuple[Expr, ...]
    schema: Schema
    place: str = ""

    driver = "windrow.operators.engine.row_drivers:TableJoinDriver"
    relation = "windrow.run.spark.relations:join_table"
    identity_fields = ("input", "table", "alias", "kind", "keys", "predicates", "schema")

    @classmethod
    def of(cls, node: TableJoin, request: Request) -> TableJoinRows:
        """That of a join with a table."""
        rows, table = request.inputs
        schema = request.shown(node)
        return cls(
            rows, table, node.alias, node.kind, node.keys, node.predicates, schema, node.place
        )

    @property
    def may_multiply(self) -> bool:
        """Whether a row may come out several times."""
        return self.kind in {"inner", "left"}

    @property
    def inputs(self) -> tuple[PhysicalNode, ...]:
        """The rows, then the table."""
        return (self.input, self.table)

    def _over(self, inputs: Sequence[PhysicalNode]) -> Self:
        return replace(self, input=inputs[0], table=inputs[1])

    @property
    def matches(self) -> list[str]:
        """Those of the input, and its own."""
        return [*self.input.matches, *([f"matches in {self.alias}"] if self.may_multiply else [])]

    def handing_on_draws(self) -> PhysicalNode:
        """Rows may be joined; totals may not be estimated through it."""
        raise UnsupportedError(
            "unsupported-estimate",
            f"the table {self.alias} is joined to a join that sheds, and totals are to be estimated",
            reason="how far a total may be off is told by the join's own combinations alone",
            hint="aggregate the join in a derived table and join the table to its groups, or let the"
            " query fail or spill",
        )

    @property
    def title(self) -> str:
        """The kind of join and its conditions."""
        return f"TableJoinRows {show_table_join(self.kind, self.keys, self.predicates)}"

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """How rows find their matches, and where it stands."""
        on_spark = "on Spark, a join with a static DataFrame"
        found = f"every row of {self.alias} for each row of a batch"
        if self.keys:
            found = f"an index on {', '.join(key.table.text for key in self.keys)}, made once"
        return said(
            ("table", [f"in process, {found}; {on_spark}"]),
            ("state", ["none: a row's matches are there when it comes; adds no delay"]),
            ("why", [self.place] if self.place else []),
        )
