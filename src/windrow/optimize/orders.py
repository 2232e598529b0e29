"""The order in which new tuples meet the streams of a join, where the user says it."""

from __future__ import annotations

from windrow.errors import PlanError
from windrow.physical.options import Options
from windrow.physical.specs import Spec, WJoin, inputs
from windrow.plan.nodes import WindowJoin


def names_in(order: object) -> tuple[str, ...]:
    """The streams in `c, a, b`.

    Raises:
        PlanError: it is no list of different names.
    """
    names = tuple(name.strip() for name in order.split(",")) if isinstance(order, str) else ()
    if len(names) < 2 or not all(names) or len({name.lower() for name in names}) < len(names):
        raise PlanError(
            "bad-order",
            f"order = {order!r} does not say in which order streams are met",
            hint="every stream of the join once, as the query calls it: 'c, a, b'",
        )
    return names


def orders_of(node: WindowJoin, options: Options) -> tuple[tuple[int, ...], ...]:
    """Per input, the others in the order that the user asked for; () where that is another join's.

    Every new tuple goes through the streams in that order, and leaves out its own.
    """
    if options.order is None or node.kind != "inner" or node.counts is not None:
        return ()
    at = {alias.lower(): number for number, alias in enumerate(node.aliases)}
    asked = [at.get(name.lower(), -1) for name in names_in(options.order)]
    if sorted(asked) != list(range(len(node.aliases))):
        return ()
    return tuple(tuple(one for one in asked if one != start) for start in range(len(asked)))


def check_order(root: Spec, options: Options) -> None:
    """Refuses an order that no join of the query could follow."""
    if options.order is None or _is_followed(root):
        return
    joins = _joins(root)
    named = f"the join of {', '.join(joins[0].aliases)}" if joins else "a join"
    raise PlanError(
        "order-of-other-streams",
        f"order = {options.order!r} does not name the streams of {named}",
        reason="" if joins else "the query joins no streams by windows",
        hint="every stream of an inner join by time once, as the query calls it"
        if joins
        else "leave it out",
    )


def _is_followed(spec: Spec) -> bool:
    return any(join.orders for join in _joins(spec))


def _joins(spec: Spec) -> list[WJoin]:
    below = [join for child in inputs(spec) for join in _joins(child)]
    return [spec, *below] if isinstance(spec, WJoin) else below
