"""Weights: what touching one tuple costs, by structure and kind of operation."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.cost.structures import Structure


@dataclass(frozen=True)
class Weight:
    """The cost of touching one tuple while searching, and while updating."""

    search: float
    update: float


@dataclass(frozen=True)
class Weights:
    """The weights of every structure.

    Attributes:
        buffer: a plain buffer.
        hash: a hash table with ordered buckets.
        btree: a B+tree.
        ttree: a T-tree.
        unit: what costs made with these weights are counted in.
    """

    buffer: Weight
    hash: Weight
    btree: Weight
    ttree: Weight
    unit: str

    def of(self, structure: Structure) -> Weight:
        """The weight of a structure."""
        match structure:
            case Structure.buffer:
                return self.buffer
            case Structure.hash:
                return self.hash
            case Structure.btree:
                return self.btree
            case Structure.ttree:
                return self.ttree


PAPER = Weights(
    buffer=Weight(search=3e-4, update=1e-4),
    hash=Weight(search=5.5e-4, update=7.8e-4),
    btree=Weight(search=2.6e-4, update=2.6e-4),
    ttree=Weight(search=2.6e-4, update=2.7e-4),
    unit="units of the paper",
)
"""Equation 7: as measured in Java on a machine of 2002."""
