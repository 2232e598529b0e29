"""Every plan that the planner can choose gives the same bag."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow import Session

ROW = st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 40))
STREAM = st.lists(ROW, max_size=14)


def session(streams):
    w = Session()
    for name, rows in zip("abcd", streams, strict=False):
        ordered = sorted(rows, key=lambda row: row[2])
        data = {
            column: pa.array([row[at] for row in ordered], pa.int64())
            for at, column in enumerate(("k", "x", "at"))
        }
        w.stream(name, pa.table(data), time="at")
    return w


def bag(w, query, **options: Any):
    return Counter(
        map(tuple, (row.values() for row in w.sql(query, **options).to_arrow().to_pylist()))
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(STREAM, min_size=3, max_size=4), st.integers(0, 12))
def test_every_order_gives_the_same_bag(streams, window):
    names = "abcd"[: len(streams)]
    shown = ", ".join(f"{n}.k AS {n}k, {n}.x AS {n}x, {n}.at AS {n}t" for n in names)
    equal = " AND ".join(f"{a}.k = {b}.k" for a, b in pairwise(names))
    query = f"SELECT {shown} FROM {', '.join(names)} WHERE {equal} AND a.x <= c.x WINDOW = {window}"
    w = session(streams)
    expected = bag(w, query, algorithm="bew-nested-loop")
    assert bag(w, query) == expected
    for order in list(permutations(names))[::5]:
        assert bag(w, query, order=", ".join(order)) == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(STREAM, min_size=2, max_size=2), st.integers(0, 12), st.integers(0, 3))
def test_the_plan_that_is_chosen_gives_the_bag_of_the_others(streams, window, width):
    w = session(streams)
    for condition in ("a.k = b.k", f"abs(a.x - b.x) <= {width}", "a.x < b.x"):
        query = f"SELECT a.*, b.* FROM a, b WHERE {condition} WINDOW = {window}"
        query = query.replace("a.*, b.*", "a.k, a.x, a.at, b.k AS bk, b.x AS bx, b.at AS bt")
        expected = bag(w, query, algorithm="bew-nested-loop")
        assert bag(w, query) == expected
        assert bag(w, query, structure="buffer/buffer") == expected
