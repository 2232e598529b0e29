"""Plans of a window join by name, as the options would ask for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.physical.algorithms import PIPELINE
from windrow.physical.structures import NAMES

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin

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
