"""Predicates that are comparisons of two columns, perhaps with constants added.

    a.x < b.x        a.y <> b.y        a.at BETWEEN b.at AND b.at + INTERVAL '5' SECONDS
    abs(a.x - b.x) <= 5 of whole numbers, which is  a.x >= b.x - 5 AND a.x <= b.x + 5
    a.x - b.x < 2.5 of whole numbers, which is  a.x <= b.x + 2

Joins test these in their own loops, without an engine for expressions. Only what has one meaning
in Spark and in DuckDB is read as a comparison; everything else stays an expression. Comparisons of
whole numbers are exact: where a sum leaves its type they have a verdict, while SQL would raise.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from windrow.errors import WindrowError
from windrow.plan.exprs import Comparison, Side
from windrow.sql.distances import whole_distance
from windrow.sql.lengths import constant_length
from windrow.sql.linear import compared, whole_comparison
from windrow.sql.widening import INTEGERS, wider_type

_TIMES = {"date", "timestamp", "timestamp_ntz"}
_DAYS = {"day", "days", "week", "weeks"}
_DAY_US = 86_400_000_000


def comparisons_of(node: exp.Expr, types: Mapping[str, str]) -> tuple[Comparison, ...]:
    """The comparisons that a resolved predicate comes to; none where it is anything else.

    Args:
        node: the predicate.
        types: the Spark types of the columns.
    """
    distance = whole_distance(node, types)
    if distance is not None:
        own = Side(distance.left, 0, types[distance.left])
        least, most = (Side(distance.right, s * distance.most, "bigint") for s in (-1, 1))
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
    if kinds <= set(INTEGERS) or kinds <= {"float", "double"}:
        return True
    if len(kinds) == 1:
        return kinds <= _TIMES
    # A whole number becomes a double after its sum was computed: of 32 bits exactly.
    is_mixed = "double" in kinds and kinds <= {*INTEGERS, "double"}
    return is_mixed and all(side.type != "bigint" or not side.shift for side in (first, second))


def _side(node: exp.Expr, types: Mapping[str, str]) -> Side | None:
    while isinstance(node, exp.Paren):
        node = node.this
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
