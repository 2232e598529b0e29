"""What EXPLAIN says a join adds is its own delay, whatever trails below it."""

from __future__ import annotations

import pytest
from sessions import session

LATE = "(SELECT a.k, a.t FROM a LEFT JOIN b ON a.k = b.k WINDOW (a, b) = 30) q"
"""Rows that trail the watermark by 30."""


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT q.k, c.t FROM {LATE} ASOF JOIN c MATCH_CONDITION (q NEAREST c.t) ON q.k = c.k TOLERANCE 7",
        f"SELECT q.k, COUNT(*) AS n FROM {LATE} WINDOW JOIN c ON q.k = c.k"
        " RANGE BETWEEN 2 PRECEDING AND 7 FOLLOWING",
    ],
    ids=["as-of", "WINDOW JOIN"],
)
def test_a_join_adds_its_own_delay_to_what_trails_below(query):
    w = session({name: {"k": [1], "t": [0]} for name in "abc"}, time="t")
    plan = w.explain(query)
    assert "adds a delay of 7\n" in plan
    assert "adds a delay of 37" not in plan
    assert "+ delay 30" in plan
