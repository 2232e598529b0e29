"""Random bestmatch joins, and their answers by comparing every pair."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa

from cases.base import (
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


def draw_bestmatch(random: Random, *, most_rows: int = 12) -> Case:
    """A left outer bestmatch join in two or three dimensions."""
    time_type = random.choice(list(ARROW_TIME))
    eps = random.choice([0, 1, 3, 8])
    reach = {"x": random.choice([None, 1, 4]), "y": random.choice([None, 0.5, 2.5])}
    keyed = random.random() < 0.4
    keep = random.random() < 0.4
    draws = {
        "k": lambda r: draw_key(r, "bigint"),
        "x": lambda r: r.choice([None, *range(6)]),
        "y": lambda r: r.choice([None, float("nan"), 0.25, 1.0, 1.5, 4.0]),
    }
    streams = []
    times = draw_times(random)
    for name in ("temperature", "humidity"):
        lateness = random.choice([0, 2, 6])
        batches = draw_batches(random, draw_rows(random, most_rows, times, draws), lateness)
        types = {"id": pa.int64(), "k": pa.int64(), "x": pa.int64(), "y": pa.float64()}
        streams.append(Stream(name, batches, lateness, time_type, types))
    where = [f"abs(t.ts - h.ts) <= {length(eps, time_type)}"]
    where += [f"abs(t.{name} - h.{name}) <= {e}" for name, e in reach.items() if e is not None]
    where += ["t.k = h.k"] if keyed else []
    random.shuffle(where)
    sql = (
        "SELECT t.id AS tid, h.id AS hid FROM temperature t LEFT OUTER BESTMATCH JOIN humidity h "
        "ON t.ts MINDIST h.ts, t.x MINDIST h.x, t.y MINDIST h.y "
        f"WHERE {' AND '.join(where)}" + (" KEEP UNMATCHED" if keep else "")
    )
    answer: Bag = Counter()
    due = {}
    for left in streams[0].rows:
        found = best_of(left, streams[1].rows, eps, reach, keyed=keyed)
        for right in found or ([None] if keep else []):
            row = (left["id"], right["id"] if right else None)
            answer[row] += 1
            due[row] = left["t"] + eps
    return Case(sql, tuple(streams), answer, time_type, due)


def best_of(
    left: Row, rights: list[Row], eps: int, reach: dict[str, Any], *, keyed: bool
) -> list[Row]:
    """The candidates of a left row that no other candidate dominates."""
    candidates = []
    for right in rights:
        if keyed and not same_key(left["k"], right["k"]):
            continue
        distances = [abs(left["t"] - right["t"])]
        limits = [eps]
        for name, limit in reach.items():
            a, b = left[name], right[name]
            missing = a is None or b is None
            distances.append(float("nan") if missing else abs(a - b))
            limits.append(float("inf") if limit is None else limit)
        if all(d <= limit for d, limit in zip(distances, limits, strict=True)):
            candidates.append((right, distances))
    return [
        right
        for right, mine in candidates
        if not any(
            all(o <= m for o, m in zip(other, mine, strict=True)) and other != mine
            for _, other in candidates
        )
    ]
