"""The dimensions of a bestmatch join: what each compares, by which order, and its candidates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from windrow.errors import BindError, Span
from windrow.plan.functions import ORDERS, UserFunction
from windrow.plan.nodes.bestmatch_join import MINDIST, SUBSET, YOUNGEST, Dimension, Limit
from windrow.plan.types import Digits, digits_of_type, holding, is_number
from windrow.plan.windows import Bound
from windrow.sql.bind.calls import cast_argument, takes
from windrow.sql.bind.lengths import constant_length, distance_ticks
from windrow.sql.bind.scope import Scope
from windrow.sql.grammar.clauses import MatchOrder
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import bare, span_of, text_of
from windrow.sql.render.numbers import INTEGERS
from windrow.sql.render.render import Renderer

TEMPORAL = ("date", "timestamp", "timestamp_ntz")
"""Types of instants, whose distances are counted in ticks."""

_MOST_DIGITS = 18
"""Every decimal of this many digits fits 64 bits."""

_TOO_FAR = 1 << 63
"""No limit for a join to look for: it is farther than most numbers are."""


@dataclass
class MatchDimension:
    """`left MINDIST right`, or another order, as resolved trees, with types and the constraint.

    `given` are the two sides as written, before they are cast to what a function takes. One that
    `is_condition` compares nothing: see `Dimension` in `plan.nodes.bestmatch_join`.
    """

    left: exp.Expr
    right: exp.Expr
    left_type: str
    right_type: str
    is_time: bool
    eps: Limit | None = None
    order: str = MINDIST
    function: UserFunction | None = None
    text: str = ""
    span: Span | None = None
    given: tuple[exp.Expr, ...] = ()
    is_condition: bool = False

    @property
    def unit(self) -> str | None:
        """The type of dates or timestamps whose ticks distances are counted in; None: numbers."""
        is_temporal = self.order == MINDIST and self.left_type in TEMPORAL
        return self.left_type if is_temporal and not self.is_time else None

    @property
    def is_wide(self) -> bool:
        """Whether distances are exact and take more digits than 64 bits hold."""
        digits = self._digits
        if self.order != MINDIST or self.is_time or digits is None:
            return False
        return digits.is_decimal and digits.precision > _MOST_DIGITS

    @property
    def is_band(self) -> bool:
        """Whether a window join can look for what is near in it: numbers, and nothing else."""
        is_number = self.unit is None and not self.is_time and not self.is_wide
        return self.order == MINDIST and is_number

    @property
    def is_exact(self) -> bool:
        """Whether distances have so many digits, and are no doubles."""
        return self._digits is not None

    def limit_in_digits(self) -> str | None:
        """The limit as it is written in the digits of an exact dimension; None where it is too far."""
        digits = self._digits
        if self.eps is None or digits is None or self.eps >= _TOO_FAR:
            return None
        units = math.floor(Fraction(self.eps) * 10**digits.scale)
        return f"{Decimal(units).scaleb(-digits.scale):f}"

    @property
    def _digits(self) -> Digits | None:
        """The digits at which both sides, or what the function gives, are exact; None: floats."""
        types = [self.left_type, self.right_type]
        if self.function is not None:
            types = [self.function.returns]
        known = [digits for type_ in types if (digits := digits_of_type(type_)) is not None]
        return holding(*known) if len(known) == len(types) else None

    def distance(self) -> exp.Expr:
        """What MINDIST compares, as an expression: abs(left - right)."""
        left, right = (
            side.copy() if isinstance(side, exp.Column) else exp.Paren(this=side.copy())
            for side in (self.left, self.right)
        )
        return exp.Abs(this=exp.Sub(this=left, expression=right))

    def over_columns(self, left: str, right: str, time_eps: int | None) -> Dimension:
        """The dimension over the columns that hold its sides; of event times, with that limit."""
        return Dimension(
            left,
            right,
            self.order,
            time_eps if self.is_time else self.eps,
            self.is_time,
            self.function,
            self.text,
            self.span,
            self.is_wide,
            self.unit,
            self.is_condition,
        )

    def measures(self, distance: exp.Expr) -> bool:
        """Whether this dimension is ordered by `abs(left - right)`, or by the user's function."""
        if isinstance(distance, exp.Anonymous):
            is_number = self.function is not None and not self.function.is_partial_order
            sides = tuple(map(bare, distance.expressions))
            return is_number and distance.name.lower() == self.order and sides == self.given
        if self.order != MINDIST:
            return False
        inner = bare(distance.this)
        sides = (bare(inner.this), bare(inner.expression))
        return sides in ((self.left, self.right), (self.right, self.left))

    def constrain(self, limit: exp.Expr, sql: str, *, strict: bool) -> None:
        """Adds |left - right| <= limit, or < limit; the tighter of several holds.

        The same for what the user's function gives, which may be below zero.
        """
        if self.unit is not None:
            ticks = distance_ticks(limit, self.unit, sql) - strict
            self.eps = ticks if self.eps is None else min(self.eps, ticks)
            return
        length = constant_length(limit)
        if length is None or length.parts:
            raise unsupported(
                "bestmatch-limit",
                f"the limit {text_of(limit, sql)} is not a constant number",
                "write a number, for instance  abs(l.x - r.x) <= 100",
            ).at(span_of(limit))
        number = length.number
        if number < 0 and self.function is None:
            raise BindError(
                "negative-limit",
                f"the limit {text_of(limit, sql)} is negative",
                reason="a distance is never below zero",
                hint="write 0 or more, in the unit of the dimension",
            ).at(span_of(limit))
        eps = self._limit(number, strict=strict)
        if eps is not None:
            self.eps = eps if self.eps is None else min(self.eps, eps)

    def _limit(self, number: Fraction, *, strict: bool) -> Limit | None:
        """The greatest distance up to a number, or below it; None where all are."""
        digits = self._digits
        if digits is None:
            try:
                limit = float(number)
            except OverflowError:
                limit = math.inf
            if strict:
                return math.nextafter(limit, -math.inf)
            if limit == math.inf:
                return None
            return int(number) if number.denominator == 1 else limit
        if strict:
            number = Fraction(math.ceil(number * 10**digits.scale) - 1, 10**digits.scale)
        return _exact(number)


def _exact(number: Fraction) -> int | Decimal:
    """The number, which has an end when it is written with a point."""
    places = 0
    while (number * 10**places).denominator > 1:
        places += 1
    units = int(number * 10**places)
    return Decimal((units < 0, tuple(map(int, str(abs(units)))), -places)) if places else units


def distance_limit(predicate: exp.Expr) -> tuple[exp.Expr | None, exp.Expr | None, bool]:
    """(distance, limit, strict) of `distance <= limit`, written either way round.

    The distance is `abs(x - y)`, or a call of a function.
    """
    distance, limit = predicate.this, predicate.args.get("expression")
    is_below = isinstance(predicate, exp.LTE | exp.LT)
    if isinstance(predicate, exp.GTE | exp.GT):
        distance, limit, is_below = limit, distance, True
    distance = bare(distance) if is_below else None
    is_gap = isinstance(distance, exp.Abs) and isinstance(bare(distance.this), exp.Sub)
    if not is_gap and not isinstance(distance, exp.Anonymous):
        return None, None, False
    return distance, limit, isinstance(predicate, exp.LT | exp.GT)


_BUILT_IN = (MINDIST, SUBSET, YOUNGEST)
_NESTED = ("array<", "map<", "struct<")


@dataclass(frozen=True)
class OrderReader:
    """Reads the dimensions of one bestmatch join."""

    scope: Scope
    renderer: Renderer

    def read(self, order: exp.Expr) -> tuple[MatchDimension, Bound | None]:
        """The dimension, and the bound on time that its WITHIN states, if it does."""
        assert isinstance(order, MatchOrder)
        name = order.args["order"].lower()
        function = None if name in _BUILT_IN else self._function(order, name)
        left, right = self._sides(order)
        types = self._types(left, right)
        is_time = self._is_event_time(left, 0) and self._is_event_time(right, 1)
        text = text_of(order, self.renderer.sql)
        given = (left, right)
        if function is None:
            self._check_types(order, name, types, is_time=is_time)
        else:
            _check_order(order, function)
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
            width = distance_ticks(within, self.scope.time_type, self.renderer.sql)
            return dimension, Bound(0, 1, lo=width, hi=width, text=text)
        if name == SUBSET or (function is not None and function.is_partial_order):
            raise unsupported(
                "bestmatch-order-limit",
                f"WITHIN after {order.args['order']} is not supported",
                "leave it out: only distances, times and orders by a number have limits",
            ).at(span_of(within))
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
            ).at(span_of(order))
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
            ).at(span_of(order))
        return first, second

    def _types(self, *trees: exp.Expr) -> list[str]:
        return [self.renderer.typed(self.scope.schema, [tree])[0].type for tree in trees]

    def _is_event_time(self, tree: exp.Expr, side: int) -> bool:
        return isinstance(tree, exp.Column) and tree.name == self.scope.sources[side].time

    def _check_types(
        self, order: MatchOrder, name: str, types: list[str], *, is_time: bool
    ) -> None:
        """Refuses types that have no such order."""
        is_same = types[0] == types[1]
        left, right = (source.time or f"{source.alias}.ts" for source in self.scope.sources)
        fits, reason, hint = {
            MINDIST: (
                is_time or all(map(is_number, types)) or (is_same and types[0] in TEMPORAL),
                "a dimension is a number on both sides, or a date or timestamp of one type",
                "cast it to one of these, or write the column in WHERE as an equality",
            ),
            YOUNGEST: (
                is_time,
                "the age of a pair is that of the event times of both sides",
                f"write {left} YOUNGEST {right}",
            ),
            SUBSET: (
                is_same and _is_set(types[0]),
                "sets are arrays on both sides, with elements of one type that is not nested",
                "cast one to the other's type, for instance  CAST(l.tags AS ARRAY<STRING>)",
            ),
        }[name]
        if not fits:
            text = text_of(order, self.renderer.sql)
            raise BindError(
                "dimension-type",
                f"the dimension {text} compares {types[0]} and {types[1]}",
                reason=reason,
                hint=hint,
            ).at(span_of(order))

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
            ).at(span_of(order))
        if declared is None:
            return replace(function, arguments=(types[0], types[1])), *sides
        left, right = (
            cast_argument(tree, type_, type_wanted, function)
            for tree, type_, type_wanted in zip(sides, types, declared, strict=True)
        )
        return function, left, right


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
        ).at(span_of(order))
