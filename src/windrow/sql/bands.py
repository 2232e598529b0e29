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
from windrow.sql.distances import (
    Distance,
    WholeDistance,
    distance_of,
    has_double,
    number_of,
    plain,
    units_of,
    whole_distance,
)
from windrow.sql.widening import INTEGERS

_REAL = {"float", "double"}
_DOUBLE_ROUNDING, _FLOAT_ROUNDING = 2.0**-52, 2.0**-23
_MOST_DIGITS = 18
"""Decimals of so many digits are 64-bit numbers."""
_MOST_REAL = 1e290
"""A constant up to this one, added to the greatest double, leaves it as it is. With larger ones a
side of a comparison may become infinite, and then its columns are no longer within a band."""

_OPERATORS: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def bands_of(
    node: exp.Expr, types: Mapping[str, str], comparisons: Sequence[Comparison]
) -> tuple[Band, ...]:
    """The bands that a resolved predicate implies.

    Args:
        node: the predicate.
        types: the Spark types of the columns.
        comparisons: those that it comes to, if it is nothing else.
    """
    node = plain(node)
    distance = distance_of(node)
    if distance is not None:
        found = [_of_distance(distance, whole_distance(node, types), types)]
    elif comparisons:
        found = [_of_comparison(c) for c in comparisons if c.operator != "<>"]
    elif isinstance(node, exp.Between) and not node.args.get("symmetric"):
        found = [
            _of_decimals(node.this, ">=", node.args["low"], types),
            _of_decimals(node.this, "<=", node.args["high"], types),
        ]
    elif type(node) in _OPERATORS:
        found = [_of_decimals(node.this, _OPERATORS[type(node)], node.expression, types)]
    else:
        return ()
    return tuple(band for band in found if band is not None)


def _of_comparison(comparison: Comparison) -> Band | None:
    """`left + c < right + d` is `left - right < d - c`."""
    left, right = comparison.left, comparison.right
    distance = right.shift - left.shift
    if {left.type, right.type} & _REAL:
        if not max(abs(left.shift), abs(right.shift)) <= _MOST_REAL:
            return None
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


def _of_distance(
    distance: Distance, whole: WholeDistance | None, types: Mapping[str, str]
) -> Band | None:
    """`abs(x - y) < c`: `x - y` lies between -c and c.

    Of whole numbers there is a band only where joins compare them themselves, exactly: a band may
    not decide whether a distance that leaves its type is computed, and raises.
    """
    left, right = distance.left, distance.right
    kinds = {types[left], types[right]}
    if kinds <= set(INTEGERS):
        return None if whole is None else Band(left, right, -whole.most, whole.most)
    if kinds <= {*INTEGERS, *_REAL}:
        reach = float(distance.limit)
        if not abs(reach) <= _MOST_REAL:
            return None
        rounding = _FLOAT_ROUNDING if "float" in kinds else _DOUBLE_ROUNDING
        return Band(left, right, -reach, reach, rounding=rounding, constants=abs(reach))
    scale = _scale(types[left], types[right])
    if scale is None:
        return None
    units = units_of(distance.limit, scale, distance.operator)
    if distance.is_double:  # decimals are rounded before they are compared with it
        units += 1 + math.ceil(abs(units) * _DOUBLE_ROUNDING)
    return Band(left, right, -units, units, scale=scale)


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
    units = units_of(
        distance if is_upper else -distance, scale, "<" if len(operator) == 1 else "<="
    )
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


def _shifted(node: exp.Expr) -> tuple[str, Decimal] | None:
    """A column, and the constant that is added to it."""
    node = plain(node)
    if isinstance(node, exp.Column):
        return node.name, Decimal(0)
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    column, constant = plain(node.this), number_of(node.expression)
    if isinstance(node, exp.Add) and constant is None:
        column, constant = plain(node.expression), number_of(node.this)
    if constant is None or not isinstance(column, exp.Column) or has_double(node):
        return None
    return column.name, -constant if isinstance(node, exp.Sub) else constant
