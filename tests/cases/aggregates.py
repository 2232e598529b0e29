"""Random sliding aggregates, and their changelogs by asking at every instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa

from cases.base import (
    ARROW_KEY,
    ARROW_TIME,
    Bag,
    Case,
    Row,
    Stream,
    draw_batches,
    draw_key,
    draw_rows,
    draw_times,
    length,
    show_time,
)


def draw_aggregate(random: Random, *, most_rows: int = 14) -> Case:
    """A sliding GROUP BY over one stream, its changelog by asking at every instant."""
    time_type = random.choice(list(ARROW_TIME))
    kind = random.choice([*ARROW_KEY, None])
    w = random.choice([0, 1, 4, 20])
    number = random.choice(["price", "amount", "cents"])
    draws = {
        "g": lambda r: draw_key(r, kind or "bigint"),
        "price": lambda r: r.choice([None, 0.5, 1e17, -1e17, 3.25, 0.1]),
        "amount": lambda r: r.choice([None, 1, 2, 2**40]),
        "cents": lambda r: r.choice([None, Decimal("0.01"), Decimal("12.50")]),
        "q": lambda r: r.randrange(4),
    }
    lateness = random.choice([0, 3, 9])
    batches = draw_batches(
        random, draw_rows(random, most_rows, draw_times(random), draws), lateness
    )
    types = {
        "id": pa.int64(),
        "g": ARROW_KEY[kind or "bigint"],
        "price": pa.float64(),
        "amount": pa.int64(),
        "cents": pa.decimal128(10, 2),
        "q": pa.int32(),
    }
    stream = Stream("sales", batches, lateness, time_type, types)
    keys = "g, " if kind else ""
    sql = (
        f"SELECT {keys}SUM({number}) AS total, COUNT(*) AS n, COUNT({number}) AS m "
        f"FROM sales [RANGE {length(w, time_type)}] WHERE q > 0" + (" GROUP BY g" if kind else "")
    )
    rows = [row for row in stream.rows if row["q"] > 0]
    expiry = (0, 1) if time_type in {"timestamp", "timestamp_ntz"} else (1, 0)
    lifetime = (w + expiry[0], expiry[1])

    def totals(alive: list[Row]) -> tuple[Any, ...]:
        values = [row[number] for row in alive if row[number] is not None]
        return exact_sum(values), len(alive), len(values)

    changes = sliding_changes(rows, lifetime, totals, by_group=kind is not None)
    return changelog_case(sql, stream, changes)


def changelog_case(sql: str, stream: Stream, changes: list[tuple[Any, ...]]) -> Case:
    """The case of one stream whose answer is a changelog."""
    answer: Bag = Counter()
    due = {}
    for change in changes:
        row = (*change[:-1], show_instant(change[-1], stream.time_type))
        answer[row] += 1
        # Below the watermark, which lies on whole units: a microsecond more changes nothing.
        due[row] = change[-1][0]
    return Case(sql, (stream,), answer, stream.time_type, due)


Instant = tuple[int, int]
"""Whole time units, and microseconds after them: a tick is a unit, or a microsecond."""


def show_instant(instant: Instant, time_type: str) -> Any:
    """An instant as `_event_time` shows it."""
    units, microseconds = instant
    shown = show_time(units, time_type)
    return shown + timedelta(microseconds=microseconds) if microseconds else shown


def group_value(value: Any) -> Any:
    """A group key as the answer shows it; NaN by a name of its own, for it equals nothing."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0  # noqa: PLR0124
    return value


def sliding_changes(
    rows: list[Row],
    lifetime: Instant,
    answer_of: Callable[[list[Row]], tuple[Any, ...] | None],
    *,
    by_group: bool,
) -> list[tuple[Any, ...]]:
    """The changelog rows: change type first, instant last.

    `answer_of` gives the answer over some rows, None where they are not to be shown.
    """

    def end_of(row: Row) -> Instant:
        return row["t"] + lifetime[0], lifetime[1]

    instants = sorted({(row["t"], 0) for row in rows} | {end_of(row) for row in rows})
    if not by_group:
        groups: list[Any] = [None]
    else:
        groups = sorted({group_value(r["g"]) for r in rows}, key=lambda g: (g is not None, str(g)))
    changes = []
    for group in groups:
        before: tuple[Any, ...] | None = None
        for instant in instants:
            alive = [
                row
                for row in rows
                if (row["t"], 0) <= instant < end_of(row)
                and (not by_group or group_value(row["g"]) == group)
            ]
            answer = answer_of(alive) if alive or not by_group else None
            if answer == before:
                continue
            head = (group,) if by_group else ()
            if before is not None:
                changes.append(("delete", *head, *before, instant))
            if answer is not None:
                changes.append(("insert", *head, *answer, instant))
            before = answer
    return changes


def exact_sum(values: list[Any]) -> Any:
    """The sum as if computed exactly and rounded once; None over nothing."""
    if not values:
        return None
    if isinstance(values[0], float):
        return float(sum(map(Fraction, values)))
    return sum(values)
