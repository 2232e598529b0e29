"""DISTINCT, UNION, EXCEPT, INTERSECT."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.errors import Span
from windrow.plan.exprs import Expr
from windrow.plan.nodes.base import Node, Predicates, without
from windrow.plan.nodes.filter import filtered
from windrow.plan.texts import ColumnTexts
from windrow.schema import Schema

SHOW_ALL = {"distinct", "union", "union all"}
"""The kinds that show every row of every input."""

_MADE_BY = {"union all": "union_all", "changes": "bag_changes"}
"""What makes the physical forms of kinds that do not tell one set of rows from another."""


@dataclass(frozen=True)
class SetOperation(Node):
    """Rows by how many copies of them its inputs hold: DISTINCT, UNION, EXCEPT, INTERSECT.

    All inputs have the same columns. With n copies of a row in the first and m in the second, the
    answer has, by `kind`:

        "distinct"    1 if n > 0            "union"           1 if n + m > 0
        "except"      1 if n > 0 and m = 0  "except all"      max(0, n - m)
        "intersect"   1 if n > 0 and m > 0  "intersect all"   min(n, m)
        "changes"     n                     "union all"       the copies of all its inputs

    All but "union all" give a changelog, net at each instant; "changes" gives the bag that it is
    given like that.
    """

    inputs: tuple[Node, ...]
    kind: str
    span: Span | None = None

    @property
    def physical(self) -> str:  # type: ignore[override]
        """By what its rows are."""
        return f"windrow.optimize.choose.physical_node:{_MADE_BY.get(self.kind, 'set_operation')}"

    @property
    def is_stateful(self) -> bool:  # type: ignore[override]
        """Whether it counts copies."""
        return not self.only_hands_on

    @property
    def only_hands_on(self) -> bool:
        """Whether its rows are those of its inputs, as they are."""
        return self.kind == "union all"

    @property
    def schema(self) -> Schema:
        """That of each input."""
        return self.inputs[0].schema

    @property
    def rows_end(self) -> bool:
        """They do, by being taken back, or as in all inputs."""
        return not self.only_hands_on or all(child.rows_end for child in self.inputs)

    @property
    def alive_ticks(self) -> int | None:
        """Of rows that are handed on, as long as in any input."""
        lengths = [child.alive_ticks for child in self.inputs]
        known = [length for length in lengths if length is not None]
        is_known = self.only_hands_on and len(known) == len(lengths)
        return max(known) if is_known else None

    @property
    def event_times(self) -> frozenset[str]:
        """Of rows that are handed on, those of all inputs."""
        if not self.only_hands_on:
            return frozenset()
        first, *others = (child.event_times for child in self.inputs)
        return first.intersection(*others)

    def verify_state(self) -> None:
        """Rows are kept until they leave: each must."""
        if not self.only_hands_on:
            self.verify_rows_end(self.kind.upper(), self.span)

    @property
    def columns_read(self) -> set[str]:
        """All, which tell rows apart, unless rows are handed on."""
        return set() if self.only_hands_on else set(self.schema.names)

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """Conditions over DISTINCT, UNION or UNION ALL move into each input.

        Copies of a row are alike to a condition, so that it keeps all of them or none: the numbers
        of copies, and what follows from them, are the same before and after. Below, fewer rows are
        kept.

        Over EXCEPT and INTERSECT they stay: below, they would be asked of rows that are not in the
        answer, and might have no value for one of them.
        """
        if self.kind not in SHOW_ALL:
            return self, predicates
        moved = tuple(p for p in predicates if self.only_hands_on or self._may_move(p))
        below = self.with_inputs([filtered(child, moved) for child in self.inputs])
        return below, without(predicates, moved)

    def _may_move(self, predicate: Expr) -> bool:
        """Whether a condition has the same value for all copies of a row, and is asked no oftener.

        One that reads floating-point numbers has not: -0.0 and 0.0 are one row, shown as 0.0, which
        below could be told apart, inside nested values too. One that calls a function of the user's is called no more often
        than the query says.
        """
        read = set(predicate.columns)
        fields = self.schema.fields
        floating = {f.name for f in fields if "float" in f.type or "double" in f.type}
        return bool(read) and not predicate.calls and read.isdisjoint(floating)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """Its kind."""
        return f"SetOperation {self.kind}"
