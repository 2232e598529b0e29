"""Where DISTINCT goes below a join, and where it must not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from golden.catalog import CATALOG
from sessions import session

from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.optimize.planner import optimize
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.physical.options import Options
from windrow.sql.compile import compile_query

FAST = "fast f [RANGE INTERVAL '1' MINUTE]"


def set_operations(sql: str, **options: str) -> list[SetOp]:
    """The set operations of a plan, from the answer down; each join below them is looked at."""
    logical = compile_query(sql, CATALOG, DuckdbTypes())
    found: list[SetOp] = []

    def walk(node: PhysicalNode) -> None:
        if isinstance(node, SetOp):
            found.append(node)
        if isinstance(node, MultiJoin):
            assert isinstance(node, SnapshotJoin) == any(
                isinstance(child, SetOp) for child in node.inputs
            )
        for child in node.inputs:
            walk(child)

    walk(optimize(logical, Options(**options)).root)
    return found


def test_distinct_goes_below_a_join_for_every_input_that_it_shrinks():
    other = "rare r [RANGE INTERVAL '9' HOURS]"
    sql = f"SELECT DISTINCT f.k FROM {FAST}, {other} WHERE f.k = r.k"
    assert [len(each.place) for each in set_operations(sql)] == [0, 1, 1]


@pytest.mark.parametrize("kind", ["UNION", "EXCEPT", "INTERSECT"])
def test_distinct_goes_below_joins_under_operations_on_sets(kind):
    joined = f"SELECT f.k FROM {FAST}, slow s [RANGE INTERVAL '5' SECONDS] WHERE f.k = s.k"
    sql = f"{joined} {kind} SELECT k FROM rare [RANGE INTERVAL '1' HOUR]"
    assert [each.kind for each in set_operations(sql)] == [kind.lower(), "distinct"]
    assert [each.kind for each in set_operations(sql.replace(kind, f"{kind} ALL"))] in (
        [f"{kind.lower()} all"],
        [],
    )


@pytest.mark.parametrize(
    "sql",
    [
        # Every combination is asked for, however often.
        f"SELECT f.k FROM {FAST}, slow s [RANGE INTERVAL '5' SECONDS] WHERE f.k = s.k EMIT CHANGES",
        # The times of tuples count, which a DISTINCT below would lose.
        f"SELECT DISTINCT f.k FROM {FAST}, slow s [RANGE INTERVAL '1' MINUTE] WHERE f.k = s.k"
        " WINDOW (f, s) = INTERVAL '1' SECOND",
        "SELECT DISTINCT j.k FROM (SELECT f.k FROM fast f, slow s WHERE f.k = s.k"
        " WINDOW = INTERVAL '1' MINUTE) j [RANGE INTERVAL '1' HOUR]",
        # Nothing is known of x, and then of neither stream.
        f"SELECT DISTINCT f.x FROM {FAST}, slow s [RANGE INTERVAL '5' SECONDS] WHERE f.k = s.k",
        "SELECT DISTINCT a.k FROM a [RANGE INTERVAL '1' HOUR], b [RANGE INTERVAL '1' HOUR]"
        " WHERE a.k = b.k",
    ],
)
def test_distinct_stays_where_copies_times_or_unknown_numbers_count(sql):
    assert (
        sum("pushed below" in line[:12] for each in set_operations(sql) for line in each.place) == 0
    )


def test_distinct_goes_below_for_a_union_all_of_streams_that_it_shrinks():
    both = f"(SELECT f.k FROM {FAST} UNION ALL SELECT f.k FROM {FAST}) u"
    sql = f"SELECT DISTINCT u.k FROM {both}, slow s [RANGE INTERVAL '5' SECONDS] WHERE u.k = s.k"
    _, pushed = set_operations(sql)
    assert "of 2,000 per second go on, for 200 of 120,000 rows alive" in pushed.place[0]


@pytest.fixture
def tables():
    """A session with two tables: five different keys in a thousand rows each."""
    return session(
        {
            name: {"k": [at * step % 5 for at in range(1_000)], "at": range(1_000)}
            for step, name in ((7, "a"), (3, "b"))
        },
        time="at",
    )


OF_TABLES = "SELECT DISTINCT a.k FROM a [RANGE 200], b [RANGE 100] WHERE a.k = b.k"


def test_distinct_goes_below_by_what_tables_show_and_stays_there_when_planned_again(tables):
    said = "5 of 200 rows alive are different (equation 1; all 1,000 rows)"
    assert said in tables.explain(OF_TABLES)
    result = tables.sql(OF_TABLES)
    assert result.to_arrow().num_rows == 10
    assert said in result.explain()


def test_distinct_does_not_go_by_what_the_batches_of_a_stream_show():
    w = session(
        {
            name: [pa.table({"k": [1] * 20, "at": [at] * 20}) for at in range(50)]
            for name in ("a", "b")
        },
        time="at",
    )
    result = w.sql(OF_TABLES)
    result.to_arrow()
    assert "for a: rate= and distinct= are not given" in result.explain()


@pytest.mark.parametrize("asked", [{"algorithm": "few"}, {"order": "s, f"}, {"memory": "1 GB"}])
def test_distinct_leaves_a_plan_or_a_bound_that_was_asked_for(asked):
    sql = f"SELECT DISTINCT f.k FROM {FAST}, slow s [RANGE INTERVAL '5' SECONDS] WHERE f.k = s.k"
    assert len(set_operations(sql)) == 2
    assert len(set_operations(sql, **asked)) == 1


def test_a_join_by_trees_becomes_one_of_what_is_alive():
    sql = f"SELECT DISTINCT f.k FROM {FAST}, slow s [RANGE INTERVAL '5' SECONDS] WHERE f.k < s.k"
    top, pushed = set_operations(sql)
    assert pushed.place[0].startswith("pushed below the join of f, s: 1.7 per second of 1,000")
    (project,) = top.inputs
    (join,) = project.inputs
    assert isinstance(join, SnapshotJoin)
    assert (join.algorithm, join.method) == ("bew", "nested-loop")


def test_distinct_says_which_column_may_hold_a_negative_zero():
    sql = (
        "SELECT DISTINCT s.price FROM sales s [RANGE INTERVAL '1' HOUR], returns r"
        " [RANGE INTERVAL '1' HOUR] WHERE s.item = r.item"
    )
    (top,) = set_operations(sql)
    assert top.place[0] == (
        "not pushed below the join of s, r for s: s.price may be -0.0, which DISTINCT shows as 0.0"
    )
