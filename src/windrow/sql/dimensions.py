"""One dimension of a bestmatch join, and the constraint that makes pairs candidates."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlglot import exp

from windrow.errors import BindError, Span
from windrow.plan.functions import UserFunction
from windrow.plan.nodes import MINDIST
from windrow.sql.keys import bare
from windrow.sql.lengths import constant_length
from windrow.sql.refuse import unsupported
from windrow.sql.spans import span_of, text_of
from windrow.sql.widening import INTEGERS

_FLOATS = {"float", "double"}


@dataclass
class MatchDimension:
    """`left MINDIST right`, or another order, as resolved trees, with types and the constraint."""

    left: exp.Expr
    right: exp.Expr
    left_type: str
    right_type: str
    is_time: bool
    eps: float | int | None = None
    order: str = MINDIST
    function: UserFunction | None = None
    text: str = ""
    span: Span | None = None

    def measures(self, distance: exp.Sub) -> bool:
        """Whether `left - right`, or `right - left`, is this dimension's distance."""
        if self.order != MINDIST:
            return False
        sides = (bare(distance.this), bare(distance.expression))
        return sides in ((self.left, self.right), (self.right, self.left))

    def constrain(self, limit: exp.Expr, sql: str, *, strict: bool) -> None:
        """Adds |left - right| <= limit, or < limit; the tighter of several holds.

        The same for what the user's function gives, which may be below zero.
        """
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
        eps: float | int = int(number) if number.denominator == 1 else float(number)
        if strict:
            eps = self._tighter(eps, limit, sql)
        self.eps = eps if self.eps is None else min(self.eps, eps)

    def _tighter(self, eps: float, limit: exp.Expr, sql: str) -> float | int:
        """The largest distance below `eps`, where the types have one."""
        types = {self.left_type, self.right_type}
        if types <= set(INTEGERS):
            return math.ceil(eps) - 1
        if types <= _FLOATS | set(INTEGERS):
            return math.nextafter(float(eps), -math.inf)
        raise unsupported(
            "bestmatch-strict-limit",
            f"a strict limit {text_of(limit, sql)} on a decimal dimension is not supported",
            "write <= with the largest distance that you mean",
            span_of(limit),
        )


def distance_limit(predicate: exp.Expr) -> tuple[exp.Sub | None, exp.Expr | None, bool]:
    """(x - y, limit, strict) of `abs(x - y) <= limit`, written either way round."""
    distance, limit = predicate.this, predicate.args.get("expression")
    is_below = isinstance(predicate, exp.LTE | exp.LT)
    if isinstance(predicate, exp.GTE | exp.GT):
        distance, limit, is_below = limit, distance, True
    inner = bare(distance.this) if is_below and isinstance(distance, exp.Abs) else None
    if not isinstance(inner, exp.Sub):
        return None, None, False
    return inner, limit, isinstance(predicate, exp.LT | exp.GT)


def is_number(type_: str) -> bool:
    """Whether a Spark type is numeric."""
    return type_ in INTEGERS or type_ in _FLOATS or type_.startswith("decimal")
