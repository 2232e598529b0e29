"""The order in which new tuples meet the streams of a join, where the user says it."""

from __future__ import annotations

from windrow.errors import PlanError
from windrow.physical.algorithms import ALGORITHMS, PIPELINE
from windrow.physical.explain.cost_facts import NO_WINDOW_JOIN
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.option_values import ALL, asked_order
from windrow.physical.options import Options
from windrow.plan.nodes.window_join import WindowJoin


def orders_of(node: WindowJoin, algorithm: str, options: Options) -> tuple[tuple[int, ...], ...]:
    """Per input, the others in the order that the user asked for; () where that is another join's.

    Of one order for all, every new tuple leaves out its own stream. A pipeline has one order alone.

    Raises:
        PlanError: a pipeline is given an order for each stream.
    """
    if options.order is None or node.kind != "inner":
        return ()
    at = {alias.lower(): number for number, alias in enumerate(node.aliases)}
    asked = {
        start: tuple(at.get(name, -1) for name in names)
        for start, names in asked_order(options.order).items()
    }
    everyone = list(range(len(node.aliases)))
    is_pipeline = ALGORITHMS[algorithm].kind == PIPELINE
    if ALL in asked:
        together = asked[ALL]
        if sorted(together) != everyone:
            return ()
        if is_pipeline:
            return (together,)
        return tuple(tuple(one for one in together if one != start) for start in everyone)
    orders = {at.get(start, -1): others for start, others in asked.items()}
    if sorted(orders) != everyone or any(
        sorted((start, *others)) != everyone for start, others in orders.items()
    ):
        return ()
    if is_pipeline:
        raise PlanError(
            "bad-order",
            f"order = {options.order!r} gives each stream an order of its own",
            reason="a pipeline has one order, from its bottom to its top",
            hint=f"every stream of the join once: '{', '.join(node.aliases)}'",
            span=node.span,
        )
    return tuple(orders[start] for start in everyone)


def check_order(root: PhysicalNode, options: Options) -> None:
    """Refuses an order that no join of the query could follow."""
    if options.order is None or _is_followed(root):
        return
    joins = root.window_joins
    named = f"the join of {', '.join(joins[0].aliases)}" if joins else "a join"
    others = " and ".join(root.spoken_names)
    reason = f"{others} joins two, in no order" if others else NO_WINDOW_JOIN
    raise PlanError(
        "order-of-other-streams",
        f"order = {options.order!r} does not name the streams of {named}",
        reason="" if joins else reason,
        hint="every stream of an inner join once, as the query calls it"
        if joins
        else "leave it out",
    )


def _is_followed(node: PhysicalNode) -> bool:
    return any(join.orders for join in node.window_joins)
