"""Bestmatch joins that say what is best now: nested, by other orders, and what EXPLAIN says."""

from __future__ import annotations

from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bags import bag
from sessions import session

import windrow

ROWS = {
    "a": [(1, 10, ["r"]), (3, 20, ["r", "g"]), (9, 11, [])],
    "b": [(2, 13, ["g"]), (4, 10, ["r"]), (6, 19, ["b"]), (8, 12, [])],
}


@pytest.fixture
def two_streams():
    found = windrow.Session()
    for name, rows in ROWS.items():
        at, x, tags = zip(*rows, strict=True)
        found.stream(name, pa.table({"at": at, "x": x, "tags": tags}), time="at")
    return found


def changes(w, sql):
    rows = w.sql(sql).to_arrow().to_pylist()
    return [(row["_change_type"], row["_event_time"], row["p"], row["q"]) for row in rows]


def test_a_plain_join_takes_a_pair_back_when_a_better_one_comes(two_streams):
    found = changes(
        two_streams,
        "SELECT a.at AS p, b.at AS q FROM a BESTMATCH JOIN b ON a.at MINDIST b.at, a.x MINDIST b.x"
        " WHERE abs(a.at - b.at) <= 3",
    )
    assert found == [
        ("insert", 2, 1, 2),
        ("insert", 4, 1, 4),
        ("delete", 9, 1, 2),
        ("insert", 9, 9, 8),
    ]


def test_a_pair_comes_back_when_what_was_better_has_left(two_streams):
    found = changes(
        two_streams,
        "SELECT a.at AS p, b.at AS q FROM a [RANGE 6] LEFT OUTER BESTMATCH JOIN b [RANGE 1]"
        " ON a.x MINDIST b.x WHERE a.at = 3 OR a.at = 1",
    )
    assert found == [
        ("insert", 2, 1, 2),
        ("insert", 3, 3, 2),
        ("delete", 4, 1, 2),
        ("delete", 4, 3, 2),
        ("insert", 4, 1, 4),
        ("insert", 4, 3, 4),
        ("delete", 6, 1, 4),
        ("delete", 6, 3, 4),
        ("insert", 6, 1, 6),
        ("insert", 6, 3, 6),
        ("delete", 8, 1, 6),
        ("delete", 8, 3, 6),
        ("insert", 8, 3, 8),
        ("delete", 10, 3, 8),
    ]


def test_the_youngest_pairs_and_those_of_a_function_are_best(two_streams):
    two_streams.function("ratio", pc.divide, returns="bigint", arguments=["bigint", "bigint"])
    found = changes(
        two_streams,
        "SELECT a.at AS p, b.at AS q FROM a BESTMATCH JOIN b ON a.at YOUNGEST b.at, a.x ratio b.x"
        " WHERE abs(a.at - b.at) <= 3",
    )
    assert found[-1] == ("insert", 9, 9, 8)


def test_pairs_that_share_more_are_best(two_streams):
    found = changes(
        two_streams,
        "SELECT a.at AS p, b.at AS q FROM a [RANGE 6] LEFT OUTER BESTMATCH JOIN b [RANGE 3]"
        " ON a.tags SUBSET b.tags WHERE a.at <= 3",
    )
    assert found == [
        ("insert", 2, 1, 2),  # nothing shared, and nothing to be better
        ("insert", 3, 3, 2),  # g
        ("delete", 4, 1, 2),
        ("insert", 4, 1, 4),  # r
        ("insert", 4, 3, 4),  # r: neither contains g, nor is it contained
        ("delete", 6, 3, 2),
        ("delete", 8, 1, 4),
        ("delete", 8, 3, 4),
        ("insert", 8, 3, 6),  # nothing, as all that is left
        ("insert", 8, 3, 8),
        ("delete", 10, 3, 6),
        ("delete", 10, 3, 8),
    ]


def test_a_partial_order_of_the_users_own_decides(two_streams):
    def halves(a, b, c, d):
        """Less is better, of b; even and odd numbers are not compared."""
        one, other = b.to_numpy(), d.to_numpy()
        return pa.array(np.sign(other - one).astype(np.int8), mask=one % 2 != other % 2)

    two_streams.function("halves", halves, partial_order=True)
    found = changes(
        two_streams,
        "SELECT a.at AS p, b.at AS q FROM a BESTMATCH JOIN b ON a.x halves b.x"
        " WHERE abs(a.at - b.at) <= 3",
    )
    assert found == [
        ("insert", 2, 1, 2),  # 13
        ("insert", 3, 3, 2),
        ("insert", 4, 1, 4),  # 10
        ("insert", 4, 3, 4),
    ]  # 19 is worse than 13, 12 is worse than 10


@pytest.mark.parametrize("left", ["a.x", "a.x + 0"])
@pytest.mark.parametrize("limit", ["3", "3.5", "3e0", "1e20", "1e400"])
def test_limits_take_differences_that_no_number_holds(left, limit):
    high, low = pa.array([2**31 - 1, 5], pa.int32()), pa.array([-(2**31), 4], pa.int32())
    w = session({"a": {"at": [1, 2], "x": high}, "b": {"at": [1, 2], "x": low}}, time="at")
    query = (
        "SELECT a.at AS p, b.at AS q FROM a [RANGE 1] BESTMATCH JOIN b [RANGE 1]"
        f" ON {left} MINDIST b.x WITHIN {limit}"
    )
    near = [("insert", 2, 2, 2), ("delete", 4, 2, 2)]
    far = [("insert", 1, 1, 1), ("delete", 2, 1, 1)] if limit.startswith("1e") else []
    assert Counter(changes(w, query)) == Counter([*near, *far])


def test_a_tuple_without_a_candidate_is_there_while_it_has_none(two_streams):
    found = changes(
        two_streams,
        "SELECT a.at AS p, b.at AS q FROM a [RANGE 5] FULL OUTER BESTMATCH JOIN b [RANGE 1]"
        " ON a.x MINDIST b.x WITHIN 3 AND b.at <> 8 WHERE b.at <> 8 OR b.at IS NULL KEEP UNMATCHED",
    )
    expected = [
        ("insert", 1, 1, None),
        ("delete", 2, 1, None),
        ("insert", 2, 1, 2),
        ("insert", 3, 3, None),
        ("delete", 4, 1, 2),
        ("insert", 4, 1, 4),
        ("delete", 6, 1, 4),
        ("delete", 6, 3, None),
        ("insert", 6, 1, None),
        ("insert", 6, 3, 6),
        ("delete", 7, 1, None),
        ("delete", 8, 3, 6),
        ("insert", 8, 3, None),
        ("delete", 9, 3, None),
        ("insert", 9, 9, None),
        ("delete", 15, 9, None),
    ]
    assert Counter(found) == Counter(expected)  # of one instant, in any order


BEST = (
    "SELECT a.x AS p, b.x AS q FROM a [RANGE 4] FULL OUTER BESTMATCH JOIN b [RANGE 3]"
    " ON a.x MINDIST b.x WITHIN 8 KEEP UNMATCHED"
)
ABOVE = {
    "grouped": "SELECT m.p % 2 AS odd, COUNT(*) AS n, MAX(m.q) AS most FROM {m} GROUP BY m.p % 2",
    "distinct": "SELECT DISTINCT m.p IS NULL AS p FROM {m}",
    "joined": "SELECT m.p, m.q, c.x FROM {m} JOIN {c} ON m.q = c.x",
    "less another": "SELECT m.q FROM {m} EXCEPT ALL SELECT c.x FROM {c}",
}


@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE)
def test_what_is_best_now_is_grouped_joined_and_combined_further(two_streams, above):
    """At each instant the answer is that of the same SQL over what is best then."""
    whole = two_streams.sql(above.format(m=f"({BEST}) m", c="b c [RANGE 5]")).to_arrow()
    best = two_streams.sql(BEST).to_arrow()
    for instant in range(1, 16):
        alive = [x for t, x, _ in ROWS["b"] if t <= instant <= t + 5]
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register("best", two_streams.state_at(best, instant))
            connection.register("alive", pa.table({"x": pa.array(alive, pa.int64())}))
            expected = connection.sql(above.format(m="best m", c="alive c")).fetchall()
        found = two_streams.state_at(whole, instant).to_pylist()
        assert bag(found) == Counter(expected)


def test_an_aggregate_stands_right_above_what_is_best_now(two_streams):
    grouped = "SELECT {} % 2 AS odd, COUNT(*) AS n FROM {} GROUP BY {} % 2"
    join = BEST[BEST.index("FROM ") + 5 :]
    keep = " KEEP UNMATCHED"
    direct = grouped.format("a.x", join.removesuffix(keep), "a.x")
    nested = grouped.format("m.p", f"({BEST.removesuffix(keep)}) m", "m.p")
    assert (
        two_streams.sql(direct).to_arrow().to_pylist()
        == two_streams.sql(nested).to_arrow().to_pylist()
    )


def test_inputs_that_show_no_event_time_are_told_apart_by_it_all_the_same(two_streams):
    inner = "SELECT a.x, b.x - a.x AS d{} FROM a, b WHERE a.x <> b.x WINDOW = 3"
    query = (
        "SELECT m.d AS p, b.at AS q FROM ({}) m [RANGE 4] LEFT OUTER BESTMATCH JOIN b [RANGE 3]"
        " ON m.x MINDIST b.x KEEP UNMATCHED"
    )
    hidden = changes(two_streams, query.format(inner.format("")))
    told = changes(two_streams, query.format(inner.format(", greatest(a.at, b.at) AS at")))
    assert hidden == told
    assert len(hidden) > 4


def test_of_the_pairs_of_a_task_only_local_skylines_go_on():
    from windrow.operators.bestmatch.sliding_skyline import ever_best
    from windrow.operators.columns.changes import ChangeBatch
    from windrow.physical.nodes.bestmatch import SlidingSkyline
    from windrow.physical.nodes.scans import ScanStream
    from windrow.plan.nodes.bestmatch_join import MINDIST, Dimension
    from windrow.schema import Field, Schema

    schema = Schema((Field("a.x", "bigint"), Field("b.x", "bigint")))
    scan = ScanStream("p", "p", (), schema, "at", "bigint", 0)
    dimension = Dimension("a.x", "b.x", MINDIST, None, is_time=False)
    node = SlidingSkyline(scan, "plain", (dimension,), ((),), (), schema)
    columns = {"a.x": [0, 0, 0, 0], "b.x": [5, 2, 3, 2]}
    times, ends = np.array([1, 2, 3, 9]), np.array([9, 7, 6, 12])
    batch = ChangeBatch(pa.RecordBatch.from_pydict(columns), times, ends)
    # The first is best at 1 and from 7 on; the third never, while the second is there.
    assert ever_best(node, batch).times.tolist() == [1, 2, 9]
