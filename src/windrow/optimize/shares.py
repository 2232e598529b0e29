"""The share of combinations that pass each condition of a join beside its equalities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from windrow.optimize.plan_statistics import PlanStatistics, assumed_share
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.routes import predicate_inputs
from windrow.plan.exprs import Expr
from windrow.plan.statistics import Figure

MOST_PREDICATES = 6
"""Conditions of a join up to which pairs of them are looked up together."""

TELLING = 0.001
"""The least share by which two conditions are expected to pass that a sample can correct."""


def shares(spec: MultiJoin, numbers: PlanStatistics) -> list[Figure]:
    """Per predicate, the share that passes, looked up in the data where that can be."""
    return [
        _within(spec, predicate, numbers)
        or numbers.passing((predicate,), spec.inputs)
        or assumed_share(predicate)
        for predicate in spec.predicates
    ]


def _within(spec: MultiJoin, predicate: Expr, numbers: PlanStatistics) -> Figure | None:
    """The share of one that is one band: all pairs of a sample are compared, not some."""
    if len(predicate.bands) != 1:
        return None
    band = predicate.bands[0]
    sides = [
        next(child for child in spec.inputs if column in child.schema.names)
        for column in (band.left, band.right)
    ]
    return numbers.within((sides[0], band.left), (sides[1], band.right), band)


def shares_together(
    spec: MultiJoin, passing: Sequence[Figure], numbers: PlanStatistics
) -> dict[tuple[int, int], Figure]:
    """Per two predicates that share a stream, the share that passes both, where data tells it.

    `a.x < b.x - 900 AND b.x < c.x - 50`: what passes the first has a large b.x, and hardly ever the second.
    """
    if len(passing) > MOST_PREDICATES:
        return {}
    found, read = {}, predicate_inputs(spec)
    for one, other in combinations(range(len(passing)), 2):
        is_apart = len(read[one] | read[other]) < 3 or read[one].isdisjoint(read[other])
        if is_apart or passing[one].value * passing[other].value < TELLING:
            continue
        together = (spec.predicates[one], spec.predicates[other])
        figure = numbers.passing(together, spec.inputs)
        if figure is not None:
            found[one, other] = figure
    return found
