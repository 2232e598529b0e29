"""How many rows the nodes of a plan give, by the rates of streams that the user has stated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windrow.plan.exprs import Expr
from windrow.plan.nodes.base import Node
from windrow.plan.statistics import ASSUMED, Figure

AT_MOST = "at most"
"""Where a number is from that counts rows which a filter may take out."""


@dataclass(frozen=True)
class StatedRates:
    """The rates of the streams below a plan as the user wrote it; a `Rates`."""

    plan: Node

    def of_stream(self, stream: str) -> Figure | None:
        """As stated."""
        known = (own.statistics.rate for own in self.plan.streams if own.name == stream)
        return next(known, None)

    def rate(self, node: Any) -> Figure | None:
        """As the node says; None where it rests on a number that nobody knows."""
        found: Figure | None = node.rate(self)
        return None if found is None or ASSUMED in found.source else found

    def passing_rate(self, node: Any, predicates: tuple[Expr, ...]) -> Figure | None:  # noqa: ARG002
        """That of all rows: how many of them pass, nobody has said."""
        found = self.rate(node)
        return found and Figure(found.value, AT_MOST)
