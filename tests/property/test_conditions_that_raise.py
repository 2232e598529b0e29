"""Conditions that cannot be computed for all values: one outcome under every plan.

A query fails where some combination within all windows, with equal keys, is rejected by no condition
that has a value for it while one has none. That says nothing of plans, batches and orders.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sessions import session

import windrow
from windrow.errors import DataError

FAILS = "it fails"
ROW = st.tuples(
    st.integers(0, 6),
    st.integers(0, 1),
    st.integers(-2, 2) | st.none(),
    st.integers(0, 3),
    st.sampled_from(["1", "2", "x"]),
)
STREAM = st.lists(ROW, min_size=1, max_size=6)


def divided(number, by):
    if number is None or by is None:
        return None
    if not by:
        raise ZeroDivisionError
    return number / by


def minus(one, other):
    return None if one is None or other is None else one - other


def above(value, limit):
    return None if value is None else value > limit


def near(one, other):
    return None if one is None or other is None else abs(one - other) <= 1


def text_above(text, limit):
    return above(int(text), limit)


CONDITIONS = {
    "10 / (a.x - b.y) > 2": lambda r: above(divided(10, minus(r["a"]["x"], r["b"]["y"])), 2),
    "10 / (b.x - a.x) < 9": lambda r: above(
        None if (v := divided(10, minus(r["b"]["x"], r["a"]["x"]))) is None else -v, -9
    ),
    "abs(a.d - b.d) <= 1": lambda r: near(r["a"]["x"], r["b"]["x"]),
    "a.m - b.m BETWEEN -1 AND 1": lambda r: near(r["a"]["x"], r["b"]["x"]),
    "CAST(a.s AS INT) + b.y > 2": lambda r: text_above(r["a"]["s"], 2 - r["b"]["y"]),
    "a.x < b.y": lambda r: above(minus(r["b"]["y"], r["a"]["x"]), 0),
    "reciprocal(a.y, b.y)": lambda r: above(divided(1, minus(r["a"]["y"], r["b"]["y"])), 0),
}
OF_THREE = {
    "10 / (a.x - b.y) > 2": CONDITIONS["10 / (a.x - b.y) > 2"],
    "CAST(b.s AS INT) + c.y > 2": lambda r: text_above(r["b"]["s"], 2 - r["c"]["y"]),
    "10 / (c.y - a.y) > 2": lambda r: above(divided(10, r["c"]["y"] - r["a"]["y"]), 2),
    "b.x < c.y": lambda r: above(minus(r["c"]["y"], r["b"]["x"]), 0),
    "reciprocal(a.y, b.y)": CONDITIONS["reciprocal(a.y, b.y)"],
}
PLANS: list[dict[str, Any]] = [
    {"algorithm": "bew-nested-loop"},
    {"algorithm": "few-nested-loop"},
    {"algorithm": "nlw"},
    {"algorithm": "closure"},
    {},
]
TREES = {"structure": "ttree/btree"}
SERVED = {"abs(a.d - b.d) <= 1", "a.m - b.m BETWEEN -1 AND 1", "a.x < b.y"}


def rows_of(stream):
    return [
        dict(zip(("ts", "k", "x", "y", "s"), row, strict=True), id=n)
        for n, row in enumerate(sorted(stream, key=lambda row: row[0]))
    ]


def expected(streams, tests, window):
    """By the definition: all combinations, each condition asked of each."""
    found: Counter[tuple[int, ...]] = Counter()
    for chosen in itertools.product(*streams.values()):
        row = dict(zip(streams, chosen, strict=True))
        times = [one["ts"] for one in chosen]
        if max(times) - min(times) > window or row["a"]["k"] != row[max(row)]["k"]:
            continue
        verdicts = []
        for test in tests:
            try:
                verdicts.append(test(row))
            except (ZeroDivisionError, ValueError):
                verdicts.append(FAILS)
        if all(v in {True, FAILS} for v in verdicts):
            if FAILS in verdicts:
                return FAILS
            found[tuple(one["id"] for one in chosen)] += 1
    return found


def outcome(streams, where, window, cut, **options: Any):
    session = windrow.Session()
    session.function(
        "reciprocal", lambda x, y: 1 / (x - y) > 0, returns="boolean", vectorized=False
    )
    for name, rows in streams.items():
        table = pa.table(
            {c: [row[c] for row in rows] for c in ("ts", "k", "x", "y", "s", "id")},
        )
        number = table["x"].cast(pa.int64())
        table = table.set_column(2, "x", number)
        table = table.append_column("d", number.cast(pa.float64()))
        table = table.append_column("m", number.cast(pa.decimal128(20, 0)))
        parts = [table.slice(0, cut), table.slice(cut)]
        session.stream(name, parts if cut else table, time="ts", lateness=10)
    names = ", ".join(streams)
    shown = ", ".join(f"{name}.id AS {name}" for name in streams)
    query = f"SELECT {shown} FROM {names} WHERE {where} WINDOW = {window}"
    try:
        answer = session.sql(query, **options).to_arrow()
    except DataError:
        return FAILS
    return bag(answer)


def check(streams, conditions, window, cut, plans, known):
    streams = {name: rows_of(rows) for name, rows in zip("abc", streams, strict=False)}
    tests = [known[text] for text in conditions]
    wanted = expected(streams, tests, window)
    event("fails" if wanted == FAILS else "has an answer")
    where = " AND ".join([*conditions, f"a.k = {max(streams)}.k"])
    for options in plans:
        assert outcome(streams, where, window, cut, **options) == wanted, options


@pytest.mark.law
@settings(max_examples=share_of(25), deadline=None, derandomize=True)
@given(
    st.lists(STREAM, min_size=2, max_size=2),
    st.lists(st.sampled_from([*CONDITIONS]), min_size=1, max_size=3, unique=True),
    st.integers(0, 6),
    st.integers(0, 3),
)
def test_two_streams_fail_under_every_plan_or_none(streams, conditions, window, cut):
    plans = [*PLANS, {"algorithm": "bew-hash"}, TREES]
    check(streams, conditions, window, cut, plans, CONDITIONS)


@pytest.mark.law
@settings(max_examples=share_of(25), deadline=None, derandomize=True)
@given(
    st.lists(STREAM, min_size=3, max_size=3),
    st.lists(st.sampled_from([*OF_THREE]), min_size=1, max_size=3, unique=True),
    st.integers(0, 6),
    st.integers(0, 3),
)
def test_three_streams_fail_under_every_plan_and_order_or_none(streams, conditions, window, cut):
    orders = [{"algorithm": "bew", "order": order} for order in ("c, a, b", "b, c, a")]
    check(streams, conditions, window, cut, [*PLANS, *orders], OF_THREE)


@pytest.mark.law
@pytest.mark.parametrize("condition", sorted(SERVED))
def test_a_tree_and_a_loop_agree_though_a_condition_fails_outside_the_range_of_keys(condition):
    # Without an equality the tree is kept by the columns of the condition itself.
    rows = [
        {"ts": 0, "k": 0, "x": x, "y": y, "s": "1", "id": n}
        for n, (x, y) in enumerate([(0, 9), (9, 5)])
    ]
    streams = {"a": rows, "b": rows}
    where = f"{condition} AND 10 / (a.y - b.y) > 0"
    found = [outcome(streams, where, 1, 0, **plan) for plan in (PLANS[0], TREES)]
    assert found[0] == found[1]


def test_the_error_names_the_condition_that_has_no_value():
    w = session({name: {"ts": [0, 1], "x": [1, 2], "y": [0, 1]} for name in "ab"}, time="ts")
    query = "SELECT a.x FROM a, b WHERE a.x * b.x > 0 AND 10 / (a.y - b.y) > 0 WINDOW = 1"
    with pytest.raises(DataError, match=r"10 / \(a\.y - b\.y\) > 0 cannot be computed"):
        w.sql(query).to_arrow()
