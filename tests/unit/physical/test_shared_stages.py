"""Which operators share a stage on Spark, and which do not."""

from __future__ import annotations

import pytest
from plans import planned
from sessions import session

from windrow.physical.partitioning.shared_stages import stages

PAIRS = "(SELECT a.k, a.v, b.v AS w FROM a, b WHERE a.k = b.k WINDOW = 5)"
COUNTS = "(SELECT k, COUNT(*) AS n FROM a [RANGE 5] GROUP BY k)"


def shared(sql: str, **options: str) -> list[tuple[str, ...]]:
    w = session({name: {"ts": [1], "k": [1], "v": [1]} for name in ("a", "b")}, time="ts")
    found = stages(planned(w, sql, options).root, 4)
    return [tuple(node.title.split(" ")[0] for node in stage.nodes) for stage in found]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"SELECT j.k, COUNT(*) AS n FROM {PAIRS} j [RANGE 6] GROUP BY j.k", "WJoin Sliding"),
        (f"SELECT j.k, j.w, SUM(j.v) AS s FROM {PAIRS} j [RANGE 6] GROUP BY j.k, j.w",
         "WJoin Sliding"),
        # The key goes on as a column of the other input.
        ("SELECT b.k, COUNT(*) AS n FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k GROUP BY b.k",
         "WJoin Sliding"),
        (f"SELECT DISTINCT c.n, c.k FROM {COUNTS} c", "Sliding SetOp"),
        (f"SELECT d.k, MAX(d.n) AS m FROM (SELECT DISTINCT c.n, c.k FROM {COUNTS} c) d GROUP BY d.k",
         "Sliding SetOp Sliding"),
        ("SELECT k, SUM(v) AS s FROM a [PARTITION BY k ROWS 3] GROUP BY k", "CountRows Sliding"),
        # Each combination has one home among 2 x 2 buckets, by both of the keys.
        ("SELECT a.k, c.v, COUNT(*) AS n FROM a [RANGE 5], b [RANGE 5], a [RANGE 5] AS c "
         "WHERE a.k = b.k AND b.v = c.v GROUP BY a.k, c.v", "WJoin Sliding"),
    ],
)  # fmt: skip
def test_what_groups_by_all_that_rows_are_spread_by_shares_their_stage(sql, expected):
    (stage,) = shared(sql)
    assert " ".join(stage).replace("SlidingAggregate", "Sliding") == expected


@pytest.mark.parametrize(
    "sql",
    [
        # Groups by another column, or not by all of them.
        f"SELECT j.v, COUNT(*) AS n FROM {PAIRS} j [RANGE 6] GROUP BY j.v",
        "SELECT a.k, COUNT(*) AS n FROM a [RANGE 5], b [RANGE 5] "
        "WHERE a.k = b.k AND a.v = b.v GROUP BY a.k",
        f"SELECT COUNT(*) AS n FROM {COUNTS} c",
        # The key is not handed on, or not as it was.
        f"SELECT DISTINCT c.n FROM {COUNTS} c",
        f"SELECT DISTINCT c.k + 1 AS k, c.n FROM {COUNTS} c",
        # Spark has something to evaluate in between.
        f"SELECT j.k, SUM(j.v * 2) AS s FROM {PAIRS} j [RANGE 6] GROUP BY j.k",
        f"SELECT DISTINCT c.k, c.n FROM {COUNTS} c WHERE c.n > 1",
        # A NULL for a key is spread by its time.
        "SELECT j.k, COUNT(*) AS n FROM (SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WINDOW = 5) j "
        "[RANGE 6] GROUP BY j.k",
        # Spread by slices of event time.
        "SELECT a.k, COUNT(*) AS n FROM a [RANGE 5], b [RANGE 5] WHERE a.v < b.v GROUP BY a.k",
    ],
)
def test_others_have_a_stage_of_their_own(sql):
    assert [len(stage) for stage in shared(sql)] == [1, 1]


def test_what_estimates_from_a_join_that_sheds_has_a_stage_of_its_own():
    sql = "SELECT a.k, COUNT(*) AS n FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k GROUP BY a.k"
    assert shared(sql) == [("WJoin", "SlidingAggregate")]
    shedding = shared(sql, memory="1000 tuples", on_memory="shed")
    assert shedding == [("WJoin",), ("EstimatingAggregate",)]


def test_a_join_of_two_stages_begins_a_stage_that_others_share():
    other = COUNTS.replace("FROM a", "FROM b")
    sql = f"SELECT DISTINCT p.k FROM {COUNTS} p JOIN {other} q ON p.k = q.k AND p.n < q.n"
    assert shared(sql) == [("SlidingAggregate",), ("SlidingAggregate",), ("SnapshotJoin", "SetOp")]
