"""Random queries with COUNT_IF, BOOL_AND, BOOL_OR, MAX_BY, MIN_BY and ANY_VALUE, answered row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
from twins.aggregate import in_order, plain, value_by
from twins.asof import Row
from twins.range_aggregate import Range, around

from cases.aggregates import changelog_case, sliding_changes
from cases.base import (
    ARROW_KEY,
    ARROW_TIME,
    Bag,
    Case,
    Stream,
    draw_batches,
    draw_key,
    draw_rows,
    draw_times,
    length,
)
from cases.window_joins import ENDS, end

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), [None, "", "a", "a\0", "b", "a long text of more than 8", "é"]),
    "double": (pa.float64(), [None, 0.5, -0.0, 0.0, float("nan"), float("inf"), -1e300]),
    "whole": (pa.int64(), [None, 0, 1, -(2**63), 2**63 - 1]),
    "truth": (pa.bool_(), [None, True, False]),
    "wide": (pa.decimal128(30, 2), [None, Decimal("0.10"), Decimal("-5.00"), Decimal(10**25)]),
    "cents": (pa.decimal128(8, 2), [None, Decimal("0.10"), Decimal("-5.00")]),
}
"""Few values of each type, so that there are ties."""

Answer = Callable[[list[Row]], Any]


def draw_call(random: Random, prefix: str = "") -> tuple[str, Answer]:
    """A call of one of the aggregates, and what it gives over some rows."""
    x, y, b = (f"{prefix}{name}" for name in "xyb")
    distinct = random.choice(["", "", "DISTINCT "])
    nulls = random.choice(["", " IGNORE NULLS", " RESPECT NULLS"])
    calls: list[tuple[str, str, Answer]] = [
        (f"COUNT_IF({b})", "", lambda rows: sum(row["b"] is True for row in rows)),
        (f"{random.choice(['BOOL_AND', 'EVERY'])}({distinct}{b})", "", lambda r: truth(r, all)),
        (f"{random.choice(['BOOL_OR', 'SOME'])}({distinct}{b})", "", lambda r: truth(r, any)),
        (f"ANY({b})", "", lambda rows: truth(rows, any)),
        (f"MAX_BY({distinct}{x}, {y})", "", lambda rows: picked("max_by", rows)),
        (f"MIN_BY({distinct}{x}, {y})", "", lambda rows: picked("min_by", rows)),
        (f"MAX_BY({y}, {x})", "", lambda rows: picked("max_by", rows, "y", "x")),
        (f"ANY_VALUE({distinct}{x})", nulls, least),
    ]
    text, clause, answer = random.choice(calls)
    if random.random() < 0.3:
        text += f" FILTER (WHERE {prefix}q > 0)"
        return text + clause, lambda rows: answer([row for row in rows if row["q"] > 0])
    return text + clause, answer


def truth(rows: list[Row], of_all: Callable[[list[bool]], bool]) -> bool | None:
    """Whether all, or any, of the conditions hold that are known."""
    known = [row["b"] for row in rows if row["b"] is not None]
    return of_all(known) if known else None


def picked(function: str, rows: list[Row], x: str = "x", y: str = "y") -> Any:
    """MAX_BY or MIN_BY."""
    pairs = [{"x": row[x], "y": row[y]} for row in rows if row[y] is not None]
    return plain(value_by(function, pairs)) if pairs else None


def least(rows: list[Row]) -> Any:
    """ANY_VALUE."""
    known = [row["x"] for row in rows if row["x"] is not None]
    return plain(in_order("min", known)) if known else None


def draw_stream(
    random: Random, name: str, kinds: list[str], time_type: str, rows: tuple[int, tuple[int, int]]
) -> Stream:
    """Rows with keys k0, k1, .. and with what the calls read."""
    types = {which: VALUES[random.choice(list(VALUES))] for which in "xy"}
    draws = {
        "x": lambda r: r.choice(types["x"][1]),
        "y": lambda r: r.choice(types["y"][1]),
        "b": lambda r: r.choice([None, True, False]),
        "q": lambda r: r.randrange(3),
    }
    draws |= {f"k{i}": lambda r, kind=kind: draw_key(r, kind) for i, kind in enumerate(kinds)}
    lateness = random.choice([0, 3, 9])
    drawn = draw_rows(random, *rows, draws)
    columns = {"id": pa.int64(), "x": types["x"][0], "y": types["y"][0], "b": pa.bool_()}
    columns |= {"q": pa.int32()} | {f"k{i}": ARROW_KEY[kind] for i, kind in enumerate(kinds)}
    return Stream(name, draw_batches(random, drawn, lateness), lateness, time_type, columns)


def keyed_rows(stream: Stream, kinds: list[str]) -> list[Row]:
    """The rows as the twin has them."""
    return [row | {"k": tuple(row[f"k{i}"] for i in range(len(kinds)))} for row in stream.rows]


def draw_values_by(random: Random, *, most_rows: int = 14) -> Case:
    """A sliding GROUP BY, with HAVING or without, or a WINDOW JOIN."""
    if random.random() < 0.3:
        return draw_values_around(random, most_rows=most_rows)
    time_type = random.choice(list(ARROW_TIME))
    kind = random.choice([*ARROW_KEY, None])
    w = random.choice([0, 1, 4, 20])
    times = draw_times(random)
    stream = draw_stream(random, "s", [kind] if kind else [], time_type, (most_rows, times))
    calls = [draw_call(random) for _ in range(random.randrange(1, 4))]
    listed = ", ".join(f"{text} AS v{i}" for i, (text, _) in enumerate(calls))
    has_having = random.random() < 0.3
    sql = (
        f"SELECT {'k0, ' if kind else ''}{listed} FROM s [RANGE {length(w, time_type)}]"
        + (" GROUP BY k0" if kind else "")
        + (" HAVING MAX_BY(id, q) % 2 = 0" if has_having else "")
    )

    def answer_of(alive: list[Row]) -> tuple[Any, ...] | None:
        if has_having:
            newest = picked("max_by", alive, "id", "q")
            if newest is None or newest % 2:
                return None
        return tuple(answer(alive) for _, answer in calls)

    expiry = (0, 1) if time_type in {"timestamp", "timestamp_ntz"} else (1, 0)
    rows = [row | ({"g": row["k0"]} if kind else {}) for row in stream.rows]
    changes = sliding_changes(rows, (w + expiry[0], expiry[1]), answer_of, by_group=bool(kind))
    return changelog_case(sql, stream, changes)


def draw_values_around(random: Random, *, most_rows: int = 14) -> Case:
    """A WINDOW JOIN over none or one key."""
    time_type = random.choice(list(ARROW_TIME))
    lo, hi = random.choice(ENDS)
    kinds = [random.choice(list(ARROW_KEY)) for _ in range(random.choice([1, 0]))]
    own = Range(lo, hi, (False,) * len(kinds))
    rows = (most_rows, draw_times(random))
    left, right = (draw_stream(random, name, kinds, time_type, rows) for name in "lr")
    calls = [draw_call(random, "r.") for _ in range(random.randrange(1, 4))]
    listed = ", ".join(f"{text} AS v{i}" for i, (text, _) in enumerate(calls))
    sql = (
        f"SELECT l.id, {listed} FROM l WINDOW JOIN r{' ON l.k0 = r.k0' if kinds else ''}"
        f" RANGE BETWEEN {end(-lo, time_type)} AND {end(hi, time_type)}"
    )
    answer: Bag = Counter()
    due = {}
    counted = keyed_rows(right, kinds)
    for row in keyed_rows(left, kinds):
        found = around(row, counted, own)
        shown = (row["id"], *(value(found) for _, value in calls))
        answer[shown] += 1
        due[shown] = row["t"] + max(hi, 0)
    return Case(sql, (left, right), answer, time_type, due)
