"""What the planner estimates of a window join, for EXPLAIN: numbers, their origin, costs of plans."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.physical.structures import NAMES
from windrow.plan.statistics import ASSUMED, Figure

CHANGED = 4.0
"""Numbers that have become so many times as high, or as low, are a reason to plan again."""


def is_near(number: float, planned: float) -> bool:
    """Whether a number is still about what a plan was made for."""
    return planned / CHANGED <= number <= planned * CHANGED


@dataclass(frozen=True)
class PlanCost:
    """A plan and what it costs.

    Attributes:
        name: as `algorithm` or `structure` would ask for it.
        seconds: of processor per tick of event time.
        note: why it is not taken though it may cost less; "" where cost alone decides.
    """

    name: str
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Estimate:
    """What is known of a join, and what its plans cost.

    Attributes:
        known: the numbers that costs were made from, each with its name: "rate(a)", "keys(a.k)",
            "share(a.x < b.x)".
        missing: what would have to be given for an estimate: "rate= of a" for instance.
        reason: why there is none, where nothing that could be given would help.
        output: results per tick.
        plans: all that could run, the one taken first, the others by their cost.
        weights: whose costs of single operations these are.
        is_decisive: whether costs decided; else the user did, or some number was assumed.
    """

    known: tuple[tuple[str, Figure], ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""
    output: float = 0.0
    plans: tuple[PlanCost, ...] = ()
    weights: str = ""
    is_decisive: bool = False

    @property
    def is_guessed(self) -> bool:
        """Whether some number was assumed."""
        return any(ASSUMED in figure.source for _, figure in self.known)


ONE_PLAN = Estimate(reason="a join of what is alive has one plan")


ORDERED = ", ordered by cost"
"""What the kind of a plan ends with whose order is not the usual one."""


def is_of_structures(name: str) -> bool:
    """Whether a name of a plan is a pair of structures."""
    return set(name.split("/")) <= set(NAMES)
