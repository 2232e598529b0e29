"""Aggregates over what an aggregate gives: rows without an end, taken back one by one."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from statistics import median, pvariance

import pyarrow as pa
import pytest
from sessions import session

pytestmark = pytest.mark.law

WINDOW = 7
SQL = (
    "SELECT MAX(x.n) AS most, MIN(x.last) AS first, MEDIAN(x.n) AS mid, COUNT(DISTINCT x.n) AS sizes,"
    " VAR_POP(x.n) AS spread FROM (SELECT k, COUNT(*) AS n, MAX(v) AS last"
    f" FROM s [RANGE {WINDOW}] GROUP BY k) x"
)


def answer_at(rows, instant):
    """The answer over the rows alive; None before the first."""
    if instant < min(t for t, _, _ in rows):
        return None
    groups = {}
    for t, k, v in rows:
        if t <= instant <= t + WINDOW:
            groups.setdefault(k, []).append(v)
    if not groups:
        return (None, None, None, 0, None)
    sizes = [len(values) for values in groups.values()]
    first = min(max(values) for values in groups.values())
    return max(sizes), first, float(median(sizes)), len(set(sizes)), float(pvariance(sizes))


@pytest.mark.parametrize("seed", range(8))
def test_the_answer_at_every_instant_is_that_over_the_groups_alive(seed):
    random = Random(seed)
    rows = [
        (random.randrange(60), random.randrange(6), random.choice("abcdefg"))
        for _ in range(random.randrange(1, 80))
    ]
    rows.sort(key=lambda row: row[0])
    cut = random.randrange(len(rows) + 1)
    names = ("t", "k", "v")
    schema = pa.schema([("t", pa.int64()), ("k", pa.int32()), ("v", pa.string())])
    parts = [
        pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in part], schema)
        for part in (rows[:cut], rows[cut:])
    ]
    w = session({"s": parts}, time="t", schema=schema)
    changes = [tuple(row.values()) for row in w.sql(SQL).to_arrow().to_pylist()]
    for instant in range(-1, 70):
        standing = Counter()
        for *row, kind, time in changes:
            if time <= instant:
                standing[tuple(row)] += 1 if kind == "insert" else -1
        found = [row for row, n in standing.items() if n]
        expected = answer_at(rows, instant)
        assert len(found) == (expected is not None), instant
        for got, want in zip(found[0] if found else (), expected or (), strict=True):
            same = got == want or (isinstance(want, float) and math.isclose(got, want))
            assert same, (instant, found, expected)
