"""The inner join by time windows: the one of which several plans are weighed.

And the same where it may hold and do less than all of its rows take.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Self

from windrow.physical.algorithms import ALGORITHMS, ASYMMETRIC, DEFAULT, SWEEP
from windrow.physical.explain.algorithm_facts import structure_facts
from windrow.physical.explain.facts import Fact
from windrow.physical.load_shedding.facts import (
    check_enough,
    shed_emission,
    shed_facts,
    shed_limit,
    shed_probes,
    shed_state,
    shed_warnings,
)
from windrow.physical.load_shedding.limits import (
    OF_A_STRUCTURE,
    OF_AN_INDEX,
    OF_ITS_OWN,
    Shedding,
    pane_ticks,
)
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.options import Options
from windrow.physical.structures import USUAL, PartSizes
from windrow.schema import Schema


@dataclass(frozen=True)
class TimeJoin(MultiJoin):
    """Inner join of rows that lie within the windows of one another.

    Attributes:
        algorithm: by which algorithm, one of `physical.algorithms.ALGORITHMS`.
        structures: of the algorithm "asymmetric", per input the structure of its window.
        sizes: how large buckets and nodes are made, wherever structures are.
    """

    algorithm: str = DEFAULT
    structures: tuple[str, ...] = ()
    sizes: PartSizes = USUAL

    alternatives: ClassVar[tuple[str, ...]] = ("few", "hw", "nlw", ASYMMETRIC)

    def __post_init__(self) -> None:
        """Has its algorithm with it: a worker need not know of what a driver was told."""
        object.__setattr__(self, "chosen", ALGORITHMS[self.algorithm])

    @property
    def is_in_structures(self) -> bool:
        """By one algorithm."""
        return self.algorithm == ASYMMETRIC

    @property
    def has_usual_sizes(self) -> bool:
        """Unless the user asks for others."""
        return self.sizes == USUAL

    def _algorithm_facts(self, options: Options, keys: str) -> list[Fact]:
        """By its structures where it has any."""
        if self.structures:
            return structure_facts(self, options, keys)
        return super()._algorithm_facts(options, keys)

    @property
    def _usual_name(self) -> str:
        return "/".join(self.structures) or super()._usual_name

    @property
    def _has_order(self) -> bool:
        return not self.structures and super()._has_order

    @property
    def _way(self) -> tuple[object, ...]:
        return *super()._way, self.structures

    @property
    def has_plans(self) -> bool:
        """Unless windows may be read either way."""
        return self.alternative is None

    @property
    def can_expire(self) -> bool:
        """Where every row has an end, and windows are read one way."""
        return self.has_plans and all(child.alive_ticks is not None for child in self.inputs)

    @property
    def joins_what_is_alive(self) -> bool:
        """Where every window is as long as the rows are alive."""
        return self.windows_are_lifetimes

    def by(
        self,
        algorithm: str,
        method: str,
        orders: tuple[tuple[int, ...], ...] = (),
        structures: tuple[str, ...] = (),
    ) -> Self:
        """The same join by another plan."""
        return replace(
            self, algorithm=algorithm, method=method, orders=orders, structures=structures
        )

    @property
    def follows_a_batch(self) -> bool:
        """Where it takes tuple by tuple."""
        return not self.is_backward

    @property
    def operator(self) -> str:
        """That of its algorithm."""
        return self.chosen.operator

    def _emission(self) -> str:
        if self.chosen.kind == SWEEP:
            return "each combination once the watermark has passed its newest tuple; adds no delay"
        return super()._emission()


@dataclass(frozen=True)
class SheddingJoin(TimeJoin):
    """An inner join by time of which a random part of tuples is kept, or probes.

    Where totals are estimated from its results, `schema` ends with `physical.load_shedding.limits.hidden_fields`.

    Attributes:
        shedding: what it may hold and do.
    """

    shedding: Shedding = field(kw_only=True)

    identity_later = ("shedding",)
    alternatives = (ASYMMETRIC,)
    demand = "windrow.run.spark.shed_bucket_demand:ShedDemand.of"
    workload = "windrow.optimize.load_shedding.expected:left_workload"
    is_limited = True

    @classmethod
    def of(cls, join: TimeJoin, shedding: Shedding, schema: Schema) -> SheddingJoin:
        """A join as far as memory and processor go, with the columns that totals need."""
        own = {entry.name: getattr(join, entry.name) for entry in fields(TimeJoin)}
        return cls(**own | {"schema": schema}, shedding=shedding)

    @property
    def pane(self) -> int:
        """Ticks of event time for which it decides at once."""
        return pane_ticks(self.shortest, self.shedding.panes)

    @property
    def bucket_keys(self) -> tuple[KeyClass, ...]:
        """None: its buckets are told of one another."""
        return ()

    @property
    def can_expire(self) -> bool:
        """Rows may go before their end."""
        return False

    @property
    def joins_what_is_alive(self) -> bool:
        """Not of all rows."""
        return False

    @property
    def sheds(self) -> bool:
        """Unless it fails rather than leave probes out, and holds all."""
        return self.shedding.sheds

    @property
    def probe_limit(self) -> str:
        """By its service rate."""
        return shed_probes(self)

    @property
    def is_for_what_is_left(self) -> bool:
        """Once all rates are known."""
        return self.shedding.expected is not None

    @property
    def shed_row_bytes(self) -> int:
        """By its keys and other conditions.

        The windows of two inputs may be kept in structures. Their tuples take as much whether they are
        or not: how they are looked up decides neither who is drawn nor how many.
        """
        indexes = OF_AN_INDEX * (max(1, len(self.classes)) + len(self.predicates))
        return OF_ITS_OWN + (max(indexes, OF_A_STRUCTURE) if len(self.inputs) == 2 else indexes)

    def in_bucket(self, buckets: int) -> SheddingJoin:
        """The same with an equal part of what it may hold and do."""
        part = replace(self, shedding=self.shedding.part(buckets))
        check_enough(part, buckets)
        return part

    @property
    def own_delay(self) -> int:
        """It decides once a pane is over."""
        return self.pane

    @property
    def operator(self) -> str:
        """By backward evaluation, or by structures that follow what is kept."""
        if self.is_in_structures:
            return "windrow.operators.load_shedding.structured_join:StructuredShedJoinOp"
        return "windrow.operators.load_shedding.join:ShedJoinOp"

    def _own_facts(self, below: int) -> list[Fact]:  # noqa: ARG002
        return shed_facts(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """How little is expected of it."""
        return shed_warnings(self)

    def _own_limit(self) -> list[str]:
        return shed_limit(self)

    def _own_state(self) -> list[str]:
        return shed_state(self)

    def _emission(self) -> str:
        return shed_emission(self)
