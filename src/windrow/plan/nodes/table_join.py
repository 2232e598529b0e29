"""Joins with tables, whose rows are there at every instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from windrow.errors import Span
from windrow.plan.exprs import Expr
from windrow.plan.nodes.base import Node, PerRow, Predicates, read_by, reads_only, without
from windrow.plan.nodes.filter import filtered
from windrow.plan.texts import ColumnTexts, show_table_join
from windrow.schema import Schema


@dataclass(frozen=True)
class TableKey:
    """`row = table`: an expression over the rows equals one over the table, both of one type."""

    row: Expr
    table: Expr
    type: str
    null_safe: bool = False


@dataclass(frozen=True)
class TableJoin(PerRow):
    """Each row of the input with the rows of a table that it matches.

    The table's rows are there at every instant: a result has the time, end and sign of its row.

    Attributes:
        table: a TableScan, perhaps below a Filter.
        alias: how the user calls the table.
        kind: "inner", "left" (outer), "semi" or "anti".
        keys: the equalities, by which rows of the table are looked up.
        predicates: further conditions on a row and a row of the table.
        place: why it stands where it does, for EXPLAIN.
    """

    input: Node
    table: Node
    alias: str
    kind: str
    keys: tuple[TableKey, ...]
    predicates: Predicates = ()
    place: str = ""
    span: Span | None = None

    drops_columns = True
    physical = "windrow.physical.nodes.stateless:TableJoinRows.of"

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The rows, the table."""
        return (self.input, self.table)

    def _over(self, inputs: Sequence[Node]) -> Self:
        return replace(self, input=inputs[0], table=inputs[1])

    @property
    def row_columns(self) -> set[str]:
        """The columns of the input that its conditions read."""
        read = read_by([*(key.row for key in self.keys), *self.predicates])
        return read.difference(self.table.schema.names)

    @property
    def only_removes(self) -> bool:
        """Whether its rows are some of the input's, as they are."""
        return self.kind in {"semi", "anti"}

    @property
    def schema(self) -> Schema:
        """The input's columns, then the table's; a semi or anti join has the former alone."""
        if self.only_removes:
            return self.input.schema
        return Schema(self.input.schema.fields + self.table.schema.fields)

    @property
    def columns_read(self) -> set[str]:
        """What the conditions read."""
        read = [*(side for key in self.keys for side in (key.row, key.table)), *self.predicates]
        return read_by(read)

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """A condition moves to where it costs least.

            what it reads        inner               left                semi, anti
            rows alone           below, to the rows  below, to the rows  below, to the rows
            the table alone      into the table      stays               (not in reach)
            both                 into the join       stays               (not in reach)

        Over a left join a condition on the table sees the NULLs of rows without a match: inside, it
        would decide which rows match. One that calls a function of the user's does not go into the
        join.
        """
        on_rows = tuple(p for p in predicates if reads_only(p, self.input))
        inside: Predicates = ()
        if self.kind == "inner":
            rest = [p for p in predicates if p not in on_rows and p.columns]
            inside = tuple(p for p in rest if not p.calls or reads_only(p, self.table))
        moved = (*on_rows, *inside)
        if not moved:
            return self, predicates
        own = tuple(dict.fromkeys((*self.predicates, *inside)))
        below = replace(self, input=filtered(self.input, on_rows), predicates=own)
        return below.push_own_conditions(), without(predicates, moved)

    def push_own_conditions(self) -> TableJoin:
        """A condition that reads the table alone is tested on the table, once, whatever the kind.

        One that reads the rows alone goes below an inner or a semi join.
        """
        on_table = tuple(p for p in self.predicates if reads_only(p, self.table))
        on_rows: Predicates = ()
        if self.kind in {"inner", "semi"}:
            on_rows = tuple(p for p in self.predicates if reads_only(p, self.input))
        if not on_table and not on_rows:
            return self
        return replace(
            self,
            input=filtered(self.input, on_rows),
            table=filtered(self.table, on_table),
            predicates=without(self.predicates, (*on_table, *on_rows)),
        )

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """Kind and conditions."""
        return f"TableJoin {show_table_join(self.kind, self.keys, self.predicates)}"
