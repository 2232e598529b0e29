"""What operators of changelogs hold stays within the bound that EXPLAIN states, to the tick."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import windrow

PER_TICK = 10
"""Rows of a tick, which are a batch."""

QUERIES = ["SELECT COUNT(*) AS n FROM a [RANGE {w}]", "SELECT DISTINCT n FROM a [RANGE {w}]"]


def session() -> windrow.Session:
    made = windrow.Session()
    batches = [pa.table({"n": [at] * PER_TICK, "ts": [at] * PER_TICK}) for at in range(20)]
    made.stream("a", batches, time="ts")
    return made


@pytest.mark.parametrize("scheduling", ["tpa", "nta"])
@pytest.mark.parametrize("window", [0, 3])
@pytest.mark.parametrize("query", QUERIES, ids=["aggregate", "distinct"])
def test_rows_are_held_until_their_expiry_is_out_and_no_longer(query, window, scheduling):
    sql = query.format(w=window)
    plan = session().explain(sql, scheduling=scheduling)
    (stated,) = re.findall(r"a <= rate\(a\) x \((.*)\) \+ one batch", plan)
    ticks = sum(map(int, re.findall(r"\d+", stated)))
    result = session().sql(sql, scheduling=scheduling)
    assert max(result.progress.stored for _ in result) == PER_TICK * ticks + PER_TICK
