"""Plans of a window join by name, as the options would ask for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.physical.algorithms import PIPELINE
from windrow.physical.structures import NAMES

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin

ORDERED = ", ordered by cost"


def plan_name(spec: MultiJoin) -> str:
    """The algorithm or the structures, and the order where it is not the usual one.

    Examples of names: `bew-hash`, `hash/ttree`, `bew-hash, order c, a, b`. Of two streams each
    meets the other, in whatever order: only a pipeline has one.
    """
    if spec.structures:
        return "/".join(spec.structures)
    name = f"{spec.algorithm}-{spec.method}" if spec.chosen.says_method else spec.algorithm
    return f"{name}, order {_order(spec)}" if _has_order(spec) else name


def plan_kind(spec: MultiJoin) -> str:
    """The name without the order itself: there are few of these, whatever the numbers are."""
    usual = plan_name(replace(spec, orders=()))
    return f"{usual}{ORDERED}" if _has_order(spec) else usual


def plan_kinds(spec: MultiJoin) -> tuple[str, ...]:
    """The kinds of a plan in the usual order, and in another one where it has any."""
    usual = plan_kind(replace(spec, orders=()))
    return (usual, f"{usual}{ORDERED}") if len(spec.inputs) > 2 else (usual,)


def is_of_structures(name: str) -> bool:
    """Whether a name of a plan is a pair of structures."""
    return set(name.split("/")) <= set(NAMES)


def _has_order(spec: MultiJoin) -> bool:
    is_pipeline = spec.chosen.kind == PIPELINE
    return bool(spec.orders) and (is_pipeline or len(spec.inputs) > 2)


def _order(spec: MultiJoin) -> str:
    """One order for all, where there is one; else for each input its own."""
    if spec.chosen.kind == PIPELINE:
        return _listed(spec, spec.orders[0])
    # An order for all, less its first stream, is what that stream's own tuples meet.
    for start, others in enumerate(spec.orders):
        together = (start, *others)
        if all(
            own == tuple(one for one in together if one != at) for at, own in enumerate(spec.orders)
        ):
            return _listed(spec, together)
    return "; ".join(
        f"{spec.aliases[start]}: {_listed(spec, others)}"
        for start, others in enumerate(spec.orders)
    )


def _listed(spec: MultiJoin, numbers: tuple[int, ...]) -> str:
    return ", ".join(spec.aliases[one] for one in numbers)
