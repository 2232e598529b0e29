"""The inner join by time windows: the one of which several plans are weighed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from windrow.physical.algorithms import ALGORITHMS, ASYMMETRIC, DEFAULT, SWEEP
from windrow.physical.explain.algorithm_facts import structure_facts
from windrow.physical.explain.facts import Fact
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.options import Options
from windrow.physical.structures import USUAL, PartSizes


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
