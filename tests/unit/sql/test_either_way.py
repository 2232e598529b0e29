"""EITHER WAY: the windows as written, or with every DWINDOW reversed."""

from __future__ import annotations

import pytest
from plans import join_of

from windrow.errors import PlanError
from windrow.plan.nodes.window_join import WindowJoin
from windrow.plan.windows import WindowGraph

SECOND = 1_000_000
LENGTH = "INTERVAL '5' SECONDS"


def stated(graph: WindowGraph) -> list[tuple[str, str, int, int]]:
    return [
        (graph.streams[b.left], graph.streams[b.right], b.lo // SECOND, b.hi // SECOND)
        for b in graph.stated
    ]


PATH = f"DWINDOW (a, b) = {LENGTH} AND DWINDOW (b, c) = INTERVAL '7' SECONDS EITHER WAY"


def test_a_path_has_its_windows_and_the_reversed_ones(compiled):
    join = join_of(compiled(f"SELECT a.k FROM a, b, c {PATH}"))
    assert stated(join.graph) == [("a", "b", 0, 5), ("b", "c", 0, 7)]
    assert stated(join.alternative) == [("b", "a", 0, 5), ("c", "b", 0, 7)]


def test_windows_without_a_direction_hold_in_both(compiled):
    join = join_of(
        compiled(
            f"SELECT a.k FROM a, b, c WHERE c.at < a.ts + {LENGTH} WINDOW (a, c) = {LENGTH}, {PATH}"
        )
    )
    held = [bound for bound in join.graph.stated if bound in join.alternative.stated]
    assert [bound.text for bound in held] == [
        f"WINDOW (a, c) = {LENGTH}",
        f"c.at < a.ts + {LENGTH}",
    ]


def test_dwindows_in_where_are_turned_too(compiled):
    join = join_of(
        compiled(
            f"SELECT a.k FROM a, b, c WHERE DWINDOW (a, b) = {LENGTH}"
            f" DWINDOW (b, c) = {LENGTH} EITHER WAY"
        )
    )
    assert sorted(stated(join.alternative)) == [("b", "a", 0, 5), ("c", "b", 0, 5)]


def test_between_two_streams_both_ways_are_one_window(compiled):
    join = join_of(compiled(f"SELECT a.k FROM a, b DWINDOW (a, b) = {LENGTH} EITHER WAY"))
    assert join.alternative is None
    assert stated(join.graph) == [("a", "b", 5, 5)]


def test_one_dwindow_among_three_streams_is_one_window_too(compiled):
    join = join_of(
        compiled(
            f"SELECT a.k FROM a, b, c WINDOW (b, c) = {LENGTH}, DWINDOW (b, a) = {LENGTH} EITHER WAY"
        )
    )
    assert join.alternative is None
    assert stated(join.graph) == [("b", "a", 5, 5), ("b", "c", 5, 5)]


@pytest.mark.parametrize(("second", "width"), [("(a, b) = INTERVAL '3' SECONDS", 3), (f"(b, a) = {LENGTH}", 0)])  # fmt: skip
def test_dwindows_of_one_pair_hold_together(compiled, second, width):
    sql = f"SELECT a.k FROM a, b DWINDOW (a, b) = {LENGTH}, DWINDOW {second} EITHER WAY"
    assert stated(join_of(compiled(sql)).graph) == [("a", "b", width, width)]


def test_a_plan_whose_reversed_windows_contradict_each_other_is_refused(compiled):
    query = compiled(f"SELECT a.k FROM a, b, c {PATH}")
    join = join_of(query)
    bounds = (*join.graph.stated, *join.alternative.stated)
    bad = WindowGraph(join.graph.streams, tuple(b for b in bounds if b.hi > 6 * SECOND))
    broken = WindowJoin(join.inputs, join.aliases, (), join.graph, alternative=bad)
    with pytest.raises(PlanError):
        broken.verify()
