"""Constant lengths of time in SQL: intervals, their sums, and bare numbers of ticks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sqlglot import exp

from windrow.errors import BindError, UnsupportedError
from windrow.plan.units import parts_to_ticks, whole_ticks
from windrow.plan.windows import UNBOUNDED
from windrow.sql.grammar.clauses import PairWindow, RangeWindow
from windrow.sql.grammar.spans import span_of, text_of

_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


@dataclass(frozen=True)
class Length:
    """A constant: the sum of (number, unit) parts and of a bare number."""

    parts: tuple[tuple[Fraction, str], ...] = ()
    number: Fraction = Fraction(0)

    def plus(self, other: Length, sign: int = 1) -> Length:
        """The sum, or with sign -1 the difference."""
        parts = tuple((sign * number, unit) for number, unit in other.parts)
        return Length(self.parts + parts, self.number + sign * other.number)

    def ticks(self, time_type: str, written: str) -> int:
        """The signed number of ticks.

        The parts of either sign are converted apart, since a window itself is never negative.
        """
        ahead = [(str(number), unit) for number, unit in self.parts if number >= 0]
        back = [(str(-number), unit) for number, unit in self.parts if number < 0]
        total = 0
        if ahead:
            total += parts_to_ticks(ahead, time_type, written)
        if back:
            total -= parts_to_ticks(back, time_type, written)
        number = whole_ticks(abs(self.number), written)
        return total + (number if self.number >= 0 else -number)


def constant_length(node: exp.Expr) -> Length | None:
    """The constant that a tree stands for, or None where it is none."""
    if isinstance(node, exp.Paren):
        return constant_length(node.this)
    if isinstance(node, exp.Neg):
        return _sum(Length(), constant_length(node.this), -1)
    if isinstance(node, exp.Add | exp.Sub):
        sign = -1 if isinstance(node, exp.Sub) else 1
        return _sum(constant_length(node.this), constant_length(node.expression), sign)
    if isinstance(node, exp.Interval):
        return _interval(node)
    if isinstance(node, exp.Literal) and not node.is_string:
        return Length(number=Fraction(node.name))
    return None


def _sum(left: Length | None, right: Length | None, sign: int) -> Length | None:
    return None if left is None or right is None else left.plus(right, sign)


def _interval(node: exp.Interval) -> Length | None:
    value, unit, sign = node.this, node.args.get("unit"), 1
    while isinstance(value, exp.Neg | exp.Paren):
        sign = -sign if isinstance(value, exp.Neg) else sign
        value = value.this
    if not isinstance(value, exp.Literal):
        return None
    if isinstance(unit, exp.IntervalSpan):
        raise UnsupportedError(
            "unsupported-interval",
            f"an interval {unit.sql('spark')} is not read",
            hint="write a sum, for instance INTERVAL '1' HOUR + INTERVAL '30' MINUTES",
        ).at(span_of(node))
    written = value.name
    if unit is not None:
        try:
            return Length(parts=((sign * Fraction(written.strip()), unit.name),))
        except ValueError:
            written = f"{written} {unit.name}"
    found = [(sign * Fraction(m[1]), m[2]) for m in _PART.finditer(written)]
    if not found or _PART.sub("", written).strip():
        raise BindError(
            "bad-interval",
            f"the interval {written!r} cannot be read",
            hint="for instance INTERVAL '5' SECONDS or INTERVAL '1 hour 30 minutes'",
        ).at(span_of(node))
    return Length(parts=tuple(found))


def window_ticks(node: exp.Expr, time_type: str, sql: str) -> int:
    """The ticks of a window's length as written in a clause; never negative."""
    written = text_of(node, sql)
    length = constant_length(node)
    if length is None:
        raise BindError(
            "window-not-constant",
            f"the window {written} is not a constant",
            hint="a window is an interval such as INTERVAL '5' SECONDS, or a whole number of"
            " ticks where time is BIGINT",
        ).at(span_of(node))
    if length.number and time_type != "bigint":
        unit = "DAYS" if time_type == "date" else "SECONDS"
        raise BindError(
            "window-without-unit",
            f"the window {written} has no unit, and time is {time_type.upper()}",
            reason="only BIGINT time is counted in bare numbers",
            hint=f"write an interval, for instance INTERVAL '{ceil(abs(length.number))}' {unit}",
        ).at(span_of(node))
    try:
        ticks = whole_ticks(Fraction(length.ticks(time_type, written)), written)
    except BindError as error:
        raise error.at(span_of(node)) from None
    if ticks >= UNBOUNDED:
        raise BindError(
            "window-too-long",
            f"the window {written} is longer than time itself",
            reason="times are counted in 64 bits, and a window takes at most 62",
            hint="write a shorter one",
        ).at(span_of(node))
    return ticks


def window_ends(clause: PairWindow | RangeWindow, time_type: str, sql: str) -> tuple[int, int]:
    """(lo, hi) of `BETWEEN first AND last`: t(right) - t(left) in [-lo, hi], perhaps on one side.

     9 PRECEDING     5 PRECEDING       0             lo = 9, hi = -5
    -----[===============]-------------|---------> t(right) - t(left)
    """
    ends = [clause.args["first"], clause.args["last"]]
    ticks = [window_ticks(end.this, time_type, sql) for end in ends]
    first, last = (-t if end.args["is_before"] else t for t, end in zip(ticks, ends, strict=True))
    if first <= last:
        return -first, last
    what, turned = "range", ""
    if isinstance(clause, PairWindow):
        sides = ["PRECEDING" if end.args["is_before"] else "FOLLOWING" for end in ends]
        texts = [f"{text_of(end.this, sql)} {side}" for end, side in zip(ends, sides, strict=True)]
        what, turned = "window", f": BETWEEN {texts[1]} AND {texts[0]}"
    raise BindError(
        "reversed-window",
        f"the {what} {text_of(clause, sql)} ends before it begins",
        reason="BETWEEN names the earlier end first, as in SQL",
        hint=f"turn its ends around{turned}",
    ).at(span_of(clause))


def distance_ticks(node: exp.Expr, time_type: str, sql: str, what: str = "limit") -> int:
    """The ticks of the greatest distance in time, WITHIN or TOLERANCE; never negative."""
    try:
        return window_ticks(node, time_type, sql)
    except BindError as error:
        if error.condition != "negative-window":
            raise
        raise BindError(
            "negative-limit",
            f"the {what} {text_of(node, sql)} is negative",
            reason="a distance is never below zero",
            hint="write 0 or more",
        ).at(span_of(node)) from None
