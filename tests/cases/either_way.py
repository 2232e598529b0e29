"""Random paths that are passed either way, and their answers by testing every combination."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

import pyarrow as pa

from cases.base import ARROW_TIME, Bag, Case, Stream, draw_batches, draw_rows, length


def draw_either_way(random: Random, *, most_rows: int = 9, has_key: bool | None = None) -> Case:
    """Directed windows between two to four streams, EITHER WAY; sometimes an undirected one too.

    The times are few, so that many combinations meet the windows both ways.
    """
    time_type = random.choice(list(ARROW_TIME))
    size = random.choice([2, 3, 3, 4])
    names = [f"s{i}" for i in range(size)]
    times = (random.choice([0, -20]), random.choice([2, 5, 12]))
    has_key = random.random() < 0.7 if has_key is None else has_key
    streams = []
    for name in names:
        rows = draw_rows(
            random, most_rows if size < 4 else max(3, most_rows * 2 // 3), times,
            {"k": lambda r: r.choice([None, 0, 1, 1])},
        )  # fmt: skip
        lateness = random.choice([0, 2, 6])
        batches = draw_batches(random, rows, lateness)
        types = {"id": pa.int64(), "k": pa.int64()}
        streams.append(Stream(name, batches, lateness, time_type, types))
    directed = [_arrow(random, random.randrange(i), i) for i in range(1, size)]
    undirected = (*random.sample(range(size), 2), random.choice([1, 4])) if size > 2 else None
    if random.random() < 0.5:
        undirected = None
    return _case(random, streams, directed, undirected, has_key=has_key)


def _arrow(random: Random, a: int, b: int) -> tuple[int, int, int]:
    first, then = random.sample([a, b], 2)
    return first, then, random.choice([0, 1, 2, 5])


def _case(
    random: Random,
    streams: list[Stream],
    directed: list[tuple[int, int, int]],
    undirected: tuple[int, int, int] | None,
    *,
    has_key: bool,
) -> Case:
    names = [stream.name for stream in streams]
    time_type = streams[0].time_type
    windows = [f"DWINDOW ({names[a]}, {names[b]}) = {length(w, time_type)}" for a, b, w in directed]
    if undirected is not None:
        a, b, w = undirected
        window = f"WINDOW ({names[a]}, {names[b]}) = {length(w, time_type)}"
        windows.insert(random.randrange(len(windows)), window)
    columns = [f"{name}.id AS id{i}" for i, name in enumerate(names)]
    equal = [f"{names[0]}.k = {name}.k" for name in names[1:]] if has_key else []
    where = f" WHERE {' AND '.join(equal)}" if equal else ""
    shown = random.choice([" AND ", ", "]).join(windows)
    sql = f"SELECT {', '.join(columns)} FROM {', '.join(names)}{where} {shown} EITHER WAY"
    answer: Bag = Counter()
    for rows in itertools.product(*(stream.rows for stream in streams)):
        keys = {row["k"] for row in rows}
        if has_key and (len(keys) > 1 or None in keys):
            continue
        times = [row["t"] for row in rows]
        if undirected is not None and abs(times[undirected[0]] - times[undirected[1]]) > w:
            continue
        as_written = all(0 <= times[b] - times[a] <= w for a, b, w in directed)
        if as_written or all(0 <= times[a] - times[b] <= w for a, b, w in directed):
            answer[tuple(row["id"] for row in rows)] += 1
    return Case(sql, tuple(streams), answer, time_type)
