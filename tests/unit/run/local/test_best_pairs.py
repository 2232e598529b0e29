"""Bestmatch joins that say what is best now: nested, by other orders, and what EXPLAIN says."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow

ROWS = {
    "a": [(1, 10, ["r"]), (3, 20, ["r", "g"]), (9, 11, [])],
    "b": [(2, 13, ["g"]), (4, 10, ["r"]), (6, 19, ["b"]), (8, 12, [])],
}


@pytest.fixture
def session():
    found = windrow.Session()
    for name, rows in ROWS.items():
        at, x, tags = zip(*rows, strict=True)
        found.stream(name, pa.table({"at": at, "x": x, "tags": tags}), time="at")
    return found


def changes(session, sql):
    rows = session.sql(sql).to_arrow().to_pylist()
    return [(row["_change_type"], row["_event_time"], row["p"], row["q"]) for row in rows]


def test_a_plain_join_takes_a_pair_back_when_a_better_one_comes(session):
    found = changes(
        session,
        "SELECT a.at AS p, b.at AS q FROM a BESTMATCH JOIN b ON a.at MINDIST b.at, a.x MINDIST b.x"
        " WHERE abs(a.at - b.at) <= 3",
    )
    assert found == [
        ("insert", 2, 1, 2),
        ("insert", 4, 1, 4),
        ("delete", 9, 1, 2),
        ("insert", 9, 9, 8),
    ]


def test_a_pair_comes_back_when_what_was_better_has_left(session):
    found = changes(
        session,
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


def test_the_youngest_pairs_and_those_of_a_function_are_best(session):
    session.function("ratio", pc.divide, returns="bigint", arguments=["bigint", "bigint"])
    found = changes(
        session,
        "SELECT a.at AS p, b.at AS q FROM a BESTMATCH JOIN b ON a.at YOUNGEST b.at, a.x ratio b.x"
        " WHERE abs(a.at - b.at) <= 3",
    )
    assert found[-1] == ("insert", 9, 9, 8)


def test_what_is_best_now_is_aggregated_and_joined_further(session):
    found = session.sql(
        "SELECT COUNT(*) AS n FROM (SELECT a.x, b.x AS y FROM a [RANGE 3] FULL OUTER BESTMATCH JOIN"
        " b [RANGE 3] ON a.x MINDIST b.x) p"
    ).to_arrow()
    last = {row["_event_time"]: row["n"] for row in found.to_pylist()
            if row["_change_type"] == "insert"}  # fmt: skip
    assert last[max(last)] == 0
    assert max(last.values()) > 1


@pytest.mark.parametrize("order", ["SUBSET", "partial"])
def test_orders_without_a_number_per_pair_are_refused(session, order):
    session.function("partial", lambda *_: None, returns="tinyint", partial_order=True)
    column = "tags" if order == "SUBSET" else "x"
    with pytest.raises(windrow.UnsupportedError, match="order-of-now") as refused:
        session.sql(
            f"SELECT a.at FROM a [RANGE 3] LEFT OUTER BESTMATCH JOIN b [RANGE 3]"
            f" ON a.{column} {order} b.{column}"
        )
    assert f"the order of a.{column} {order} b.{column} is not supported" in str(refused.value)


def test_of_the_pairs_of_a_task_only_local_skylines_go_on():
    import numpy as np

    from windrow.operators.changes import ChangeBatch
    from windrow.operators.sliding_skyline import ever_best
    from windrow.physical.sliding_skyline import SlidingSkyline
    from windrow.physical.specs import ScanStream
    from windrow.plan.nodes import MINDIST, Dimension
    from windrow.schema import Field, Schema

    schema = Schema((Field("a.x", "bigint"), Field("b.x", "bigint")))
    scan = ScanStream("p", "p", (), schema, "at", "bigint", 0)
    dimension = Dimension("a.x", "b.x", MINDIST, None, is_time=False)
    spec = SlidingSkyline(scan, "plain", (dimension,), ((),), (), schema)
    columns = {"a.x": [0, 0, 0, 0], "b.x": [5, 2, 3, 2]}
    times, ends = np.array([1, 2, 3, 9]), np.array([9, 7, 6, 12])
    batch = ChangeBatch(pa.RecordBatch.from_pydict(columns), times, ends)
    # The first is best at 1 and from 7 on; the third never, while the second is there.
    assert ever_best(spec, batch).times.tolist() == [1, 2, 9]
