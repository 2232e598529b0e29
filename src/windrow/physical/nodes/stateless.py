"""The nodes without an operator over streams: filters, projections, windows of time, UNION ALL, tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from windrow.errors import UnsupportedError
from windrow.physical.explain.facts import Fact, Show, said
from windrow.physical.load_shedding.limits import chance_column, is_hidden
from windrow.physical.nodes.base import PhysicalNode, Request
from windrow.physical.nodes.shapes import OneInput, PerRow, SameColumns, as_asked
from windrow.plan.exprs import Expr, Named, column, quote_duckdb, quote_spark
from windrow.plan.statistics import Figure, Rates, total
from windrow.plan.texts import show_items, show_predicates, show_table_join
from windrow.plan.units import show_ticks
from windrow.schema import END, SIGN, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from windrow.physical.nodes.scans import ScanStream
    from windrow.physical.options import Options
    from windrow.plan.nodes.project import Project
    from windrow.plan.nodes.table_join import TableJoin, TableKey


@dataclass(frozen=True)
class FilterRows(PerRow, SameColumns, OneInput):
    """Keeps the rows for which every predicate is true."""

    input: PhysicalNode
    predicates: tuple[Expr, ...]

    driver = "windrow.operators.engine.row_drivers:RowDriver"
    relation = "windrow.run.spark.relations:filter_rows"
    is_evaluated = True
    identity_fields = ("input", "predicates")
    has_rate = True

    def rate(self, rates: Rates) -> Figure | None:
        """That of the rows that pass."""
        return rates.passing_rate(self.input, self.predicates)

    def handing_on_draws(self) -> PhysicalNode:
        """Rows with chances of 0, which tell where results may be missing, pass."""
        if not any(is_hidden(field.name) for field in self.input.schema.fields):
            return self
        name = chance_column(0)
        predicates = tuple(
            replace(
                own,
                spark=f"(({own.spark}) OR {quote_spark(name)} = 0)",
                duckdb=f"(({own.duckdb}) OR {quote_duckdb(name)} = 0)",
                columns=(*own.columns, name),
                comparisons=(),
                bands=(),
            )
            for own in self.predicates
        )
        return replace(self, predicates=predicates)

    @property
    def row_tests(self) -> tuple[Expr, ...]:
        """The predicates."""
        return self.predicates

    @property
    def title(self) -> str:
        """The conditions."""
        return f"FilterRows {show_predicates(self.predicates)}"


@dataclass(frozen=True)
class ProjectRows(PerRow, OneInput):
    """Computes columns; event time, end and sign pass through."""

    input: PhysicalNode
    items: tuple[Named, ...]
    schema: Schema

    driver = "windrow.operators.engine.row_drivers:RowDriver"
    relation = "windrow.run.spark.relations:project_rows"
    is_evaluated = True
    identity_fields = ("input", "items", "schema")
    has_rate = True
    gives_all_rows = True

    @classmethod
    def of(cls, node: Project, request: Request) -> ProjectRows:
        """That of SELECT."""
        return cls(request.inputs[0], node.items, node.schema)

    @property
    def keeps_buckets(self) -> bool:
        """Unless it computes: an expression is Spark's to evaluate."""
        return all(item.expr.is_column for item in self.items)

    def columns_below(self, shown: Set[str]) -> set[str]:
        """Those that are passed on."""
        items = [item for item in self.items if item.name in shown and item.expr.is_column]
        return {item.expr.columns[0] for item in items}

    def source_of(self, column: str) -> tuple[str, str] | None:
        """That of the column which is passed on."""
        made = next(item.expr for item in self.items if item.name == column)
        return self.input.source_of(made.columns[0]) if made.is_column else None

    def rate(self, rates: Rates) -> Figure | None:
        """That of the input."""
        return rates.rate(self.input)

    def handing_on_draws(self) -> PhysicalNode:
        """The hidden columns below it are handed on."""
        hidden = [field for field in self.input.schema.fields if is_hidden(field.name)]
        items = (Named(own.name, column(own.name, own.type)) for own in hidden)
        schema = Schema((*self.schema.fields, *hidden))
        return replace(self, items=(*self.items, *items), schema=schema)

    @property
    def computed_columns(self) -> tuple[Named, ...]:
        """The items."""
        return self.items

    @property
    def title(self) -> str:
        """The columns that are not for us alone."""
        return f"ProjectRows {show_items(tuple(i for i in self.items if not is_hidden(i.name)))}"


@dataclass(frozen=True)
class RangeRows(SameColumns, OneInput):
    """Sets every row's end to event time + ticks + 1, or leaves an earlier end."""

    input: PhysicalNode
    ticks: int

    driver = "windrow.operators.engine.row_drivers:RowDriver"
    relation = "windrow.run.spark.relations:range_rows"
    is_evaluated = True
    identity_fields = ("input", "ticks")
    has_ends = True  # it gives them
    keeps_buckets = True  # it sets a window
    has_rate = True

    @property
    def row_marks(self) -> tuple[str, ...]:
        """Those of the input, and an end."""
        return (END, SIGN) if SIGN in self.input.row_marks else (END,)

    @property
    def leaves_in_order(self) -> bool:
        """If no window below it has given rows an end."""
        return self.input.alive_ticks is None

    @property
    def matches(self) -> list[str]:
        """Those of the input."""
        return self.input.matches

    @property
    def origin(self) -> ScanStream | None:
        """That of the input."""
        return self.input.origin

    def lifetime(self, length: str) -> str:
        """By this window."""
        text = super().lifetime(length)
        if self.input.is_joined:
            text += "; t is that of its last tuple, and the windows below say which tuples meet"
        return text

    @property
    def alive_ticks(self) -> int | None:
        """The shorter of this window and those below."""
        inner = self.input.alive_ticks
        return self.ticks if inner is None else min(self.ticks, inner)

    @property
    def range_ticks(self) -> int:
        """Its length."""
        return self.ticks

    @property
    def own_window(self) -> tuple[str, int]:
        """Its length."""
        return "ticks", self.ticks

    def rate(self, rates: Rates) -> Figure | None:
        """That of the input."""
        return rates.rate(self.input)

    @property
    def title(self) -> str:
        """How long rows live."""
        return f"RangeRows {show_ticks(self.ticks, self.time_type)}"


@dataclass(frozen=True)
class UnionRows(SameColumns):
    """The rows of all inputs, which have the same columns: UNION ALL."""

    inputs: tuple[PhysicalNode, ...]

    driver = "windrow.operators.engine.row_drivers:UnionDriver"
    relation = "windrow.run.spark.relations:union_rows"
    identity_fields = ("inputs",)
    needs_all_rows = "DISTINCT or a set operation"
    has_rate = True
    gives_all_rows = True

    @property
    def alive_ticks(self) -> int | None:
        """The longest of the inputs, if all have one."""
        lengths = [child.alive_ticks for child in self.inputs]
        known = [length for length in lengths if length is not None]
        return max(known) if len(known) == len(lengths) else None

    @property
    def matches(self) -> list[str]:
        """Those of the first input."""
        return self.inputs[0].matches

    @property
    def row_inputs(self) -> tuple[PhysicalNode, ...]:
        """All."""
        return self.inputs

    def source_of(self, column: str) -> None:
        """Values of several columns."""

    def rate(self, rates: Rates) -> Figure | None:
        """Those of the inputs together."""
        return total([rates.rate(child) for child in self.inputs])


@dataclass(frozen=True)
class TableJoinRows(PerRow):
    """Joins each row with a table that does not move; event time, end and sign pass through.

    Its fields are those of `TableJoin`, and `schema`: the columns that are used above.
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
        return cls(**as_asked(node, request, cls) | {"input": rows, "table": table})

    @property
    def gives_pairs(self) -> bool:
        """Whether rows come with those of the table."""
        return self.kind in {"inner", "left"}

    @property
    def gives_alone(self) -> bool:
        """Whether rows come without one of the table."""
        return self.kind != "inner"

    @property
    def gives_matched(self) -> bool:
        """Whether those that come so are the ones that have a match."""
        return self.kind == "semi"

    @property
    def may_multiply(self) -> bool:
        """Whether a row may come out several times."""
        return self.gives_pairs

    @property
    def inputs(self) -> tuple[PhysicalNode, ...]:
        """The rows, then the table."""
        return (self.input, self.table)

    def _over(self, inputs: Sequence[PhysicalNode]) -> Self:
        return self._changed(input=inputs[0], table=inputs[1])

    @property
    def matches(self) -> list[str]:
        """Those of the input, and its own."""
        return [*self.input.matches, *([f"matches in {self.alias}"] if self.may_multiply else [])]

    def handing_on_draws(self) -> PhysicalNode:
        """Rows may be joined; totals may not be estimated through it."""
        raise UnsupportedError(
            "unsupported-estimate",
            f"the table {self.alias} is joined to a join that sheds, and totals are to be estimated",
            reason="how far a total may be off follows only from the join's own combinations",
            hint="aggregate the join in a derived table and join the table to its groups, or let the"
            " query fail or spill",
        )

    @property
    def title(self) -> str:
        """The kind of join and its conditions."""
        return f"TableJoinRows {show_table_join(self.kind, self.keys, self.predicates)}"

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """How rows find their matches, and where it stands."""
        found, held = f"every row of {self.alias} for each row of a batch", ""
        if self.keys:
            keys = ", ".join(key.table.text for key in self.keys)
            found, held = (
                f"an index on {keys}, made once",
                f", in process with an index on {keys}, on Spark as Spark keeps it",
            )
        return said(
            ("table", f"in process, {found}; on Spark, a join with a static DataFrame"),
            ("state", f"{self.alias}: the whole table{held}"),
            ("why", [self.place] if self.place else []),
        )
