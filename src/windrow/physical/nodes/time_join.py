"""The inner join by time windows: the one of which several plans are weighed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from windrow.physical.algorithms import ALGORITHMS, ASYMMETRIC, DEFAULT, SWEEP
from windrow.physical.nodes.multi_join import MultiJoin
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
    def has_usual_sizes(self) -> bool:
        """Unless the user asks for others."""
        return self.sizes == USUAL

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
