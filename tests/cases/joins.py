"""Random window joins, and their answers by testing every combination of rows."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from random import Random

import pyarrow as pa

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
    same_key,
)


@dataclass(frozen=True)
class Clause:
    """One window as SQL says it, and what it demands of the times of two streams."""

    sql: str
    place: str  # "clause" | "where"
    pair: tuple[int, int]
    low: int
    high: int


def draw_clause(random: Random, names: list[str], a: int, b: int, time_type: str) -> Clause:
    """A window between streams a and b, in one of the ways to state it."""
    first, second = names[a], names[b]
    w, x = random.choice([0, 1, 2, 5]), random.choice([0, 1, 3])
    shown_w, shown_x = length(w, time_type), length(x, time_type)
    kind = random.randrange(6)
    if kind == 0:
        return Clause(f"WINDOW ({first}, {second}) = {shown_w}", "clause", (a, b), -w, w)
    if kind == 1:
        return Clause(f"DWINDOW ({first}, {second}) = {shown_w}", "clause", (a, b), 0, w)
    if kind == 2:
        text = f"WINDOW ({first}, {second}) BETWEEN {shown_x} PRECEDING AND {shown_w} FOLLOWING"
        return Clause(text, "clause", (a, b), -x, w)
    if kind == 3:
        text = f"{second}.ts BETWEEN {first}.ts - {shown_x} AND {first}.ts + {shown_w}"
        return Clause(text, "where", (a, b), -x, w)
    if kind == 4:
        # A strict bound is one tick tighter than x + 1 units: x units where a tick is a unit, and
        # no other whole unit where it is a microsecond.
        low = f"{second}.ts > {first}.ts - {length(x + 1, time_type)}"
        text = f"{low} AND {first}.ts >= {second}.ts - {shown_w}"
        return Clause(text, "where", (a, b), -x, w)
    text = f"abs({first}.ts - {second}.ts) <= {shown_w}"
    return Clause(text, "where", (a, b), -w, w)


def draw_join(random: Random, *, most_rows: int = 9, most_streams: int = 4) -> Case:
    """A window join of two or more streams with random keys and windows."""
    time_type = random.choice(list(ARROW_TIME))
    size = random.choice([2, 2, 3, 3, most_streams])
    kinds = [random.choice(list(ARROW_KEY)), random.choice(["bigint", "string"])]
    names = [f"s{i}" for i in range(size)]
    streams = []
    times = draw_times(random)
    for name in names:
        rows = draw_rows(
            random,
            most_rows if size < 4 else max(3, most_rows * 2 // 3),
            times,
            {
                "k": lambda r: draw_key(r, kinds[0]),
                "m": lambda r: draw_key(r, kinds[1]),
                "x": lambda r: r.choice([None, 1, 2, 3]),
            },
        )
        lateness = random.choice([0, 2, 6])
        types = {"id": pa.int64(), "k": ARROW_KEY[kinds[0]], "m": ARROW_KEY[kinds[1]]}
        types["x"] = pa.int32()
        batches = draw_batches(random, rows, lateness)
        streams.append(Stream(name, batches, lateness, time_type, types))
    equalities = draw_equalities(random, names)
    clauses = draw_windows(random, names, time_type)
    return join_case(random, streams, equalities, clauses, time_type)


def draw_equalities(random: Random, names: list[str]) -> list[tuple[int, str, int, str]]:
    """Equalities that connect the streams one after the other, or none for one of them."""
    style = random.randrange(4)
    pairs = [(random.randrange(i), i) for i in range(1, len(names))]
    found = []
    for number, (a, b) in enumerate(pairs):
        if style in {0, 1}:
            found.append((a, "k", b, "k"))
        if style == 1:
            found.append((a, "m", b, "m"))
        if style == 2:
            column = "k" if number % 2 == 0 else "m"
            found.append((a, column, b, column))
        if style == 3 and number == 0:
            found.append((a, "k", b, "k"))
    return found


def draw_windows(random: Random, names: list[str], time_type: str) -> list[Clause]:
    """One window for all, or clauses along a random tree and a few more."""
    size = len(names)
    if random.random() < 0.25:
        w = random.choice([0, 1, 2, 5])
        pairs = list(itertools.combinations(range(size), 2))
        shown = f"WINDOW = {length(w, time_type)}"
        return [Clause(shown if i == 0 else "", "clause", p, -w, w) for i, p in enumerate(pairs)]
    clauses = [
        draw_clause(random, names, random.randrange(i), i, time_type) for i in range(1, size)
    ]
    if size > 2 and random.random() < 0.4:
        # A wide one more: never empties the intersection with the others.
        a, b = sorted(random.sample(range(size), 2))
        w = 30
        text = f"WINDOW ({names[a]}, {names[b]}) = {length(w, time_type)}"
        clauses.append(Clause(text, "clause", (a, b), -w, w))
    return clauses


def join_case(
    random: Random,
    streams: list[Stream],
    equalities: list[tuple[int, str, int, str]],
    clauses: list[Clause],
    time_type: str,
) -> Case:
    """The SQL of a join, and its answer by testing every combination."""
    names = [stream.name for stream in streams]
    filtered = random.random() < 0.5
    where = [f"{names[a]}.{p} = {names[b]}.{q}" for a, p, b, q in equalities]
    where += [clause.sql for clause in clauses if clause.place == "where"]
    where += [f"{names[0]}.x > 1"] if filtered else []
    random.shuffle(where)
    windows = [clause.sql for clause in clauses if clause.place == "clause" and clause.sql]
    columns = [f"{name}.id AS id{i}" for i, name in enumerate(names)]
    columns.append(f"{names[0]}.x + {names[1]}.x AS total")
    sql = f"SELECT {', '.join(columns)} FROM {', '.join(names)}"
    sql += f" WHERE {' AND '.join(where)}" if where else ""
    sql += " " + random.choice([" AND ", ", "]).join(windows)
    answer: Bag = Counter()
    for rows in itertools.product(*(stream.rows for stream in streams)):
        if filtered and not (rows[0]["x"] is not None and rows[0]["x"] > 1):
            continue
        if not all(same_key(rows[a][p], rows[b][q]) for a, p, b, q in equalities):
            continue
        reach = [(c, rows[c.pair[1]]["t"] - rows[c.pair[0]]["t"]) for c in clauses]
        if all(c.low <= distance <= c.high for c, distance in reach):
            xs = (rows[0]["x"], rows[1]["x"])
            total = None if None in xs else sum(xs)
            answer[(*(row["id"] for row in rows), total)] += 1
    return Case(sql, tuple(streams), answer, time_type)
