"""Windows that count tuples, as the plan has them."""

from __future__ import annotations

import pytest
from plans import join_of

from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.scan import Scan
from windrow.plan.windows import CountWindows, OwnWindow

HOUR = 3_600_000_000


def windows(compiled, sql: str) -> CountWindows | None:
    return join_of(compiled(sql)).counts


@pytest.mark.parametrize(
    ("window", "own"),
    [
        ("[ROWS 5]", OwnWindow(5, text="[ROWS 5]")),
        ("[rows 1]", OwnWindow(1, text="[rows 1]")),
        ("[ROWS (2 + 3)]", OwnWindow(5, text="[ROWS (2 + 3)]")),
        ("[PARTITION BY k ROWS 2]", OwnWindow(2, ("x.k",), text="[PARTITION BY k ROWS 2]")),
        (
            "[PARTITION BY K, x.name, k ROWS 2]",
            OwnWindow(2, ("x.k", "x.name"), text="[PARTITION BY K, x.name, k ROWS 2]"),
        ),
        ("[PARTITION BY a.k ROWS 2]", OwnWindow(2, ("x.k",), text="[PARTITION BY a.k ROWS 2]")),
        (
            "[RANGE INTERVAL 1 HOUR]",
            OwnWindow(ticks=HOUR, text="[RANGE INTERVAL 1 HOUR]"),
        ),
    ],
)
@pytest.mark.parametrize("source", ["a {} AS x", "a x {}"])
def test_a_stream_has_its_own_window_before_or_after_the_alias(compiled, source, window, own):
    found = windows(
        compiled, f"SELECT x.k FROM {source.format(window)}, b [ROWS 9] WHERE x.k = b.k"
    )
    assert found == CountWindows((own, OwnWindow(9, text="[ROWS 9]")))


@pytest.mark.parametrize("place", ["WHERE a.k = b.k WINDOW = 7 ROWS", "WHERE WINDOW = 7 rows"])
def test_one_number_for_all_streams(compiled, place):
    found = windows(compiled, f"SELECT a.k FROM a, b {place}")
    assert found is not None
    assert found.own == (OwnWindow(), OwnWindow())
    assert found.within == 7
    assert found.sealed == (0, 1)


def test_one_number_for_all_streams_goes_with_windows_of_their_own(compiled):
    sql = "SELECT a.k FROM a [ROWS 2], b [RANGE INTERVAL 1 HOUR], c WINDOW = 7 ROWS"
    found = windows(compiled, sql)
    assert found is not None
    assert [(own.rows, own.ticks) for own in found.own] == [(2, None), (None, HOUR), (None, None)]
    assert found.within == 7


def test_conditions_on_time_filter_what_count_windows_hold(compiled):
    found = join_of(compiled("SELECT a.k FROM a [ROWS 2], b [ROWS 2] WHERE b.ts >= a.ts"))
    assert [(bound.left, bound.right, bound.lo) for bound in found.graph.stated] == [(0, 1, 0)]


def test_a_count_window_of_one_stream_leaves_each_row_as_it_is(compiled):
    query = compiled("SELECT k FROM a [PARTITION BY k ROWS 5]")
    assert [type(node).__name__ for node in query.root.walk()] == ["Project", "Scan"]


def test_a_derived_table_has_a_count_window_of_its_rows(compiled):
    sql = "SELECT x.n FROM (SELECT k AS n FROM a WHERE x > 1) x [PARTITION BY n ROWS 5], b [ROWS 2]"
    found = join_of(compiled(sql))
    assert found.counts is not None
    assert found.counts.own[0].partition == ("x.n",)
    assert any(isinstance(node, Filter) for node in found.inputs[0].walk())


def test_two_columns_of_a_stream_that_equal_one_column_never_filter_a_count_window(compiled):
    found = join_of(
        compiled("SELECT a.k FROM a [ROWS 2], b [ROWS 2] WHERE a.x = b.x AND a.y = b.x")
    )
    below = [node for child in found.inputs for node in child.walk()]
    assert not [node for node in below if isinstance(node, Filter)]
    assert [node.alias for node in below if isinstance(node, Scan)] == ["a", "b"]
