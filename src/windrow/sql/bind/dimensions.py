"""One dimension of a bestmatch join, and the constraint that makes pairs candidates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from windrow.errors import BindError, Span
from windrow.plan.digits import Digits, digits_of_type
from windrow.plan.functions import UserFunction
from windrow.plan.nodes.bestmatch_join import MINDIST, Limit
from windrow.sql.bind.keys import bare
from windrow.sql.bind.lengths import constant_length, distance_ticks
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import span_of, text_of
from windrow.sql.render.numbers import INTEGERS

_FLOATS = {"float", "double"}

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
    `is_condition` compares nothing: see `plan.nodes.Dimension`.
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
        sides = [
            digits_of_type(t) for t in (types if self.function is None else [self.function.returns])
        ]
        known = [digits for digits in sides if digits is not None]
        if len(known) < len(sides):
            return None
        scale = max(digits.scale for digits in known)
        whole = max(digits.precision - digits.scale for digits in known)
        return Digits(whole + scale, scale, is_decimal=any(digits.is_decimal for digits in known))

    def distance(self) -> exp.Expr:
        """What MINDIST compares, as an expression: abs(left - right)."""
        left, right = (
            side.copy() if isinstance(side, exp.Column) else exp.Paren(this=side.copy())
            for side in (self.left, self.right)
        )
        return exp.Abs(this=exp.Sub(this=left, expression=right))

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
                span_of(limit),
            )
        number = length.number
        if number < 0 and self.function is None:
            raise BindError(
                "negative-limit",
                f"the limit {text_of(limit, sql)} is negative",
                reason="a distance is never below zero",
                hint="write 0 or more, in the unit of the dimension",
                span=span_of(limit),
            )
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


def is_number(type_: str) -> bool:
    """Whether a Spark type is numeric."""
    return type_ in INTEGERS or type_ in _FLOATS or type_.startswith("decimal")
