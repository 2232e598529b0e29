"""Every plan that the planner can choose gives the same bag.

The plans are those that EXPLAIN lists with their costs: loops by hash and by nested loop, orders,
sweeps, pipelines, pairs of structures. Each is asked for by its name. What plans are compared with
is the plain nested loop in the order of FROM.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sessions import session

from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.optimize.cost.structures import KERNELS, KernelCost
from windrow.optimize.planner import optimize
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.options import Options
from windrow.plan.catalog import stream_info
from windrow.run.local.sources import source_of
from windrow.run.local.stream_statistics import TableStatistics
from windrow.sql.compile import compile_query

pytestmark = pytest.mark.law

ROW = st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 40))
STREAM = st.lists(ROW, min_size=2, max_size=14)
AT_ONCE = 5
"""Plans that an example runs: over all examples each of them is run, by where they begin."""

OF_TWO = {
    "equality": "WHERE a.k = b.k WINDOW = {w}",
    "equality and more": "WHERE a.k = b.k AND a.x <= b.x WINDOW = {w}",
    "band": "WHERE abs(a.x - b.x) <= 2 WINDOW = {w}",
    "inequality": "WHERE a.x < b.x WINDOW = {w}",
    "difference": "WHERE a.x - b.x > 1 AND b.x - a.x >= -5.5 WINDOW = {w}",
    "no bound on values": "WHERE (a.x + b.x) % 3 = 1 WINDOW = {w}",
    "either way": "WHERE a.k = b.k DWINDOW (a, b) = {w} EITHER WAY",
    "one way": "WHERE a.x >= b.x DWINDOW (a, b) = {w}",
}
OF_MORE = {
    "one key": "WHERE a.k = b.k AND b.k = c.k AND a.x <= c.x WINDOW = {w}",
    "two keys": "WHERE a.k = b.k AND b.x = c.x WINDOW = {w}",
    "a stream without a key": "WHERE a.k = b.k AND a.x < c.x WINDOW = {w}",
    "a path": "WHERE a.k = b.k AND b.k = c.k WINDOW (a, b) = {w} AND WINDOW (b, c) = 3",
    "a path either way": (
        "WHERE a.k = b.k AND b.k = c.k DWINDOW (a, b) = {w} AND DWINDOW (b, c) = 3 EITHER WAY"
    ),
    "a path by order": (
        "WHERE a.x < b.x - 1 AND b.x <= c.x WINDOW (a, b) = {w} AND WINDOW (b, c) = 30"
    ),
    "a path by order, wide first": (
        "WHERE a.x > b.x AND c.x >= b.x - 2 WINDOW (a, b) = 30 AND WINDOW (b, c) = {w}"
    ),
    "a key and an order": "WHERE a.k = b.k AND b.x < c.x WINDOW (a, b) = 25 AND WINDOW (b, c) = {w}",
    "an order at the end": "WHERE a.k = b.k AND b.k = c.k AND c.x < a.x AND b.x <> c.x WINDOW = {w}",
    "counted": "WHERE a.k = b.k AND b.k = c.k WINDOW = 9 ROWS",
}
FOUR = "WHERE a.k = b.k AND b.k = c.k AND c.x = d.x AND a.x <= d.x WINDOW = {w}"


def tables(streams):
    """Tables in order of time; the last row comes late enough that each has a rate."""
    found = {}
    for name, rows in zip("abcd", streams, strict=False):
        ordered = sorted([*rows, (0, 0, 50)], key=lambda row: row[2])
        found[name] = pa.table(
            {
                column: pa.array([row[at] for row in ordered], pa.int64())
                for at, column in enumerate(("k", "x", "at"))
            }
        )
    return found


def question(data, where, window):
    shown = ", ".join(f"{n}.k AS {n}k, {n}.x AS {n}x, {n}.at AS {n}t" for n in data)
    return f"SELECT {shown} FROM {', '.join(data)} {where.format(w=window)}"


def plans(data, query):
    """The names of all plans that the planner weighs."""
    sources = {name: source_of(name, table) for name, table in data.items()}
    catalog = {name: stream_info(name, s.schema, "at") for name, s in sources.items()}
    logical = compile_query(query, catalog, DuckdbTypes())
    root = optimize(logical, Options(), measured=TableStatistics(catalog, sources)).root
    while not isinstance(root, MultiJoin):
        (root,) = root.inputs
    return [plan.name for plan in root.estimate.plans]


def options(plan) -> dict[str, Any]:
    name, _, order = plan.partition(", order ")
    asked = {"structure": name} if "/" in name else {"algorithm": name}
    return asked | {"order": order} if order else asked


def check(streams, where, window, first):
    data = tables(streams)
    w, query = session(data, time="at"), question(data, where, window)
    expected = bag(w.sql(query, algorithm="bew-nested-loop"))
    assert bag(w.sql(query)) == expected
    found = plans(data, query)
    for plan in (found * 2)[first % len(found) :][:AT_ONCE]:
        event(plan.split(",")[0] + (", in an order of its own" if "order" in plan else ""))
        assert bag(w.sql(query, **options(plan))) == expected, plan


@pytest.mark.parametrize("where", OF_TWO.values(), ids=OF_TWO)
@settings(max_examples=share_of(8), deadline=None)
@given(
    st.lists(STREAM, min_size=2, max_size=2), st.integers(0, 12), st.sampled_from(range(0, 24, 4))
)
def test_every_plan_for_two_streams_gives_the_same_bag(where, streams, window, first):
    check(streams, where, window, first)


@settings(max_examples=share_of(20), deadline=None)
@given(
    st.lists(STREAM, min_size=2, max_size=3),
    st.sampled_from([OF_TWO["equality and more"], OF_TWO["band"], OF_TWO["either way"]]),
    st.integers(0, 12),
)
def test_the_sweep_gives_the_same_bag_where_the_planner_takes_it(streams, where, window):
    data = tables(streams)
    if len(data) == 3:
        where = OF_MORE["one key"]
    w, query = session(data, time="at"), question(data, where, window)
    expected = bag(w.sql(query, algorithm="bew-nested-loop"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("few-hash", "few-nested-loop"):
            patch.setitem(KERNELS, name, KernelCost(1e-6, lookup=0, touched=0, result=0))
        result = w.sql(query)
        found = Counter(tuple(row.values()) for row in result.to_arrow().to_pylist())
    assert found == expected
    assert all(plan.startswith("few") for plan in result.progress.plans.values())


@pytest.mark.parametrize("where", OF_MORE.values(), ids=OF_MORE)
@settings(max_examples=share_of(8), deadline=None)
@given(
    st.lists(STREAM, min_size=3, max_size=3), st.integers(0, 12), st.sampled_from(range(0, 12, 4))
)
def test_every_plan_for_three_streams_gives_the_same_bag(where, streams, window, first):
    check(streams, where, window, first)


@settings(max_examples=share_of(8), deadline=None)
@given(
    st.lists(STREAM, min_size=4, max_size=4), st.integers(0, 12), st.sampled_from(range(0, 12, 4))
)
def test_every_plan_for_four_streams_gives_the_same_bag(streams, window, first):
    check(streams, FOUR, window, first)


@pytest.mark.parametrize("algorithm", ["bew-hash", "bew-nested-loop", "hw", "nlw", "xjoin"])
@settings(max_examples=share_of(8), deadline=None)
@given(
    st.lists(STREAM, min_size=3, max_size=3),
    st.sampled_from([*OF_MORE.values()][:4]),
    st.permutations("abc"),
    st.data(),
)
def test_every_order_that_can_be_asked_for_gives_the_same_bag(
    algorithm, streams, where, order, data
):
    rows = tables(streams)
    w, query = session(rows, time="at"), question(rows, where, 8)
    expected = bag(w.sql(query, algorithm="bew-nested-loop"))
    assert bag(w.sql(query, algorithm=algorithm, order=", ".join(order))) == expected
    if algorithm.startswith("bew"):
        own = [
            f"{start}: {', '.join(data.draw(st.sampled_from([*permutations(sorted(set('abc') - {start}))])))}"
            for start in order
        ]
        assert bag(w.sql(query, algorithm=algorithm, order="; ".join(own))) == expected
