"""Distances between two columns that a predicate limits: `abs(x - y) < 5`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from sqlglot import exp

from windrow.sql.render.numbers import INTEGERS

_EXACT = 2**53
"""Whole numbers up to this one are doubles."""


class Distance(NamedTuple):
    """`abs(left - right) operator limit`; the operator is < or <=.

    Attributes:
        left: a column.
        right: another.
        operator: how the distance is limited.
        limit: by what.
        is_double: whether the limit is written as a double.
        is_all: whether the predicate says no more; BETWEEN may ask for a least distance.
    """

    left: str
    right: str
    operator: str
    limit: Decimal
    is_double: bool
    is_all: bool = True


class WholeDistance(NamedTuple):
    """`abs(left - right) <= most` of whole numbers."""

    left: str
    right: str
    most: int


def distance_of(node: exp.Expr) -> Distance | None:
    """The distance that a predicate limits; None where it is anything else."""
    node, is_all = plain(node), True
    if isinstance(node, exp.LT | exp.LTE):
        distance, limit = plain(node.this), node.expression
    elif isinstance(node, exp.GT | exp.GTE):
        distance, limit = plain(node.expression), node.this
    elif isinstance(node, exp.Between) and not node.args.get("symmetric"):
        distance, limit = plain(node.this), node.args["high"]
        least = number_of(node.args["low"])
        is_all = least is not None and least <= 0
    else:
        return None
    most = number_of(limit)
    if most is None or not isinstance(distance, exp.Abs):
        return None
    difference = plain(distance.this)
    if not isinstance(difference, exp.Sub):
        return None
    left, right = plain(difference.this), plain(difference.expression)
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    operator = "<" if isinstance(node, exp.LT | exp.GT) else "<="
    return Distance(left.name, right.name, operator, most, has_double(limit), is_all)


def whole_distance(node: exp.Expr, types: Mapping[str, str]) -> WholeDistance | None:
    """The distance of two columns of whole numbers that a predicate limits.

    A limit that is a double is compared with distances that are rounded to doubles: none that
    is less than 2**53 changes by that.
    """
    found = distance_of(node)
    if found is None or not {types[found.left], types[found.right]} <= set(INTEGERS):
        return None
    limit = Decimal(float(found.limit)) if found.is_double else found.limit
    if not found.is_all or (found.is_double and not abs(limit) < _EXACT):
        return None
    return WholeDistance(found.left, found.right, units_of(limit, 0, found.operator))


def units_of(limit: Decimal, scale: int, operator: str) -> int:
    """The greatest whole number of units at a limit, or below it."""
    units = limit.scaleb(scale)
    return math.ceil(units) - 1 if operator == "<" else math.floor(units)


def number_of(node: exp.Expr) -> Decimal | None:
    """The number that is written there."""
    node, sign = plain(node), 1
    if isinstance(node, exp.Neg):
        node, sign = plain(node.this), -1
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    return sign * Decimal(node.name)


def has_double(node: exp.Expr) -> bool:
    """Whether a number is written with an exponent, which makes it a double."""
    return any("e" in number.name.lower() for number in node.find_all(exp.Literal))


def plain(node: exp.Expr) -> exp.Expr:
    """What stands in parentheses, however many."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node
