"""WINDOW JOIN: aggregates over the rows near each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.explain.facts import (
    ONCE_FINAL,
    Fact,
    Show,
    alive_bound,
    drop_condition,
    event_time,
    plus,
    said,
    show_bound,
    state_bound,
)
from windrow.physical.nodes.base import KeyClass, PhysicalNode, Request, key_classes
from windrow.physical.nodes.shapes import TwoStreamJoin, as_asked
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.partitioning.buckets import show_class
from windrow.plan.texts import show_aggregates
from windrow.plan.units import show_ticks

if TYPE_CHECKING:
    from windrow.physical.options import Options
    from windrow.plan.nodes.range_aggregate_join import RangeAggregateJoin
    from windrow.plan.nodes.window_aggregate import Aggregate
    from windrow.schema import Schema


@dataclass(frozen=True)
class RangeAggregate(TwoStreamJoin):
    """WINDOW JOIN: each left row with aggregates over the right rows of an interval around it.

    Its fields are those of `RangeAggregateJoin`; arguments are plain columns of the right input.

    Attributes:
        classes: the keys, each of both inputs.
        keep: the columns of the left input that the result carries.
        schema: these, then one column per aggregate.
    """

    left: PhysicalNode
    right: PhysicalNode
    aliases: tuple[str, str]
    classes: tuple[KeyClass, ...]
    lo: int
    hi: int
    aggregates: tuple[Aggregate, ...]
    keep: tuple[str, ...]
    schema: Schema

    identity_fields = (
        "left", "right", "aliases", "classes", "lo", "hi", "aggregates", "keep", "schema",
    )  # fmt: skip
    spoken = "a WINDOW JOIN"
    operator = "windrow.operators.aggregates.range_aggregate:RangeAggregateOp"

    @classmethod
    def of(cls, node: RangeAggregateJoin, request: Request) -> RangeAggregate:
        """That of WINDOW JOIN."""
        wanted = tuple(each for each in node.aggregates if each.name in request.wanted)
        own = as_asked(node, request, cls) | {"aggregates": wanted}
        return cls(**own, classes=key_classes(node), keep=request.kept(node)[0])

    @property
    def own_delay(self) -> int:
        """How many ticks its results, which have their left rows' times, trail the watermark."""
        return max(self.hi, 0)

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """Which rows are counted, when, and what is kept."""
        time_type = self.time_type
        below = max(self.left.delay, self.right.delay)
        left, right = self.aliases
        keys = [show_class(key, show) for key in self.classes]
        watermark = plus("watermark", -below, time_type)
        final = plus(event_time(self.left, left), self.own_delay, time_type)
        reach = self.lo + self.own_delay
        columns = tuple(str(one.columns[1]) for one in self.classes)
        sliding = SlidingAggregate(self.right, columns, self.aggregates, self.schema)
        added = show_ticks(self.own_delay, time_type)
        return said(
            ("algorithm", f"a sliding aggregate of {right} per key, read by each row of {left}"),
            (
                "counted",
                [
                    show_bound(left, right, self.lo, self.hi, time_type) + ", ends included",
                    *keys,
                ],
            ),
            ("unmatched", f"rows of {left} with nothing to count: COUNT 0, all else NULL"),
            ("keeps", sliding.kept_per_group(is_steady=True)),
            ("final", f"a row of {left} once {watermark} > {final}"),
            (
                "retention",
                [
                    drop_condition(self.left, left, self.own_delay, below, time_type),
                    f"{drop_condition(self.right, right, reach, below, time_type)} + 1 tick",
                ],
            ),
            (
                "state",
                [
                    state_bound(self, self.left, left, self.own_delay, below),
                    alive_bound(self, self.right, right, reach, below).also(
                        ", and one accumulator row per key in reach"
                    ),
                    *sliding.values_in_state(has_ends=True, is_steady=True),
                ],
            ),
            (
                "emits",
                f"{ONCE_FINAL}; adds {f'a delay of {added}' if self.own_delay else 'no delay'}",
            ),
            ("why", sliding.cost_of_a_change(is_steady=True)),
        )

    @property
    def brief(self) -> str:
        """What it joins, and counts."""
        return f"{self.about} {self.title.partition(' ')[2]}"

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"RangeAggregate {' with '.join(self.aliases)}: {show_aggregates(self.aggregates)}"
