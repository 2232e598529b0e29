"""The share of combinations that pass each condition of a join beside its equalities."""

from __future__ import annotations

from windrow.optimize.numbers import Numbers, assumed_share
from windrow.physical.specs import WJoin
from windrow.plan.exprs import Expr
from windrow.plan.statistics import Figure


def shares(spec: WJoin, numbers: Numbers) -> list[Figure]:
    """Per predicate, the share that passes, looked up in the data where that can be."""
    return [
        _within(spec, predicate, numbers)
        or numbers.passing((predicate,), spec.inputs)
        or assumed_share(predicate)
        for predicate in spec.predicates
    ]


def _within(spec: WJoin, predicate: Expr, numbers: Numbers) -> Figure | None:
    """The share of one that is one band: all pairs of a sample are compared, not some."""
    if len(predicate.bands) != 1:
        return None
    band = predicate.bands[0]
    sides = [
        next(child for child in spec.inputs if column in child.schema.names)
        for column in (band.left, band.right)
    ]
    return numbers.within((sides[0], band.left), (sides[1], band.right), band)
