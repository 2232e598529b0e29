"""Predicates that joins look tuples up by, and those they test themselves: bands and comparisons.

**Bands** hold two columns within a distance of each other.

    a.x < b.x        a.x BETWEEN b.x - 5 AND b.x + 5        abs(a.x - b.x) < 5        b.x - a.x >= -2

One says where such a predicate can be true at all, so that a tree finds the tuples that may meet
it. Whether it is true is tested as ever; a band may be too wide, never too narrow.

A predicate that may raise has no band: which values it is computed for is not for a band to decide.
Comparisons of whole numbers never do, for joins make them themselves, exactly.

**Comparisons** are of two columns, perhaps with constants added.

    a.x < b.x        a.y <> b.y        a.at BETWEEN b.at AND b.at + INTERVAL '5' SECONDS
    abs(a.x - b.x) <= 5 of whole numbers, which is  a.x >= b.x - 5 AND a.x <= b.x + 5
    a.x - b.x < 2.5 of whole numbers, which is  a.x <= b.x + 2

Joins test these in their own loops, without an engine for expressions. Only what has one meaning
in Spark and in DuckDB is read as a comparison; everything else stays an expression. Comparisons of
whole numbers are exact: where a sum leaves its type they have a verdict, while SQL would raise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from windrow.errors import WindrowError
from windrow.plan.exprs import ABOVE, NEVER, Band, Comparison, Side
from windrow.plan.types import FLOATS, digits_of_type, holding
from windrow.sql.bind.lengths import constant_length
from windrow.sql.grammar.spans import bare
from windrow.sql.render.linear import (
    Distance,
    compared,
    difference_of,
    distance_of,
    greatest_whole,
    has_double,
    may_raise,
    units_of,
    whole_comparison,
)
from windrow.sql.render.numbers import INTEGERS, wider_type

_DOUBLE_ROUNDING, _FLOAT_ROUNDING = 2.0**-52, 2.0**-23
_AS_DOUBLE_ROUNDING = 2.0**-49
"""How far a decimal may be off that is taken for a double: by a few roundings."""

_MOST_DIGITS = 18
"""Decimals of so many digits are 64-bit numbers."""
_MOST_REAL, _MOST_FLOAT = 1e290, 1e30
"""A constant up to this one, added to the greatest double or float, leaves it as it is. With larger
ones a side of a comparison may become infinite, and then its columns are no longer within a band."""


def bands_of(
    node: exp.Expr, types: Mapping[str, str], comparisons: Sequence[Comparison]
) -> tuple[Band, ...]:
    """The bands that a resolved predicate implies; `comparisons` if it is nothing but these."""
    node = bare(node)
    distance = distance_of(node)
    if distance is not None:
        raises = any(may_raise(left, right, types) for left, _, right in compared(node))
        found = [_of_distance(distance, types, raises=raises)]
    elif comparisons:
        found = [_of_comparison(c) for c in comparisons if c.operator != "<>"]
    else:
        found = [_of_sums(*one, types) for one in compared(node)]
    return tuple(band for band in found if band is not None)


def _of_comparison(comparison: Comparison) -> Band | None:
    """`left + c < right + d` is `left - right < d - c`."""
    left, right = comparison.left, comparison.right
    distance = right.shift - left.shift
    if {left.type, right.type} & FLOATS:
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


def _of_distance(distance: Distance, types: Mapping[str, str], *, raises: bool) -> Band | None:
    """`abs(x - y) < c`: `x - y` lies between -c and c."""
    left, right = distance.left, distance.right
    kinds = {types[left], types[right]}
    if kinds <= set(INTEGERS):
        most = greatest_whole(distance, types)
        return None if most is None else Band(left, right, -most, most)
    if raises:
        return None
    scale = None if kinds & FLOATS else _scale(types[left], types[right])
    if scale is None:
        reach = distance.limit
        return _rounded(left, right, (-reach, reach), (abs(reach),), types, NEVER)
    units = units_of(distance.limit, scale, distance.operator)
    if units > 2 * 10**_MOST_DIGITS:  # no two of them are so far apart
        return None
    if distance.is_double:  # decimals are rounded before they are compared with it
        units += 1 + math.ceil(abs(units) * _DOUBLE_ROUNDING)
    return Band(left, right, -units, units, scale=scale)


def _of_sums(
    left: exp.Expr, operator: str, right: exp.Expr, types: Mapping[str, str]
) -> Band | None:
    """`x + c < y + d` or `x - y < c` of numbers that are not all whole."""
    found = difference_of(left, operator, right)
    if found is None or operator == "<>" or may_raise(left, right, types):
        return None
    is_upper = operator in {"<", "<="}
    scale = _scale(types[found.left], types[found.right])
    if scale is None or has_double(left) or has_double(right):
        ends = (None, found.edge) if is_upper else (found.edge, None)
        return _rounded(found.left, found.right, ends, found.sizes, types, found.nan)
    # Read as a distance from below or above: `x - y <= d - c`, or `y - x <= c - d`.
    units = units_of(
        found.edge if is_upper else -found.edge, scale, "<" if len(operator) == 1 else "<="
    )
    edge = units if is_upper else -units
    return _cut(Band(found.left, found.right, None, None, scale=scale), operator, edge)


def _rounded(
    left: str,
    right: str,
    ends: tuple[Decimal | None, Decimal | None],
    sizes: Sequence[Decimal],
    types: Mapping[str, str],
    nan: str | None,
) -> Band | None:
    """The band of columns that are looked up as doubles, with room for all that is rounded."""
    kinds, constants = {types[left], types[right]}, float(sum(sizes))
    if nan is None and kinds & FLOATS:
        return None
    if not constants <= (_MOST_FLOAT if "float" in kinds else _MOST_REAL):
        return None
    rounding = _DOUBLE_ROUNDING if kinds <= {*INTEGERS, "double"} else _AS_DOUBLE_ROUNDING
    low, high = (None if end is None else float(end) for end in ends)
    return Band(
        left,
        right,
        low,
        high,
        rounding=_FLOAT_ROUNDING if "float" in kinds else rounding,
        constants=constants,
        nan=nan or ABOVE,
    )


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
    both = holding(left, right)
    return both.scale if both.precision <= _MOST_DIGITS else None


_TIMES = {"date", "timestamp", "timestamp_ntz"}
_DAYS = {"day", "days", "week", "weeks"}
_DAY_US = 86_400_000_000


def comparisons_of(node: exp.Expr, types: Mapping[str, str]) -> tuple[Comparison, ...]:
    """The comparisons that a resolved predicate comes to; none where it is anything else."""
    distance = distance_of(node)
    reach = None if distance is None else greatest_whole(distance, types)
    if distance is not None and reach is not None:
        own = Side(distance.left, 0, types[distance.left])
        least, most = (Side(distance.right, edge, "bigint") for edge in (-reach, reach))
        return Comparison(own, ">=", least), Comparison(own, "<=", most)
    found = [_compare(*one, types) for one in compared(node)]
    known = tuple(comparison for comparison in found if comparison is not None)
    return known if len(known) == len(found) else ()


def _compare(
    left: exp.Expr, operator: str, right: exp.Expr, types: Mapping[str, str]
) -> Comparison | None:
    first, second = _side(left, types), _side(right, types)
    if first is not None and second is not None and _have_one_order(first, second):
        return Comparison(first, operator, second)
    return whole_comparison(left, operator, right, types)


def _have_one_order(first: Side, second: Side) -> bool:
    """Whether both engines compare the two types in the same way."""
    kinds = {first.type, second.type}
    if kinds <= set(INTEGERS) or kinds <= FLOATS:
        return True
    if len(kinds) == 1:
        return kinds <= _TIMES
    # A whole number becomes a double after its sum was computed: of 32 bits exactly.
    is_mixed = "double" in kinds and kinds <= {*INTEGERS, "double"}
    return is_mixed and all(side.type != "bigint" or not side.shift for side in (first, second))


def _side(node: exp.Expr, types: Mapping[str, str]) -> Side | None:
    node = bare(node)
    if isinstance(node, exp.Column):
        return Side(node.name, 0, types[node.name])
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    column, constant, sign = node.this, node.expression, -1 if isinstance(node, exp.Sub) else 1
    if sign == 1 and isinstance(constant, exp.Column):
        column, constant = constant, column
    if not isinstance(column, exp.Column):
        return None
    return _shifted(column.name, types[column.name], constant, sign)


def _shifted(column: str, type_: str, constant: exp.Expr, sign: int) -> Side | None:
    if type_ in _TIMES:
        ticks = _ticks(constant, type_)
        return None if ticks is None else Side(column, sign * ticks, type_)
    if isinstance(constant, exp.Neg):
        constant, sign = constant.this, -sign
    if not isinstance(constant, exp.Literal) or constant.is_string:
        return None
    if type_ == "double":
        return Side(column, sign * float(constant.name), type_)
    if type_ not in INTEGERS or not constant.name.isdigit():
        return None
    number = int(constant.name)
    wide = wider_type(type_, "int" if number < 2**31 else "bigint")
    return Side(column, sign * number, wide) if wide and number < 2**63 else None


def _ticks(constant: exp.Expr, type_: str) -> int | None:
    """The ticks of an interval that both engines add alike.

    A day is not always 24 hours where time zones change their clocks, so that days are added to
    instants by the engine; and a DATE plus hours is no DATE.
    """
    if not isinstance(constant, exp.Interval):
        return None
    try:
        length = constant_length(constant)
        if length is None or length.number:
            return None
        if type_ == "date" and not all(unit.lower() in _DAYS for _, unit in length.parts):
            return None
        ticks = length.ticks(type_, "")
    except WindrowError:
        return None
    return ticks if type_ != "timestamp" or abs(ticks) < _DAY_US else None
