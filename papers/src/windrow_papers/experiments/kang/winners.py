"""The winner that the model predicts at each rate, against the one that runs show.

The model's weights come from searches alone and updates alone; the runs are whole joins. Both are
read off two meters, counted work and time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from windrow.optimize.cost.structures import Sizes, Weights
from windrow_papers.cost.combinations import Combination, Workload, combination_cost
from windrow_papers.cost.crossovers import PAPER_STRUCTURES, reigns
from windrow_papers.experiments.claims import Reading
from windrow_papers.experiments.kang.joins import Metered

WHY_NOT_PREDICTED = (
    "the weights come from searches alone and updates alone; a join alternates between the two, "
    "and between its windows, so that a touched tuple costs it more or less than that, by a larger "
    "part than these combinations differ"
)
NEAR = 0.05
"""How much of all arrivals may change sides until a crossover is passed, for it to be near."""

Costs = Mapping[Combination, float]
"""What combinations cost per arrival."""


@dataclass(frozen=True)
class Meeting:
    """Combinations under one workload.

    Attributes:
        workload: the rates and windows.
        predicted: what the model says.
        measured: what runs say.
        is_near: whether a predicted crossover is near.
    """

    workload: Workload
    predicted: Costs
    measured: Costs
    is_near: bool

    @property
    def agree(self) -> bool:
        """Whether the predicted winner won."""
        return winner(self.predicted) == winner(self.measured)

    @property
    def lost(self) -> float:
        """How many times the best the predicted winner costs."""
        return self.measured[winner(self.predicted)] / min(self.measured.values())


def winner(costs: Costs) -> Combination:
    """The cheapest combination."""
    return min(costs, key=lambda one: costs[one])


def predicted_costs(
    combinations: Sequence[Combination], workload: Workload, weights: Weights, sizes: Sizes
) -> Costs:
    """What the model says each costs per arrival."""
    arrivals = workload.rate_a + workload.rate_b
    return {
        one: combination_cost(one, workload, weights, sizes).total / arrivals
        for one in combinations
    }


def meeting(
    workload: Workload,
    weights: Weights,
    sizes: Sizes,
    runs: Mapping[Combination, Metered],
    read: Callable[[Metered], float],
) -> Meeting:
    """The model and the runs under one workload, on one meter."""
    return Meeting(
        workload,
        predicted_costs(list(runs), workload, weights, sizes),
        {one: read(run) for one, run in runs.items()},
        _is_near_crossover(workload, weights, sizes),
    )


def _is_near_crossover(workload: Workload, weights: Weights, sizes: Sizes) -> bool:
    windows = workload.window_a, workload.window_b
    share = workload.rate_a / (workload.rate_a + workload.rate_b)
    crossovers = [reign.first for reign in reigns(*windows, weights, sizes, PAPER_STRUCTURES)[1:]]
    return any(abs(share - ratio / (1 + ratio)) <= NEAR for ratio in crossovers)


def agreement(meetings: Sequence[Meeting]) -> Reading:
    """The predicted winner won wherever no crossover is near."""
    away = [one for one in meetings if not one.is_near]
    agreed = sum(one.agree for one in away)
    near = len(meetings) - len(away)
    text = f"{agreed} of {len(away)} rates, {near} more being near a crossover"
    others = [one for one in away if not one.agree]
    if others:
        text += f"; {', '.join(map(_disagreement, others))}"
    return Reading(agreed / len(away), text, holds=not others)


def _disagreement(one: Meeting) -> str:
    return (
        f"at {one.workload.rate_a:g}/{one.workload.rate_b:g} {winner(one.measured)} won, and "
        f"{winner(one.predicted)} cost {one.lost:.2f} x"
    )
