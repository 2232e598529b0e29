"""Random as-of joins, and their answers by sorting all right rows for each left one."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
from twins.asof import Row, Rules, last_wait, match_of

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

CONDITIONS = {
    "l.ts >= r.ts": ("backward", False),
    "r.ts <= l.ts": ("backward", False),
    "l.ts > r.ts": ("backward", True),
    "l.ts <= r.ts": ("forward", False),
    "r.ts > l.ts": ("forward", True),
    "l.ts NEAREST r.ts": ("nearest", False),
    "r.ts NEAREST l.ts AND l.ts <> r.ts": ("nearest", True),
}


def draw_asof(random: Random, *, most_rows: int = 14) -> Case:
    """An as-of join over none, one or two keys, with conditions in ON and WHERE."""
    time_type = random.choice(list(ARROW_TIME))
    condition = random.choice(list(CONDITIONS))
    kinds = [random.choice(list(ARROW_KEY)) for _ in range(random.choice([1, 1, 0, 2]))]
    rules = Rules(
        *CONDITIONS[condition],
        tolerance=random.choice([None, 0, 2, 7]),
        null_safe=tuple(random.random() < 0.3 for _ in kinds),
        is_left=random.random() < 0.5,
    )
    least_right, least_left = random.choice([None, 1]), random.choice([None, 1])
    streams = draw_streams(random, kinds, time_type, most_rows)
    on = [f"l.k{i} {'<=>' if safe else '='} r.k{i}" for i, safe in enumerate(rules.null_safe)]
    on += [f"r.v >= {least_right}"] if least_right is not None else []
    sql = (
        f"SELECT l.id AS lid, r.id AS rid FROM l {'LEFT ' if rules.is_left else ''}ASOF JOIN r"
        f" MATCH_CONDITION ({condition})"
        + (f" ON {' AND '.join(on)}" if on else "")
        + (
            f" TOLERANCE {length(rules.tolerance, time_type)}"
            if rules.tolerance is not None
            else ""
        )
        + (f" WHERE l.v >= {least_left}" if least_left is not None else "")
    )
    left = [row for row in plain_rows(streams[0], kinds) if passes(row, least_left)]
    right = [row for row in plain_rows(streams[1], kinds) if passes(row, least_right)]
    answer: Bag = Counter()
    due = {}
    for row in left:
        found = match_of(row, right, rules)
        if found is not None or rules.is_left:
            pair = (row["id"], found["id"] if found else None)
            answer[pair] += 1
            due[pair] = last_wait(row, right, rules)
    return Case(sql, streams, answer, time_type, due)


def draw_streams(
    random: Random, kinds: list[str], time_type: str, most_rows: int
) -> tuple[Stream, ...]:
    """Two streams of which the columns v, then the keys, order rows of one time."""
    times = draw_times(random)
    draws = {"v": lambda r: r.choice([None, 0, 1, 2])}
    draws |= {f"k{i}": lambda r, kind=kind: draw_key(r, kind) for i, kind in enumerate(kinds)}
    types = {"v": pa.int64(), "id": pa.int64()}
    types |= {f"k{i}": ARROW_KEY[kind] for i, kind in enumerate(kinds)}
    streams = []
    for name in ("l", "r"):
        lateness = random.choice([0, 2, 6])
        batches = draw_batches(random, draw_rows(random, most_rows, times, draws), lateness)
        streams.append(Stream(name, batches, lateness, time_type, types))
    return tuple(streams)


def plain_rows(stream: Stream, kinds: list[str]) -> list[Row]:
    """The rows as the twin has them; the id settles what v leaves open."""
    return [
        row
        | {"k": tuple(row[f"k{i}"] for i in range(len(kinds))), "columns": (row["v"], row["id"])}
        for row in stream.rows
    ]


def passes(row: Row, least: int | None) -> bool:
    """Whether `v >= least`, where that is asked."""
    return least is None or (row["v"] is not None and row["v"] >= least)
