"""The plan by negative tuples: where rows get theirs, and what works on signs alone."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from plans import plans_of
from sessions import session

import windrow
from windrow.optimize.choose.scheduling import with_negative_tuples
from windrow.physical.explain.explanation import explain
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.feeds import ExpireRows
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.stateless import RangeRows
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.partitioning.buckets import HashKeys, Single
from windrow.physical.query import PhysicalQuery
from windrow.run.spark.state import about, fingerprint

JOIN = "a [RANGE 10], b [RANGE 5] WHERE a.k = b.k"


def streams_feed_and_table() -> windrow.Session:
    data = pa.table({"k": [1, 2], "x": [1, 2], "y": [1.0, 2.0], "ts": [1, 5]})
    made = session(dict.fromkeys(("a", "b"), data), time="ts")
    made.stream(
        "feed",
        data.append_column("change", pa.array(["insert", "insert"])),
        time="ts",
        changes="change",
    )
    made.table("names", pa.table({"k": [1], "name": ["n"]}))
    return made


def planned(sql: str, **options: str) -> PhysicalQuery:
    return plans_of(streams_feed_and_table(), sql, options)[1]


def rewritten(sql: str, **options: str) -> PhysicalNode:
    return with_negative_tuples(planned(sql, **options).root)


def shape(node: PhysicalNode) -> str:
    """The names of nodes from the top down, projections left out."""
    name = type(node).__name__
    below = [shape(child) for child in node.inputs]
    if name == "ProjectRows":
        return below[0]
    if not below:
        return name
    return f"{name}({', '.join(below)})"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT SUM(x) AS s FROM a [RANGE 10] WHERE x > 1",
            "SlidingAggregate(FilterRows(ExpireRows(RangeRows(ScanStream))))",
        ),
        (
            "SELECT DISTINCT n.name FROM a [RANGE 10] JOIN names n ON a.k = n.k",
            "SetOp(TableJoinRows(ExpireRows(RangeRows(ScanStream)), ScanTable))",
        ),
        (
            "(SELECT k FROM a [RANGE 10]) EXCEPT (SELECT k FROM b [RANGE 5])",
            "SetOp(ExpireRows(RangeRows(ScanStream)), ExpireRows(RangeRows(ScanStream)))",
        ),
        (
            "SELECT COUNT(*) AS n FROM (SELECT k FROM a UNION ALL SELECT k FROM b) u [RANGE 3]",
            "SlidingAggregate(UnionRows("
            "ExpireRows(RangeRows(ScanStream)), ExpireRows(RangeRows(ScanStream))))",
        ),
        (
            f"SELECT SUM(a.x) AS s FROM {JOIN} AND a.x > 0",
            "SlidingAggregate(ExpiringJoin(RangeRows(FilterRows(ScanStream)), RangeRows(ScanStream)))",
        ),
        (
            "SELECT a.x FROM a [RANGE 10], (SELECT DISTINCT k FROM b [RANGE 5]) d"
            " WHERE a.k = d.k EMIT CHANGES",
            "NetChanges(ExpiringJoin(RangeRows(ScanStream), SetOp(ExpireRows(RangeRows(ScanStream)))))",
        ),
        (
            "SELECT COUNT(*) AS n FROM a [ROWS 3]",
            "SlidingAggregate(CountRows(ScanStream))",
        ),
        (
            "SELECT COUNT(*) AS n FROM feed [RANGE 3]",
            "SlidingAggregate(ExpireRows(ResolveChanges(ScanStream)))",
        ),
        (
            "SELECT COUNT(*) AS n FROM a [RANGE 10] LEFT JOIN b [RANGE 5] ON a.k = b.k",
            "SlidingAggregate(ExpireRows(OuterJoin(RangeRows(ScanStream), RangeRows(ScanStream))))",
        ),
        (
            "SELECT COUNT(*) AS n FROM (SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 5) j [RANGE 3]",
            "SlidingAggregate(ExpireRows(RangeRows(TimeJoin(ScanStream, ScanStream))))",
        ),
    ],
)
def test_rows_get_their_negatives_over_the_scan_or_where_they_are_kept_anyway(sql, expected):
    found = rewritten(sql)
    assert shape(found) == expected
    assert not found.has_ends
    assert with_negative_tuples(found) == found


def test_of_two_windows_of_one_stream_the_shorter_one_counts():
    node = planned("SELECT DISTINCT x FROM a [RANGE 7]").root
    while not isinstance(node, RangeRows):
        (node,) = node.inputs
    node = with_negative_tuples(RangeRows(node, 3))
    while not isinstance(node, RangeRows):
        (node,) = node.inputs
    assert (node.ticks, type(node.input)) == (3, ScanStream)


def test_totals_that_are_estimated_keep_the_windows_that_they_are_estimated_by():
    shed = planned(f"SELECT COUNT(*) AS n FROM {JOIN}", memory="100 tuples", on_memory="shed").root
    assert with_negative_tuples(shed) == shed


def test_a_join_by_another_algorithm_looks_tuples_up_by_ends_all_the_same():
    for algorithm, method in (("hw", "hash"), ("nlw", "hash"), ("bew-nested-loop", "nested-loop")):
        join = rewritten(f"SELECT SUM(a.x) AS s FROM {JOIN}", algorithm=algorithm)
        while not isinstance(join, MultiJoin):
            (join,) = join.inputs
        assert (join.algorithm, join.method) == ("bew", method)


def test_a_join_of_rows_that_do_not_all_end_keeps_them_by_its_windows():
    (join, _) = stages(planned(f"SELECT SUM(a.x) AS s FROM {JOIN}").root)
    assert isinstance(join, TimeJoin)
    first, second = join.inputs
    assert isinstance(second, RangeRows)
    bounded = replace(join, inputs=(first, second.input))
    assert with_negative_tuples(bounded) == ExpireRows(bounded)


def stages(node: PhysicalNode) -> list[PhysicalNode]:
    below = [found for child in node.inputs for found in stages(child)]
    return [*below, node] if node.is_stateful else below


def test_every_stage_is_named_spread_and_told_apart():
    expiry, total = stages(rewritten("SELECT SUM(x) AS s FROM a [RANGE 10] WHERE x > 1"))
    assert isinstance(expiry, ExpireRows)
    assert isinstance(total, SlidingAggregate)
    assert expiry.title == "ExpireRows a"
    assert about(expiry) == "expiry of a"
    assert expiry.partitioning(4) == HashKeys(("a.x",), 4)
    assert expiry.row_marks == ("__sign",)
    assert expiry.delay == 0
    (counted, _) = stages(rewritten("SELECT COUNT(*) AS n FROM a [RANGE 10]"))
    assert isinstance(counted.partitioning(4), Single)
    usual = stages(planned(f"SELECT SUM(a.x) AS s FROM {JOIN}").root)[0]
    expiring = stages(rewritten(f"SELECT SUM(a.x) AS s FROM {JOIN}"))[0]
    assert expiring.title == "ExpiringJoin a, b"
    assert about(expiring) == "snapshot join of a, b"
    assert expiring.row_marks == ("__sign",)
    assert fingerprint(expiring) != fingerprint(usual)


def test_explain_says_what_expires_rows_and_what_it_holds():
    made = streams_feed_and_table()
    logical, physical = plans_of(made, "SELECT SUM(x) AS s FROM a [RANGE 10] WHERE x > 1")
    text = explain(logical, _by_negatives(physical))
    assert "state       one accumulator row\n" in text
    assert (
        "        ExpireRows a\n"
        "              rows        from t to t + 10, both included\n"
        "              retention   drop a when watermark > a.ts + 10 + 1 tick, when its negative is"
        " out\n"
        "              state       a <= rate(a) x (10 + 1 tick) + one batch\n"
        "              emits       the rows below the watermark in the order of time, and each as a"
        " negative at its end\n"
        "              why         negative tuples: what stands above takes rows back by value, and"
        " keeps no window\n"
    ) in text.replace("05)", "   ")
    logical, physical = plans_of(made, f"SELECT SUM(a.x) AS s FROM {JOIN}")
    text = explain(logical, _by_negatives(physical))
    assert (
        "cost        not estimated: a join of what is alive has one plan, and no cost model\n"
        in text
    )
    assert (
        "negative tuples: a row that ends joins those still alive, and takes back what it was part"
        " of; the windows are the join's own rows\n"
    ) in text
    assert (
        "emits       the combinations that come or go below the watermark, in the order of time;"
        " adds no delay\n"
    ) in text


def _by_negatives(physical: PhysicalQuery) -> PhysicalQuery:
    return replace(physical, root=with_negative_tuples(physical.root))
