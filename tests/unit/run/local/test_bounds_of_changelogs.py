"""What operators of changelogs hold stays within the bound that EXPLAIN states, to the tick."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from plans import physical
from sessions import session

import windrow

pytestmark = pytest.mark.law

PER_TICK = 10
"""Rows of a tick, which are a batch."""

NAMES = {
    "MAX(s)": "SlidingAggregate max(s)",
    "MEDIAN(s)": "SlidingAggregate median(s)",
    "COUNT(DISTINCT s)": "SlidingAggregate count(DISTINCT s)",
}

QUERIES = ["SELECT COUNT(*) AS n FROM a [RANGE {w}]", "SELECT DISTINCT n FROM a [RANGE {w}]"]


def full_ticks() -> windrow.Session:
    batches = [pa.table({"n": [at] * PER_TICK, "ts": [at] * PER_TICK}) for at in range(20)]
    return session({"a": batches}, time="ts")


@pytest.mark.parametrize("scheduling", ["tpa", "nta"])
@pytest.mark.parametrize("window", [0, 3])
@pytest.mark.parametrize("query", QUERIES, ids=["aggregate", "distinct"])
def test_rows_are_held_until_their_expiry_is_out_and_no_longer(query, window, scheduling):
    sql = query.format(w=window)
    plan = physical(full_ticks().explain(sql, scheduling=scheduling))
    (stated,) = re.findall(r"a <= rate\(a\) x (.*) \+ one batch", plan)
    ticks = sum(map(int, re.findall(r"\d+", stated)))
    result = full_ticks().sql(sql, scheduling=scheduling)
    assert max(result.progress.stored for _ in result) == PER_TICK * ticks + PER_TICK


@pytest.mark.parametrize("function", ["MAX(s)", "MEDIAN(s)", "COUNT(DISTINCT s)"])
def test_rows_that_are_taken_back_are_kept_for_their_values_within_the_bound(function):
    sql = f"SELECT {function} AS x FROM (SELECT SUM(n) AS s FROM a [RANGE 3]) q"
    made = session({"a": [pa.table({"n": [at], "ts": [at]}) for at in range(400)]}, time="ts")
    (stated,) = re.findall(r"never above 2 x alive \+ (\d+)", physical(made.explain(sql)))
    result = made.sql(sql)
    held = max(result.progress.operators[NAMES[function]]["stored"] for _ in result)
    assert 2 < held <= 2 + int(stated) + 1  # one sum is alive, and one batch waits
