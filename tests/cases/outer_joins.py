"""Random outer, semi and anti joins of two streams, and their answers by testing every pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
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
    same_key,
)
from cases.joins import Clause, draw_clause

KINDS = {
    "left": ("LEFT JOIN", "LEFT OUTER JOIN"),
    "right": ("RIGHT JOIN", "RIGHT OUTER JOIN"),
    "full": ("FULL JOIN", "FULL OUTER JOIN"),
    "semi": ("LEFT SEMI JOIN", "SEMI JOIN"),
    "anti": ("LEFT ANTI JOIN", "ANTI JOIN"),
}
PRESERVED = {"left": (0,), "right": (1,), "full": (0, 1), "semi": (), "anti": (0,)}


@dataclass(frozen=True)
class Test:
    """A condition in SQL, and whether it is true of a row of each stream (None: NULLs)."""

    sql: str
    holds: Callable[[Row | None, Row | None], bool]


def value(row: Row | None, name: str) -> Any:
    """A value of a row, NULL where there is none."""
    return None if row is None else row[name]


def both(left: Row | None, right: Row | None) -> tuple[Any, Any] | None:
    """Both values of x, or None where one is NULL."""
    found = value(left, "x"), value(right, "x")
    return None if None in found else found


ON = (
    Test("s0.x < s1.x", lambda a, b: (xs := both(a, b)) is not None and xs[0] < xs[1]),
    Test("s0.x + s1.x <> 4", lambda a, b: (xs := both(a, b)) is not None and sum(xs) != 4),
    Test("s0.x > 1", lambda a, _: value(a, "x") is not None and value(a, "x") > 1),
    Test("s1.x > 1", lambda _, b: value(b, "x") is not None and value(b, "x") > 1),
    Test("coalesce(s1.x, 0) IS NOT NULL", lambda *_: True),
)
WHERE = (
    Test("s0.x > 1", lambda a, _: value(a, "x") is not None and value(a, "x") > 1),
    Test("s0.x IS NULL OR s0.x < 3", lambda a, _: value(a, "x") is None or value(a, "x") < 3),
    Test("s1.id IS NULL", lambda _, b: b is None),
    Test("s1.ts >= s0.ts", lambda a, b: a is not None and b is not None and b["t"] >= a["t"]),
)


def draw_outer_join(random: Random, *, most_rows: int = 12, kind: str | None = None) -> Case:
    """A join of two streams that is not inner, with conditions in ON and in WHERE."""
    kind = kind or random.choice(list(KINDS))
    time_type = random.choice(list(ARROW_TIME))
    key = random.choice(list(ARROW_KEY))
    times = draw_times(random)
    types = {"id": pa.int64(), "k": ARROW_KEY[key], "x": pa.int32()}
    draws = {"k": lambda r: draw_key(r, key), "x": lambda r: r.choice([None, 1, 2, 3])}
    streams = []
    for name in ("s0", "s1"):
        lateness = random.choice([0, 2, 6])
        rows = draw_rows(random, most_rows, times, draws)
        streams.append(
            Stream(name, draw_batches(random, rows, lateness), lateness, time_type, types)
        )
    clause, ranges = draw_window(random, time_type)
    keyed = random.random() < 0.75
    on = [random.choice(ON)] if random.random() < 0.5 else []
    first_only = kind in {"semi", "anti"}
    where = [random.choice(WHERE[:2] if first_only else WHERE)] if random.random() < 0.4 else []

    conditions = [*(test.sql for test in on), *(["s0.k = s1.k"] if keyed else [])]
    after = [f"({test.sql})" for test in where]
    tail = ""
    if clause.place == "where":
        conditions.append(clause.sql)
    elif clause.sql:
        place = random.choice([conditions, after, None])
        if place is None:
            tail = f" {clause.sql}"
        else:
            place.append(clause.sql)
    random.shuffle(conditions)
    random.shuffle(after)
    shown = "s0.id AS id0, s0.x AS x0" if first_only else SHOWN
    sql = f"SELECT {shown} FROM s0{ranges[0]} {random.choice(KINDS[kind])} s1{ranges[1]}"
    sql += f" ON {' AND '.join(conditions)}" if conditions else ""
    sql += f" WHERE {' AND '.join(after)}" if after else ""
    answer, due = outer_answer(kind, streams, clause, [*on, *([SAME_KEY] if keyed else [])], where)
    return Case(sql + tail, tuple(streams), answer, time_type, due)


SHOWN = "s0.id AS id0, s1.id AS id1, s0.x + s1.x AS total"
SAME_KEY = Test("s0.k = s1.k", lambda a, b: same_key(value(a, "k"), value(b, "k")))


def draw_window(random: Random, time_type: str) -> tuple[Clause, tuple[str, str]]:
    """A window between the two, and what stands behind their names in FROM."""
    if random.random() < 0.2:
        widths = random.choice([0, 1, 4]), random.choice([0, 2, 5])
        shown = [f" [RANGE {length(width, time_type)}]" for width in widths]
        return Clause("", "clause", (0, 1), -widths[1], widths[0]), (shown[0], shown[1])
    return draw_clause(random, ["s0", "s1"], 0, 1, time_type), ("", "")


def outer_answer(
    kind: str, streams: list[Stream], clause: Clause, on: list[Test], where: list[Test]
) -> tuple[Bag, dict[tuple[Any, ...], int]]:
    """The rows of the answer, and for those that wait, the time that the watermark must pass."""
    left, right = (stream.rows for stream in streams)
    pairs = [
        (a, b)
        for a in left
        for b in right
        if clause.low <= b["t"] - a["t"] <= clause.high and all(test.holds(a, b) for test in on)
    ]
    rows: list[tuple[Row | None, Row | None, int | None]] = []
    if kind == "semi":
        rows += [(a, None, None) for a in left if any(pair[0] is a for pair in pairs)]
    elif kind != "anti":
        rows += [(a, b, None) for a, b in pairs]
    for side in PRESERVED[kind]:
        reach = (clause.high, -clause.low)[side]
        for row in (left, right)[side]:
            if not any(pair[side] is row for pair in pairs):
                alone = (row, None) if side == 0 else (None, row)
                rows.append((*alone, row["t"] + reach))
    answer: Bag = Counter()
    due = {}
    for a, b, final in rows:
        if not all(test.holds(a, b) for test in where):
            continue
        if kind in {"semi", "anti"}:
            shown = (value(a, "id"), value(a, "x"))
        else:
            xs = both(a, b)
            shown = (value(a, "id"), value(b, "id"), None if xs is None else sum(xs))
        answer[shown] += 1
        if final is not None:
            due[shown] = final
    return answer, due
