"""What the planner has estimated of a window join, for EXPLAIN: numbers, where they are from, and plans by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windrow.physical.algorithms import PIPELINE
from windrow.physical.structures import NAMES
from windrow.plan.statistics import ASSUMED, Figure

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


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


def plan_name(node: MultiJoin) -> str:
    """The algorithm or the structures, and the order where it is not the usual one.

    Examples of names: `bew-hash`, `hash/ttree`, `bew-hash, order c, a, b`. Of two streams each
    meets the other, in whatever order: only a pipeline has one.
    """
    if node.structures:
        return "/".join(node.structures)
    name = f"{node.algorithm}-{node.method}" if node.chosen.says_method else node.algorithm
    return f"{name}, order {_order(node)}" if _has_order(node) else name


def plan_kind(node: MultiJoin) -> str:
    """The name without the order itself: there are few of these, whatever the numbers are."""
    usual = plan_name(replace(node, orders=()))
    return f"{usual}{ORDERED}" if _has_order(node) else usual


def plan_kinds(node: MultiJoin) -> tuple[str, ...]:
    """The kinds of a plan in the usual order, and in another one where it has any."""
    usual = plan_kind(replace(node, orders=()))
    return (usual, f"{usual}{ORDERED}") if len(node.inputs) > 2 else (usual,)


def is_of_structures(name: str) -> bool:
    """Whether a name of a plan is a pair of structures."""
    return set(name.split("/")) <= set(NAMES)


def _has_order(node: MultiJoin) -> bool:
    is_pipeline = node.chosen.kind == PIPELINE
    return bool(node.orders) and (is_pipeline or len(node.inputs) > 2)


def _order(node: MultiJoin) -> str:
    """One order for all, where there is one; else for each input its own."""
    if node.chosen.kind == PIPELINE:
        return _listed(node, node.orders[0])
    # An order for all, less its first stream, is what that stream's own tuples meet.
    for start, others in enumerate(node.orders):
        together = (start, *others)
        if all(
            own == tuple(one for one in together if one != at) for at, own in enumerate(node.orders)
        ):
            return _listed(node, together)
    return "; ".join(
        f"{node.aliases[start]}: {_listed(node, others)}"
        for start, others in enumerate(node.orders)
    )


def _listed(node: MultiJoin, numbers: tuple[int, ...]) -> str:
    return ", ".join(node.aliases[one] for one in numbers)
