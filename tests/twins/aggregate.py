"""Sliding aggregates by asking at every instant, in plain Python: slow, and plainly right.

Sums are fractions, rounded once. Nothing here is incremental.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

NEVER = 2**63 - 1

Value = Any
Group = tuple[Value, ...]


@dataclass(frozen=True)
class Row:
    """A row of the input: in [time, end) one copy more, or, with sign -1, one less."""

    values: tuple[tuple[str, Value], ...]
    time: int
    end: int = NEVER
    sign: int = 1

    def __getitem__(self, name: str) -> Value:
        return dict(self.values)[name]


@dataclass(frozen=True)
class Asked:
    """One aggregate: function, argument (None: rows), type of the argument, distinct values."""

    function: str
    argument: str | None
    type: str = ""
    is_distinct: bool = False


def alive_at(rows: list[Row], instant: int) -> list[Row]:
    """The rows alive at an instant, those taken back removed."""
    alive = [row for row in rows if row.sign > 0 and row.time <= instant < row.end]
    for deletion in rows:
        if deletion.sign < 0 and deletion.time <= instant < deletion.end:
            alive.remove(next(r for r in alive if plain_values(r) == plain_values(deletion)))
    return alive


def answer_at(
    rows: list[Row], instant: int, keys: tuple[str, ...], asked: list[Asked]
) -> dict[Group, tuple[Value, ...]]:
    """The answer over the rows alive: one row per group.

    Without keys there is one row from the first instant on at which a row is alive.
    """
    groups: dict[Group, list[Row]] = {}
    for row in alive_at(rows, instant):
        groups.setdefault(tuple(plain(row[key]) for key in keys), []).append(row)
    if not keys and not groups:
        times = {row.time for row in rows if row.time <= instant}
        if any(alive_at(rows, time) for time in times):
            groups[()] = []
    return {
        group: tuple(aggregate(each, members) for each in asked)
        for group, members in groups.items()
    }


def changelog(
    rows: list[Row], keys: tuple[str, ...], asked: list[Asked]
) -> list[tuple[int, int, tuple[Value, ...]]]:
    """(instant, sign, row), net at each instant, what goes before what comes."""
    instants = sorted({row.time for row in rows} | {row.end for row in rows if row.end < NEVER})
    changes = []
    before: Counter[tuple[Value, ...]] = Counter()
    for instant in instants:
        answer = answer_at(rows, instant, keys, asked)
        after = Counter(group + values for group, values in answer.items())
        changes += [(instant, -1, row) for row in (before - after).elements()]
        changes += [(instant, 1, row) for row in (after - before).elements()]
        before = after
    return changes


def aggregate(asked: Asked, rows: list[Row]) -> Value:
    """One aggregate over some rows."""
    if asked.argument is None:
        return len(rows)
    values = [row[asked.argument] for row in rows if row[asked.argument] is not None]
    if asked.is_distinct:
        values = list({plain(value): value for value in values}.values())
    if asked.function == "count":
        return len(values)
    if not values:
        return None
    if asked.function in {"min", "max", "median", "min_by", "max_by"}:
        found = value_by if asked.function.endswith("_by") else in_order
        return plain(found(asked.function, values))
    if asked.function in SPREADS:
        return plain(spread(asked.function, values))
    return total_or_mean(asked, values)


def place(value: Value) -> Any:
    """Where a value stands in the order of its type: NaN above all, texts in the order of bytes."""
    if isinstance(value, float):
        return math.isnan(value), 0.0 if math.isnan(value) else value
    return value.encode() if isinstance(value, str) else value


def value_by(function: str, pairs: list[dict[str, Value]]) -> Value:
    """MIN_BY or MAX_BY of pairs: x with the least or greatest y; of several the least or greatest x."""
    end = min if function == "min_by" else max
    y = end((pair["y"] for pair in pairs), key=place)
    found = [pair["x"] for pair in pairs if place(pair["y"]) == place(y)]
    return end((x for x in found if x is not None), key=place, default=None)


def in_order(function: str, values: list[Value]) -> Value:
    """MIN, MAX or MEDIAN of one or more values."""
    values = sorted(values, key=place)
    if function != "median":
        return values[0 if function == "min" else -1]
    lower, upper = values[(len(values) - 1) // 2], values[len(values) // 2]
    if place(lower) == place(upper):
        return float(lower)
    return float(lower) + 0.5 * (float(upper) - float(lower))


SPREADS = {"var_pop": 0, "var_samp": 1, "stddev_pop": 0, "stddev_samp": 1}
"""What is taken off the number of values to divide by."""


def spread(function: str, values: list[Value]) -> float | None:
    """A variance or standard deviation: a fraction, rounded once, and its root."""
    numbers = list(map(float, values))
    parts = len(numbers) - SPREADS[function]
    if not parts:
        return None
    if not all(map(math.isfinite, numbers)):
        return math.nan
    mean = sum(map(Fraction, numbers)) / len(numbers)
    variance = sum((Fraction(number) - mean) ** 2 for number in numbers) / parts
    return nearest_double(variance) if function.startswith("var") else nearest_root(variance)


def nearest_root(exact: Fraction) -> float:
    """The root of a fraction, of which a power of four is taken out before it is rounded."""
    if not exact:
        return 0.0
    fours = (exact.numerator.bit_length() - exact.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(exact / Fraction(4) ** fours), fours)


def total_or_mean(asked: Asked, values: list[Value]) -> Value:
    """SUM or AVG of one or more values."""
    if asked.type in {"float", "double"} and not all(map(math.isfinite, values)):
        strange = [value for value in values if not math.isfinite(value)]
        return plain(strange[0] if _adds(values) else math.nan)
    total = sum(map(Fraction, values), Fraction(0))
    if asked.type.startswith("decimal"):
        return _decimal(asked, total, len(values))
    if asked.function == "sum" and asked.type not in {"float", "double"}:
        return int(total)
    return plain(nearest_double(total if asked.function == "sum" else total / len(values)))


def _adds(values: list[float]) -> bool:
    """Whether a sum with infinities is one: not where both signs, or a NaN, are there."""
    return not any(map(math.isnan, values)) and not {math.inf, -math.inf} <= set(values)


def _decimal(asked: Asked, total: Fraction, count: int) -> Decimal:
    scale = int(asked.type.rstrip(")").split(",")[1])
    if asked.function == "avg":
        total, scale = total / count, min(38, scale + 4)
    scaled = total * 10**scale
    half_up = int(abs(scaled) + Fraction(1, 2))
    return Decimal(half_up if scaled >= 0 else -half_up).scaleb(-scale, Context(prec=80))


def nearest_double(exact: Fraction) -> float:
    """The double nearest to a fraction, ties to even, beyond the greatest: infinity."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def plain(value: Value) -> Value:
    """The value so that equal ones compare equal: one NaN, no -0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, list):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple((name, plain(value[name])) for name in sorted(value))
    return value


def plain_values(row: Row) -> tuple[Value, ...]:
    """All values of a row, comparable."""
    return tuple(plain(value) for _, value in row.values)
