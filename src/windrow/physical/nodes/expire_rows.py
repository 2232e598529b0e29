"""The node that gives rows as signs alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.explain.bounds_text import (
    alive_bound,
    drop_condition,
    lifetime,
    plus,
    source_name,
)
from windrow.physical.nodes.shapes import MakesChanges, OneInput, SameColumns
from windrow.physical.partitioning.buckets import NO_COLUMNS, by_keys

if TYPE_CHECKING:
    from windrow.physical.explain.facts import Fact, Show
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.options import Options
    from windrow.physical.partitioning.buckets import Partitioning


@dataclass(frozen=True)
class ExpireRows(MakesChanges, SameColumns, OneInput):
    """The rows of the input as signs alone: each once more, as a negative tuple, when it ends."""

    input: PhysicalNode

    identity_fields = ("input",)
    is_stateful = True
    about = "expiry"
    operator = "windrow.operators.feeds.expire:ExpireRowsOp"

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """When rows are taken back, and what is kept."""
        return _facts(self)

    @property
    def whole_inputs(self) -> tuple[PhysicalNode, ...]:
        """The one input."""
        return (self.input,)

    @property
    def held_inputs(self) -> tuple[PhysicalNode, ...]:
        """The one input."""
        return (self.input,)

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"ExpireRows {source_name(self.input)}"

    def partitioning(self, buckets: int) -> Partitioning:
        """By all columns."""
        return by_keys(self.schema.names, buckets, NO_COLUMNS)


def _facts(node: ExpireRows) -> list[Fact]:
    time_type, below = node.time_type, node.input.delay
    source, alive = source_name(node.input), node.input.alive_ticks
    trailing = plus("the watermark", -below, time_type)
    facts = [
        ("rows", [lifetime(node.input, alive)]),
        (
            "emits",
            [f"the rows below {trailing} in the order of time, and each as a negative at its end"],
        ),
        (
            "why",
            ["negative tuples: what stands above takes rows back by value, and keeps no window"],
        ),
    ]
    if alive is not None:
        gone = drop_condition(node.input, source, alive, below, time_type)
        facts.insert(1, ("retention", [f"{gone} + 1 tick, when its negative is out"]))
        facts.insert(2, ("state", [alive_bound(node, node.input, source, alive, below)]))
    return facts
