"""The dimensions of a bestmatch join: what each compares, in which order, within which limit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.errors import BindError
from windrow.plan.extensions import ORDERS
from windrow.plan.functions import UserFunction
from windrow.plan.nodes.bestmatch_join import MINDIST, SUBSET, YOUNGEST
from windrow.plan.windows import Bound
from windrow.sql.bind.calls import cast_argument, takes
from windrow.sql.bind.dimensions import TEMPORAL, MatchDimension, is_number
from windrow.sql.bind.keys import bare
from windrow.sql.bind.lengths import distance_ticks
from windrow.sql.bind.scope import Scope
from windrow.sql.grammar.clauses import MatchOrder
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import span_of, text_of
from windrow.sql.render.numbers import INTEGERS
from windrow.sql.render.render import Renderer

_BUILT_IN = (MINDIST, SUBSET, YOUNGEST)
_NESTED = ("array<", "map<", "struct<")


@dataclass(frozen=True)
class OrderReader:
    """Reads the dimensions of one bestmatch join."""

    scope: Scope
    renderer: Renderer
    time_type: str

    def read(self, order: exp.Expr) -> tuple[MatchDimension, Bound | None]:
        """The dimension, and the bound on time that its WITHIN states, if it does."""
        assert isinstance(order, MatchOrder)
        name = order.args["order"].lower()
        function = None if name in _BUILT_IN else self._function(order, name)
        left, right = self._sides(order)
        types = self._types(left, right)
        is_time = self._is_event_time(left, 0) and self._is_event_time(right, 1)
        text = text_of(order, self.renderer.sql)
        self._check(order, name, types, function, is_time=is_time)
        given = (left, right)
        if function is not None:
            function, left, right = self._cast(order, function, (left, right), types)
            types, is_time = self._types(left, right), False
        dimension = MatchDimension(
            left,
            right,
            types[0],
            types[1],
            is_time=is_time,
            order=name,
            function=function,
            text=text,
            span=span_of(order),
            given=given,
        )
        within = order.args.get("within")
        if within is None:
            return dimension, None
        if is_time:
            width = distance_ticks(within, self.time_type, self.renderer.sql)
            return dimension, Bound(0, 1, lo=width, hi=width, text=text)
        self._refuse_limit(order, name, function)
        dimension.constrain(within, self.renderer.sql, strict=False)
        return dimension, None

    def _function(self, order: MatchOrder, name: str) -> UserFunction:
        function = self.renderer.functions.get(name) or ORDERS.get(name)
        if function is None:
            raise BindError(
                "unknown-order",
                f"there is no order {order.args['order']}",
                hint="write MINDIST, SUBSET or YOUNGEST, or register an order of your own:"
                f" session.function({name!r}, .., returns='double')",
                span=span_of(order),
            )
        return function

    def _sides(self, order: MatchOrder) -> tuple[exp.Expr, exp.Expr]:
        """What is compared, the left side's first."""
        first, second = (bare(self.scope.resolve(tree)) for tree in (order.this, order.expression))
        sides = [self.scope.sources_in(first), self.scope.sources_in(second)]
        if sides == [{1}, {0}]:
            return second, first
        if sides != [{0}, {1}]:
            raise BindError(
                "dimension-sides",
                f"the dimension {text_of(order, self.renderer.sql)} does not compare the two sides",
                hint=f"name one side before {order.args['order']} and the other after it",
                span=span_of(order),
            )
        return first, second

    def _types(self, *trees: exp.Expr) -> list[str]:
        return [self.renderer.typed(self.scope.schema, [tree])[0].type for tree in trees]

    def _is_event_time(self, tree: exp.Expr, side: int) -> bool:
        return isinstance(tree, exp.Column) and tree.name == self.scope.sources[side].time

    def _check(
        self,
        order: MatchOrder,
        name: str,
        types: list[str],
        function: UserFunction | None,
        *,
        is_time: bool,
    ) -> None:
        """Refuses types that have no such order."""
        if name == MINDIST and (is_time or all(map(is_number, types))):
            return
        if name == MINDIST and types[0] == types[1] and types[0] in TEMPORAL:
            return
        if name == YOUNGEST and is_time:
            return
        if name == SUBSET and types[0] == types[1] and _is_set(types[0]):
            return
        if function is not None:
            _check_order(order, function)
            return
        left, right = (source.time or f"{source.alias}.ts" for source in self.scope.sources)
        reason, hint = {
            MINDIST: (
                "a dimension is a number on both sides, or a date or timestamp of one type",
                "cast it to one of these, or write the column in WHERE as an equality",
            ),
            YOUNGEST: (
                "the age of a pair is that of the event times of both sides",
                f"write {left} YOUNGEST {right}",
            ),
            SUBSET: (
                "sets are arrays on both sides, with elements of one type that is not nested",
                "cast one to the other's type, for instance  CAST(l.tags AS ARRAY<STRING>)",
            ),
        }[name]
        raise BindError(
            "dimension-type",
            f"the dimension {text_of(order, self.renderer.sql)} compares {types[0]} and {types[1]}",
            reason=reason,
            hint=hint,
            span=span_of(order),
        )

    def _cast(
        self,
        order: MatchOrder,
        function: UserFunction,
        sides: tuple[exp.Expr, exp.Expr],
        types: list[str],
    ) -> tuple[UserFunction, exp.Expr, exp.Expr]:
        """The function with the types of its arguments, and both sides in these."""
        declared = function.arguments
        fits, wanted = len(declared or types) == len(types), str(len(declared or types))
        if fits and declared is None:
            fits, wanted = takes(function, 4 if function.is_partial_order else 2)
        if not fits:
            raise BindError(
                "function-arguments",
                f"{function.name} cannot order pairs" + (f": it takes {wanted}" if wanted else ""),
                reason="an order takes the left value of a pair and the right one; a partial order"
                " those of another pair as well",
                hint="register it anew, with the arguments that an order has",
                span=span_of(order),
            )
        if declared is None:
            return replace(function, arguments=(types[0], types[1])), *sides
        left, right = (
            cast_argument(tree, type_, type_wanted, function)
            for tree, type_, type_wanted in zip(sides, types, declared, strict=True)
        )
        return function, left, right

    @staticmethod
    def _refuse_limit(order: MatchOrder, name: str, function: UserFunction | None) -> None:
        if name == SUBSET or (function is not None and function.is_partial_order):
            raise unsupported(
                "bestmatch-order-limit",
                f"WITHIN after {order.args['order']} is not supported",
                "leave it out: only distances, times and orders by a number have limits",
                span_of(order.args["within"]),
            )


def _is_set(type_: str) -> bool:
    return type_.startswith("array<") and not type_.removeprefix("array<").startswith(_NESTED)


def _check_order(order: MatchOrder, function: UserFunction) -> None:
    is_order = function.returns in INTEGERS or (
        is_number(function.returns) and not function.is_partial_order
    )
    if not is_order:
        raise BindError(
            "order-type",
            f"{function.name} gives {function.returns}, which does not order pairs",
            reason="an order gives a number, where less is better, or compares two pairs",
            hint=f"register it anew: session.function({function.name!r}, .., returns='double'), or"
            " with partial_order=True",
            span=span_of(order),
        )
