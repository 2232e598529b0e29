"""Predicates that hold two columns within a distance of each other.

    a.x < b.x        a.x BETWEEN b.x - 5 AND b.x + 5        abs(a.x - b.x) < 5

A band says where such a predicate can be true at all, so that a tree finds the tuples that may
meet it. Whether it is true is tested as ever; a band may be too wide, never too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from windrow.plan.exprs import Band, Comparison
from windrow.sql.decimals import digits_of_type
from windrow.sql.widening import INTEGERS

_REAL = {"float", "double"}
_DOUBLE_ROUNDING, _FLOAT_ROUNDING = 2.0**-52, 2.0**-23
_MOST_DIGITS = 18
"""Decimals of so many digits are 64-bit numbers."""

_OPERATORS: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def bands_of(
    node: exp.Expr, types: Mapping[str, str], comparisons: Sequence[Comparison]
) -> tuple[Band, ...]:
    """The bands that a resolved predicate implies.

    Args:
        node: the predicate.
        types: the Spark types of the columns.
        comparisons: those that it comes to, if it is nothing else.
    """
    if comparisons:
        return tuple(_of_comparison(c) for c in comparisons if c.operator != "<>")
    node = _plain(node)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        found = [
            _compared(node.this, ">=", node.args["low"], types),
            _compared(node.this, "<=", node.args["high"], types),
        ]
    elif type(node) in _OPERATORS:
        found = [_compared(node.this, _OPERATORS[type(node)], node.expression, types)]
    else:
        return ()
    return tuple(band for band in found if band is not None)


def _of_comparison(comparison: Comparison) -> Band:
    """`left + c < right + d` is `left - right < d - c`."""
    left, right = comparison.left, comparison.right
    distance = right.shift - left.shift
    if {left.type, right.type} & _REAL:
        band = Band(
            left.column,
            right.column,
            None,
            None,
            rounding=_DOUBLE_ROUNDING,
            constants=abs(float(left.shift)) + abs(float(right.shift)),
        )
        return _cut(band, comparison.operator, distance)
    strict = comparison.operator in {"<", ">"}
    inward = -1 if comparison.operator == "<" else 1
    edge = distance + inward if strict else distance
    return _cut(Band(left.column, right.column, None, None), comparison.operator, edge)


def _compared(
    left: exp.Expr, operator: str, right: exp.Expr, types: Mapping[str, str]
) -> Band | None:
    left, right = _plain(left), _plain(right)
    if isinstance(right, exp.Abs):
        left, right, operator = right, left, _TURNED[operator]
    if isinstance(left, exp.Abs):
        return _of_distance(left, operator, right, types)
    return _of_decimals(left, operator, right, types)


def _of_distance(
    distance: exp.Abs, operator: str, limit: exp.Expr, types: Mapping[str, str]
) -> Band | None:
    """`abs(x - y) < c`: `x - y` lies between -c and c."""
    difference, most = _plain(distance.this), _number(limit)
    if operator not in {"<", "<="} or most is None or not isinstance(difference, exp.Sub):
        return None
    left, right = _plain(difference.this), _plain(difference.expression)
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    kinds = {types[left.name], types[right.name]}
    if kinds <= {*INTEGERS, *_REAL} and kinds & _REAL:
        reach = float(most)
        rounding = _FLOAT_ROUNDING if "float" in kinds else _DOUBLE_ROUNDING
        return Band(left.name, right.name, -reach, reach, rounding=rounding, constants=abs(reach))
    scale = 0 if kinds <= set(INTEGERS) else _scale(types[left.name], types[right.name])
    if scale is None:
        return None
    units = _units(most, scale, operator)
    if _has_double(limit):  # whole numbers are rounded before they are compared with it
        units += 1 + math.ceil(abs(units) * _DOUBLE_ROUNDING)
    return Band(left.name, right.name, -units, units, scale=scale)


def _of_decimals(
    left: exp.Expr, operator: str, right: exp.Expr, types: Mapping[str, str]
) -> Band | None:
    """`x + c < y + d` between decimals, whose sums are exact."""
    first, second = _shifted(left), _shifted(right)
    if first is None or second is None:
        return None
    (column, shift), (other, other_shift) = first, second
    scale = _scale(types[column], types[other])
    if scale is None:
        return None
    # Read as a distance from below or above: `x - y <= d - c`, or `y - x <= c - d`.
    distance = other_shift - shift
    is_upper = operator in {"<", "<="}
    units = _units(distance if is_upper else -distance, scale, "<" if len(operator) == 1 else "<=")
    edge = units if is_upper else -units
    return _cut(Band(column, other, None, None, scale=scale), operator, edge)


def _cut(band: Band, operator: str, edge: float) -> Band:
    """The band with one of its ends."""
    return replace(band, high=edge) if operator in {"<", "<="} else replace(band, low=edge)


def _scale(first: str, second: str) -> int | None:
    """The digits behind the point of two decimal types, if 64 bits hold both with these."""
    if not first.startswith("decimal") or not second.startswith("decimal"):
        return None
    left, right = digits_of_type(first), digits_of_type(second)
    if left is None or right is None:
        return None
    scale = max(left.scale, right.scale)
    digits = max(kind.precision - kind.scale for kind in (left, right)) + scale
    return scale if digits <= _MOST_DIGITS else None


def _units(limit: Decimal, scale: int, operator: str) -> int:
    """The greatest whole number of units at a limit, or below it."""
    units = limit.scaleb(scale)
    return math.ceil(units) - 1 if operator == "<" else math.floor(units)


def _shifted(node: exp.Expr) -> tuple[str, Decimal] | None:
    """A column, and the constant that is added to it."""
    node = _plain(node)
    if isinstance(node, exp.Column):
        return node.name, Decimal(0)
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    column, constant = _plain(node.this), _number(node.expression)
    if isinstance(node, exp.Add) and constant is None:
        column, constant = _plain(node.expression), _number(node.this)
    if constant is None or not isinstance(column, exp.Column) or _has_double(node):
        return None
    return column.name, -constant if isinstance(node, exp.Sub) else constant


def _number(node: exp.Expr) -> Decimal | None:
    node, sign = _plain(node), 1
    if isinstance(node, exp.Neg):
        node, sign = _plain(node.this), -1
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    return sign * Decimal(node.name)


def _has_double(node: exp.Expr) -> bool:
    """Whether a number is written with an exponent, which makes it a double."""
    return any("e" in number.name.lower() for number in node.find_all(exp.Literal))


def _plain(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
