"""Comparisons of two columns with constants beside them, however they are written.

    a.x - b.x < 5        b.x - a.x >= -2        a.x + 3 > b.x        5 - b.y > 2.5 - a.y

All of these say on which side of a number the difference of two columns lies. What is read here is
what they say in exact arithmetic; how far a sum that is rounded may be from it is for bands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from sqlglot import exp

from windrow.plan.exprs import ABOVE, ALWAYS, NEVER, Comparison, Side
from windrow.plan.types import FLOATS, MOST_DIGITS, holding, is_number
from windrow.sql.grammar.spans import bare
from windrow.sql.render.numbers import INTEGERS, digits_of, result_digits, wider_type

OPERATORS: dict[type[exp.Expr], str] = {
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NEQ: "<>",
}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "<>": "<>"}
_OTHERWISE: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}
_EXACT = 2**53
"""Whole numbers up to this one are doubles."""

_MOST_CONSTANTS = 3
"""Constants of one comparison; more would be rounded more often than bands allow for."""


@dataclass(frozen=True)
class Sum:
    """Columns, each with its sign, what the constants come to, and the size of each of these."""

    columns: tuple[tuple[str, int], ...]
    constant: Decimal = Decimal(0)
    sizes: tuple[Decimal, ...] = ()


@dataclass(frozen=True)
class Difference:
    """`left - right operator edge` of two columns; the operator is one of < <= > >= <>.

    Attributes:
        sizes: of the constants that take part.
        is_computed: whether the columns are taken from each other; else each has a side.
        nan: what is known of NaN, as bands say it; None where that is none of these.
    """

    left: str
    operator: str
    right: str
    edge: Decimal
    sizes: tuple[Decimal, ...]
    is_computed: bool
    nan: str | None


def compared(node: exp.Expr) -> tuple[tuple[exp.Expr, str, exp.Expr], ...]:
    """The comparisons that a predicate comes to, each as left, operator, right; () for others.

    A comparison that must not hold is the opposite one: NaN has its place in the order, and of NULL
    neither is true.
    """
    node = bare(node)
    if isinstance(node, exp.Not) and type(bare(node.this)) in _OTHERWISE:
        inner = bare(node.this)
        node = _OTHERWISE[type(inner)](this=inner.this, expression=inner.expression)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        return (node.this, ">=", node.args["low"]), (node.this, "<=", node.args["high"])
    if type(node) in OPERATORS:
        return ((node.this, OPERATORS[type(node)], node.expression),)
    return ()


def difference_of(left: exp.Expr, operator: str, right: exp.Expr) -> Difference | None:
    """The difference of two columns that a comparison is about; None for anything else."""
    first, second = _sum_of(left), _sum_of(right)
    if first is None or second is None:
        return None
    columns = (*first.columns, *((name, -sign) for name, sign in second.columns))
    sizes = first.sizes + second.sizes
    if len(columns) != 2 or columns[0][1] == columns[1][1] or len(sizes) > _MOST_CONSTANTS:
        return None
    edge = second.constant - first.constant
    is_computed = len(first.columns) != 1
    nan: str | None
    if is_computed:
        # NaN is above all numbers, and so is a difference with one.
        upwards = operator if first.columns else MIRRORED[operator]
        nan = NEVER if upwards in {"<", "<="} else ALWAYS
    else:  # NaN is above all numbers, and so is what is taken from it
        nan = ABOVE if columns[0][1] > 0 else None
    (one, _), (other, _) = sorted(columns, key=lambda column: -column[1])
    return Difference(one, operator, other, edge, sizes, is_computed, nan)


def _sum_of(node: exp.Expr) -> Sum | None:
    node = bare(node)
    if isinstance(node, exp.Column):
        return Sum(((node.name, 1),))
    number = number_of(node)
    if number is not None:
        return Sum((), number, (abs(number),))
    if isinstance(node, exp.Neg):
        inner = _sum_of(node.this)
        return None if inner is None else _added(Sum(()), inner, -1)
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    first, second = _sum_of(node.this), _sum_of(node.expression)
    if first is None or second is None:
        return None
    return _added(first, second, -1 if isinstance(node, exp.Sub) else 1)


def _added(first: Sum, second: Sum, sign: int) -> Sum:
    columns = (*first.columns, *((name, sign * own) for name, own in second.columns))
    sizes = first.sizes + second.sizes
    return Sum(columns, first.constant + sign * second.constant, sizes)


def whole_comparison(
    left: exp.Expr, operator: str, right: exp.Expr, types: Mapping[str, str]
) -> Comparison | None:
    """The comparison of two columns of whole numbers, which is made exactly."""
    found = difference_of(left, operator, right)
    if found is None or not {types[found.left], types[found.right]} <= set(INTEGERS):
        return None
    if (has_double(left) or has_double(right)) and not _rounds_nothing(left, right):
        return None
    edge = found.edge
    if not abs(edge) < 2**63:
        return None
    if edge != int(edge):
        if operator == "<>":
            return None
        is_upper = operator in {"<", "<="}
        operator = "<=" if is_upper else ">="
        edge = Decimal(math.floor(edge) if is_upper else math.ceil(edge))
    own = Side(found.left, 0, types[found.left])
    return Comparison(own, operator, Side(found.right, int(edge), "bigint"))


def _rounds_nothing(left: exp.Expr, right: exp.Expr) -> bool:
    """Whether a whole number is compared with a double that is one itself, of less than 2**53.

    The number is rounded to a double for it, which moves none across the limit.
    """
    for limit, other in ((left, right), (right, left)):
        number = number_of(limit)
        if number is None or number != int(number) or not abs(number) < _EXACT:
            continue
        return all(literal.name.isdigit() for literal in other.find_all(exp.Literal))
    return False


def may_raise(left: exp.Expr, right: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether there are values for which the sums of a comparison, or itself, cannot be computed.

    Numbers are meant; of anything else nothing is known. Doubles become infinite, and decimals have
    room while their digits are no more than 38. Sums of whole numbers may leave their type.
    """
    columns = [column for side in (left, right) for column in side.find_all(exp.Column)]
    if not all(is_number(types[column.name]) for column in columns):
        return True
    if any(_sum_may_raise(side, types) for side in (left, right)):
        return True
    if _is_real(left, types) or _is_real(right, types):
        return False
    kinds = [_decimal_type(side, types) for side in (left, right)]
    return kinds[0] is None or kinds[1] is None or wider_type(kinds[0], kinds[1]) is None


def _sum_may_raise(node: exp.Expr, types: Mapping[str, str]) -> bool:
    node = bare(node)
    if isinstance(node, exp.Column) or number_of(node) is not None:
        return False
    if isinstance(node, exp.Neg | exp.Abs):
        return not _has_room(node.this, types) or _sum_may_raise(node.this, types)
    if not isinstance(node, exp.Add | exp.Sub):
        return True
    if _sum_may_raise(node.this, types) or _sum_may_raise(node.expression, types):
        return True
    if _is_real(node, types):
        return False
    # The digits that a decimal sum takes, were there room for all.
    left, right = (digits_of(bare(side), types) for side in (node.this, node.expression))
    has_room = (
        left is not None and right is not None and holding(left, right).precision < MOST_DIGITS
    )
    return not has_room or result_digits(node, types) is None


def _has_room(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether the opposite of every value has the type of the value: of -128 it has not."""
    if _is_real(node, types):
        return True
    digits = digits_of(bare(node), types)
    return digits is not None and digits.is_decimal


def _decimal_type(node: exp.Expr, types: Mapping[str, str]) -> str | None:
    node = bare(node)
    digits = digits_of(bare(node.this) if isinstance(node, exp.Abs) else node, types)
    return None if digits is None else f"decimal({digits.precision},{digits.scale})"


def _is_real(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether a sum is of floating-point numbers."""
    return has_double(node) or any(types.get(c.name) in FLOATS for c in node.find_all(exp.Column))


class Distance(NamedTuple):
    """`abs(left - right) operator limit` of two columns; the operator is < or <=.

    Attributes:
        is_double: whether the limit is written as a double.
        is_all: whether the predicate says no more; BETWEEN may ask for a least distance.
    """

    left: str
    right: str
    operator: str
    limit: Decimal
    is_double: bool
    is_all: bool = True


def distance_of(node: exp.Expr) -> Distance | None:
    """The distance that a predicate limits; None where it is anything else."""
    node, is_all = bare(node), True
    if isinstance(node, exp.LT | exp.LTE):
        distance, limit = bare(node.this), node.expression
    elif isinstance(node, exp.GT | exp.GTE):
        distance, limit = bare(node.expression), node.this
    elif isinstance(node, exp.Between) and not node.args.get("symmetric"):
        distance, limit = bare(node.this), node.args["high"]
        least = number_of(node.args["low"])
        is_all = least is not None and least <= 0
    else:
        return None
    most = number_of(limit)
    if most is None or not isinstance(distance, exp.Abs):
        return None
    difference = bare(distance.this)
    if not isinstance(difference, exp.Sub):
        return None
    left, right = bare(difference.this), bare(difference.expression)
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    operator = "<" if isinstance(node, exp.LT | exp.GT) else "<="
    return Distance(left.name, right.name, operator, most, has_double(limit), is_all)


def greatest_whole(found: Distance, types: Mapping[str, str]) -> int | None:
    """The greatest distance of two columns of whole numbers; None where they are others.

    A limit that is a double is compared with distances that are rounded to doubles: none that
    is less than 2**53 changes by that.
    """
    if not {types[found.left], types[found.right]} <= set(INTEGERS):
        return None
    limit = Decimal(float(found.limit)) if found.is_double else found.limit
    if not found.is_all or (found.is_double and not abs(limit) < _EXACT):
        return None
    return units_of(limit, 0, found.operator)


def units_of(limit: Decimal, scale: int, operator: str) -> int:
    """The greatest whole number of units at a limit, or below it."""
    units = limit.scaleb(scale)
    return math.ceil(units) - 1 if operator == "<" else math.floor(units)


def number_of(node: exp.Expr) -> Decimal | None:
    """The number that is written there."""
    node, sign = bare(node), 1
    if isinstance(node, exp.Neg):
        node, sign = bare(node.this), -1
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    return sign * Decimal(node.name)


def has_double(node: exp.Expr) -> bool:
    """Whether a number is written with an exponent, which makes it a double."""
    return any("e" in number.name.lower() for number in node.find_all(exp.Literal))
