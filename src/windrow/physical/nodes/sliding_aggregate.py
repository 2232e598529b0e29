"""The node of GROUP BY over the rows alive at each instant."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from windrow.physical.explain.facts import (
    Fact,
    Show,
    alive_bound,
    drop_condition,
    lifetime,
    plus,
    said,
    source_name,
)
from windrow.physical.nodes.shapes import MakesChanges, OneInput, fields_of
from windrow.physical.partitioning.buckets import Partitioning, by_keys
from windrow.plan.aggregates.function import Kept, Merging
from windrow.plan.nodes.window_aggregate import Aggregate, WindowAggregate
from windrow.plan.texts import show_aggregate, show_aggregates

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode, Request
    from windrow.physical.options import Options
    from windrow.schema import Schema


FEW_ROWS = 256
"""So many rows without an end are kept as they come where values are kept, and cancel out later."""


@dataclass(frozen=True)
class SlidingAggregate(MakesChanges, OneInput):
    """Aggregates per group over the rows alive at each instant, as a changelog.

    `keys` and every aggregate's argument are plain columns of the input (a projection below
    computes them). Output: keys under their own names, then aggregates.

    `is_merged`: rows that come and go together were added up before they reach it.
    """

    input: PhysicalNode
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    schema: Schema
    is_merged: bool = False

    identity_fields = ("input", "keys", "aggregates", "schema")
    identity_later: ClassVar[tuple[str, ...]] = ("is_merged",)
    is_stateful = True
    works_on_signs = True
    hears_of_expiry = True
    has_versions = True  # a group's row changes with its aggregates
    about = "sliding aggregate"
    operator = "windrow.operators.aggregates.sliding_aggregate:SlidingAggregateOp"

    @classmethod
    def of(cls, node: WindowAggregate, request: Request) -> SlidingAggregate:
        """That of GROUP BY."""
        keys = tuple(key.name for key in node.keys)
        return cls(request.inputs[0], keys, node.aggregates, node.schema)

    @property
    def may_be_merged(self) -> bool:
        """Whether rows of equal time, end and sign become few, without GROUP BY to spread them.

        Counts and sums, and what follows from these, add up to one row. Of values of which the least
        or the greatest is asked for no others need go on, as long as none is taken back by its value.
        """
        if self.keys or any(each.is_distinct for each in self.aggregates):
            return False
        merged = [(each.definition.merging, each.argument) for each in self.aggregates]
        added = {argument for how, argument in merged if how is Merging.added}
        outermost = {argument for how, argument in merged if how is Merging.outermost}
        only_end = self.input.has_ends and not self.input.has_state
        return (
            all(how is not None for how, _ in merged)
            and not added & outermost
            and (only_end or not outermost)
        )

    @property
    def has_totals(self) -> bool:
        """If it has aggregates."""
        return bool(self.aggregates)

    @property
    def needs_all_rows(self) -> str:
        """One aggregate has estimates; one of those has none."""
        above = any(node.has_versions for node in self.input.walk())
        return "an aggregate of an aggregate" if above else ""

    @property
    def held_inputs(self) -> tuple[PhysicalNode, ...] | None:
        """The rows, where these end or where some aggregate cannot take a value back."""
        subtracts = all(a.definition.adds_up and not a.is_distinct for a in self.aggregates)
        return (self.input,) if self.input.has_ends or not subtracts else ()

    def in_bucket(self, buckets: int) -> PhysicalNode:  # noqa: ARG002
        """The same of rows that tasks have added up, where they can."""
        return replace(self, is_merged=self.may_be_merged)

    @property
    def combiner(self) -> str:
        """Where rows that come and go together are added up."""
        return "windrow.operators.aggregates.merged_rows:merged_rows" if self.is_merged else ""

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"{type(self).__name__} {show_aggregates(self.aggregates) or self._groups()}"

    @property
    def brief(self) -> str:
        """What it computes; GROUP BY alone tells which groups there are."""
        return super().brief if self.aggregates else f"groups {self._groups()}"

    def _groups(self) -> str:
        """What the rows of a group agree in, as the user wrote it."""
        texts = {item.name: item.expr.text for item in self.input.computed_columns or ()}
        return f"by {', '.join(texts.get(key, key) for key in self.keys)}"

    def partitioning(self, buckets: int) -> Partitioning:
        """By the group keys."""
        return by_keys(self.keys, buckets, "an aggregate without GROUP BY has one group; GROUP BY")

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """What is kept per group, and what a change costs."""
        below = self.input.delay
        keys = ", ".join(map(show, self.keys))
        source, alive = source_name(self.input), self.input.alive_ticks
        trailing = plus("the watermark", -below, self.time_type)
        is_steady = self.input.leaves_in_order
        accumulators = self.kept_per_group(is_steady=is_steady)
        if keys:
            accumulators.append("the number of rows alive, to know when a group is gone")
        return said(
            *self._own_facts(),
            ("groups", f"one per {keys}" if keys else "one, from the first event on"),
            ("rows", lifetime(self.input, alive)),
            ("keeps", accumulators),
            ("retention", self._expiry(source, alive, below)),
            (
                "state",
                [
                    self._bound(source, alive, below),
                    *self.values_in_state(has_ends=alive is not None, is_steady=is_steady),
                ],
            ),
            ("emits", f"the changes of each instant below {trailing}, net, deletes before inserts"),
            ("why", self.cost_of_a_change(is_steady=is_steady)),
        )

    def _own_facts(self) -> list[Fact]:
        """What one of a special kind adds, in front of all others."""
        return []

    def _group_state(self) -> str:
        """What is held beside the rows alive."""
        return "one accumulator row per group" if self.keys else "one accumulator row"

    def _expiry(self, source: str, alive: int | None, below: int) -> list[str]:
        """A row goes with the change that its expiry makes, one tick after its last instant."""
        if alive is None:
            return []
        condition = drop_condition(self.input, source, alive, below, self.time_type)
        return [f"{condition} + 1 tick, when its expiry is out"]

    def _bound(self, source: str, alive: int | None, below: int) -> str:
        groups = self._group_state()
        if alive is None:
            return groups
        return alive_bound(self, self.input, source, alive, below).also(f", and {groups}")

    def kept_per_group(self, *, is_steady: bool) -> list[str]:
        """What is kept for each; `is_steady`: all rows live equally long, and leave as they came."""
        return [
            f"{show_aggregate(each)}: {self._words(each, is_steady=is_steady)}"
            for each in self.aggregates
        ]

    def _words(self, aggregate: Aggregate, *, is_steady: bool) -> str:
        kept = self._kept(aggregate, is_steady=is_steady)
        if not aggregate.is_distinct:
            return kept.words
        return f"{kept.of_distinct or kept.words}; of each value the number of its copies"

    def _kept(self, aggregate: Aggregate, *, is_steady: bool) -> Kept:
        """What is kept for an aggregate, less where all that share its accumulator can do with less."""
        own = aggregate.definition
        sharing = [
            each.definition
            for each in self.aggregates
            if each.argument == aggregate.argument
            and each.definition.accumulator == own.accumulator
        ]
        has_less = is_steady and all(each.kept_in_order for each in sharing)
        return (own.kept_in_order if has_less else None) or own.kept

    def values_in_state(self, *, has_ends: bool, is_steady: bool) -> list[str]:
        """What is kept beside one accumulator row per group, and is made from the rows alive.

        `has_ends`: rows end by themselves, and wait for that; others are kept for their values.
        """
        beside: dict[str, list[str]] = {}
        for each in self.aggregates:
            if words := self._kept(each, is_steady=is_steady).beside:
                beside.setdefault(words, []).append(show_aggregate(each))
        kept = [f"{', '.join(names)}: {words}" for words, names in beside.items()]
        if any(each.is_distinct for each in self.aggregates):
            kept.append("the copies of each distinct value, made again from the rows alive")
        if kept and not has_ends:
            kept.append(
                f"the rows alive, and those that cancel out: never above 2 x alive + {FEW_ROWS}"
            )
        return kept

    def cost_of_a_change(self, *, is_steady: bool) -> list[str]:
        """Why the aggregate is computed as it is."""
        kept = [(each, self._kept(each, is_steady=is_steady)) for each in self.aggregates]
        costs: dict[str, list[str]] = {}
        for each, own in sorted(kept, key=lambda pair: pair[1] is pair[0].definition.kept):
            if own.cost:
                costs.setdefault(own.cost, []).append(show_aggregate(each))
        said = ["expiring rows are subtracted: a change costs its own rows, not the window"]
        return said + [f"{', '.join(names)}: {cost}" for cost, names in costs.items()]


@dataclass(frozen=True)
class EstimatingAggregate(SlidingAggregate):
    """Aggregates per group, estimated from the combinations that a join which sheds has found.

    The rows carry `physical.load_shedding.limits.hidden_fields`. Each aggregate gives three columns, the
    estimate and the ends of its interval.

    Attributes:
        estimated_from: how many inputs the join has.
    """

    estimated_from: int = field(kw_only=True)

    identity_name = "SlidingAggregate"
    identity_later = ("estimated_from", "is_merged")
    estimates = True
    may_be_merged = False
    works_on_signs = False
    held_inputs = None
    hears_of_expiry = False  # rows of a join that sheds end by themselves
    operator = "windrow.operators.load_shedding.estimating_aggregate:EstimatingAggregateOp"

    @classmethod
    def over(
        cls, node: SlidingAggregate, inputs: int, aggregates: tuple[Aggregate, ...], schema: Schema
    ) -> EstimatingAggregate:
        """That of an aggregate over a join of so many inputs that sheds."""
        own = fields_of(node, SlidingAggregate) | {"aggregates": aggregates, "schema": schema}
        return cls(**own, estimated_from=inputs)

    def _own_facts(self) -> list[Fact]:
        """What its answers are, and how they come about."""
        return said(
            (
                "estimates",
                [
                    "each with its 95% interval, from _low to _high: the join below sheds",
                    "where nothing was shed they are exact, and both ends are the value",
                ],
            ),
            (
                "how",
                [
                    "a combination found weighs 1 / its chance (Horvitz and Thompson)",
                    "variance: squares of the sums over combinations that share a tuple, by each of the"
                    f" {2**self.estimated_from - 1} sets of streams; Student's quantile",
                ],
            ),
        )

    def kept_per_group(self, *, is_steady: bool) -> list[str]:  # noqa: ARG002
        """What each is estimated by."""
        return [
            f"{show_aggregate(each)}: {each.definition.estimated_by}" for each in self.aggregates
        ]

    def _group_state(self) -> str:
        """Sums over sets of streams, too."""
        return f"{super()._group_state()}, and at most {2**self.estimated_from - 2} sums per row"
