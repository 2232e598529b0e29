"""Random joins over count windows, and their answers by letting tuples enter one by one."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
from twins.count_windows import Window, count_join
from twins.join import Row

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
from cases.joins import draw_equalities

LISTS = [None, [], [1], [1, None], [1, 2], [2]]


def draw_count_join(random: Random, *, most_rows: int = 9) -> Case:
    """A join of two to four sources, some of them perhaps one stream, over count windows.

    Times tie often, and the id, which tells tuples apart, is the last of the columns.
    """
    time_type = random.choice(list(ARROW_TIME))
    kinds = [random.choice(list(ARROW_KEY)), random.choice(["bigint", "string"])]
    times = draw_times(random)
    size = random.choice([2, 2, 3, 3, 4])
    rows = most_rows if size < 4 else max(3, most_rows * 2 // 3)
    streams = [
        _stream(random, f"s{i}", kinds, times, time_type, rows)
        for i in range(random.choice([1, size, size, size]))
    ]
    sources = [streams[i % len(streams)] for i in range(size)]
    aliases = [f"x{i}" for i in range(size)]
    windows, texts, within = _windows(random, size, time_type)
    equalities = draw_equalities(random, aliases)
    conditions = [f"{aliases[a]}.{p} = {aliases[b]}.{q}" for a, p, b, q in equalities]
    tests = []
    if random.random() < 0.4:
        conditions.append("x0.x > 1")
        tests.append(lambda rows: _number(rows, 0, "x") > 1)
    if random.random() < 0.3:
        conditions.append("x0.x <= x1.x")
        tests.append(lambda rows: _number(rows, 0, "x", 99) <= _number(rows, 1, "x"))
    if random.random() < 0.3:
        reach = random.choice([0, 1, 4])
        conditions.append(f"x1.ts <= x0.ts + {length(reach, time_type)}")
        tests.append(lambda rows: rows[1].time <= rows[0].time + reach)
    random.shuffle(conditions)
    shown = ", ".join(f"{alias}.id AS id{i}" for i, alias in enumerate(aliases))
    listed = ", ".join(
        f"{source.name}{text} AS {alias}"
        for source, text, alias in zip(sources, texts, aliases, strict=True)
    )
    sql = f"SELECT {shown} FROM {listed}"
    sql += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    sql += f" WINDOW = {within} ROWS" if within is not None else ""

    def holds(rows: tuple[Row, ...]) -> bool:
        keys = all(same_key(rows[a].values[p], rows[b].values[q]) for a, p, b, q in equalities)
        return keys and all(test(rows) for test in tests)

    answer: Bag = Counter()
    due: dict[tuple[Any, ...], int] = {}
    entering = [[Row(row, row["t"]) for row in source.rows] for source in sources]
    columns = [list(source.types) for source in sources]
    for found in count_join(entering, columns, windows, within, holds):
        ids = tuple(row.values["id"] for row in found)
        answer[ids] += 1
        due[ids] = max(row.time for row in found)
    return Case(sql, tuple(streams), answer, time_type, due)


def _stream(
    random: Random,
    name: str,
    kinds: list[str],
    times: tuple[int, int],
    time_type: str,
    most_rows: int,
) -> Stream:
    columns = {
        "k": lambda r: draw_key(r, kinds[0]),
        "m": lambda r: draw_key(r, kinds[1]),
        "x": lambda r: r.choice([None, 1, 2, 3]),
        "w": lambda r: r.choice(LISTS),
    }
    rows = draw_rows(random, most_rows, times, columns)
    types = {
        "x": pa.int32(),
        "w": pa.list_(pa.int64()),
        "k": ARROW_KEY[kinds[0]],
        "m": ARROW_KEY[kinds[1]],
        "id": pa.int64(),
    }
    lateness = random.choice([0, 2, 6])
    return Stream(name, draw_batches(random, rows, lateness), lateness, time_type, types)


def _windows(
    random: Random, size: int, time_type: str
) -> tuple[list[Window], list[str], int | None]:
    """A window per source, as text too, and the n of WINDOW = n ROWS; at least one counts."""
    within = random.choice([1, 2, 5, 9]) if random.random() < 0.3 else None
    windows, texts = [], []
    for at in range(size):
        kind = random.choice(["rows", "rows", "partition", "partition", "two", "range"])
        if within is not None and random.random() < 0.6:
            kind = "none"
        elif at == 0 and kind == "range":
            kind = "rows"
        rows, ticks = random.choice([1, 1, 2, 4]), random.choice([0, 2, 7])
        partition = {"partition": ("k",), "two": ("k", "m")}.get(kind, ())
        if kind == "range":
            windows.append(Window(ticks=ticks))
            texts.append(f" [RANGE {length(ticks, time_type)}]")
        elif kind == "none":
            windows.append(Window())
            texts.append("")
        else:
            windows.append(Window(rows, partition))
            by = f"PARTITION BY {', '.join(partition)} " if partition else ""
            texts.append(f" [{by}ROWS {rows}]")
    return windows, texts, within


def _number(rows: tuple[Row, ...], at: int, name: str, null: int = -99) -> int:
    """A value to compare; for a NULL, one that makes the comparison false."""
    value = rows[at].values[name]
    return null if value is None else value
