"""The window graph against brute force."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import pytest
from case_share import share_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from windrow.plan.windows import UNBOUNDED, Bound, WindowGraph

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)


@st.composite
def graphs(draw, *, is_feasible=False):
    """Graphs over 2 to 5 streams; feasible ones hold for a drawn point in time."""
    size = draw(st.integers(2, 5))
    point = draw(st.lists(st.integers(-20, 20), min_size=size, max_size=size))
    pairs = draw(st.lists(st.sampled_from(list(permutations(range(size), 2))), max_size=8))
    ends = st.one_of(st.integers(-10, 30), st.just(UNBOUNDED))
    bounds = []
    for left, right in pairs:
        lo, hi = draw(ends), draw(ends)
        if is_feasible:
            distance = point[right] - point[left]
            lo, hi = max(lo, -distance), max(hi, distance)
        bounds.append(Bound(left, right, lo, hi))
    return WindowGraph(tuple("abcde"[:size]), tuple(bounds))


def shortest_simple_path(graph: WindowGraph, start: int, goal: int) -> int:
    """The least sum of direct bounds over every path without repetition."""
    others = [s for s in range(len(graph.streams)) if s not in (start, goal)]
    best = UNBOUNDED
    for length in range(len(others) + 1):
        for middle in permutations(others, length):
            steps = [start, *middle, goal]
            edges = [graph.direct[a][b] for a, b in pairwise(steps)]
            if all(edge < UNBOUNDED for edge in edges):
                best = min(best, sum(edges))
    return best


@pytest.mark.law
@EXAMPLES
@given(graphs(is_feasible=True))
def test_closure_is_the_shortest_path_of_every_ordered_pair(graph):
    for a, b in permutations(range(len(graph.streams)), 2):
        assert graph.upper[a][b] == shortest_simple_path(graph, a, b)


@pytest.mark.law
@EXAMPLES
@given(graphs(is_feasible=True))
def test_a_graph_that_holds_for_some_point_is_not_contradictory(graph):
    assert not graph.is_contradictory


def holds(graph: WindowGraph, times: list[int]) -> bool:
    return all(-b.lo <= times[b.right] - times[b.left] <= b.hi for b in graph.stated)


@pytest.mark.law
@EXAMPLES
@given(graphs(is_feasible=True))
def test_every_closed_bound_is_reached_by_an_assignment_of_times(graph):
    """Tightness: times at their closed distance from one stream satisfy every stated bound."""
    assume(not graph.unbounded_pairs())
    size = range(len(graph.streams))
    for a in size:
        latest = [graph.upper[a][s] for s in size]  # as far after a as allowed, all at once
        earliest = [-graph.upper[s][a] for s in size]
        assert holds(graph, latest)
        assert holds(graph, earliest)


@pytest.mark.law
@EXAMPLES
@given(graphs())
def test_a_graph_is_contradictory_exactly_if_no_assignment_of_times_satisfies_it(graph):
    size = len(graph.streams)
    # Bellman-Ford from a virtual origin: potentials settle exactly if there is no negative cycle.
    times = [0] * size
    for _ in range(size + 1):
        for bound in graph.stated:
            if bound.hi < UNBOUNDED:
                times[bound.right] = min(times[bound.right], times[bound.left] + bound.hi)
            if bound.lo < UNBOUNDED:
                times[bound.left] = min(times[bound.left], times[bound.right] + bound.lo)
    assert graph.is_contradictory == (not holds(graph, times))


def clique(*widths: int) -> WindowGraph:
    pairs = combinations(range(3), 2)
    return WindowGraph(
        ("a", "b", "c"), tuple(Bound(*p, w, w) for p, w in zip(pairs, widths, strict=True))
    )


def over(size: int, *pairs: tuple[int, int]) -> WindowGraph:
    return WindowGraph(tuple("abcdef"[:size]), tuple(Bound(*pair, 5, 5) for pair in pairs))


@pytest.mark.parametrize(
    ("graph", "form"),
    [
        (over(2, (0, 1)), "binary"),
        (over(3, (0, 1), (1, 2)), "path"),
        (over(3, (0, 1), (0, 2)), "path"),
        (over(4, (0, 1), (0, 2), (0, 3)), "graph"),
        (over(4, (0, 1), (1, 2), (2, 3), (3, 0)), "graph"),
        (clique(5, 5, 5), "uniform clique"),
        (clique(5, 5, 6), "clique"),
        (
            WindowGraph(("a", "b", "c"), (Bound(0, 1, 0, 5), Bound(0, 2, 5, 5), Bound(1, 2, 5, 5))),
            "clique",
        ),
    ],
)
def test_the_form_follows_from_the_stated_pairs(graph, form):
    assert graph.form == form


def test_two_windows_on_one_pair_count_as_one_edge_and_the_narrower_ends_hold():
    graph = WindowGraph(("a", "b"), (Bound(0, 1, 9, 3), Bound(1, 0, 7, 4)))
    assert graph.form == "binary"
    assert graph.stated_pairs == {(0, 1)}
    assert graph.upper == ((0, 3), (4, 0))


def test_retention_is_the_farthest_that_a_tuple_still_to_come_may_lie_ahead():
    # a 5 before b, b 2 before c:   t(c) - t(a) <= 7
    graph = WindowGraph(("a", "b", "c"), (Bound(0, 1, 0, 5), Bound(1, 2, 0, 2)))
    assert [graph.retention(s) for s in range(3)] == [7, 2, 0]


def test_retention_may_be_negative_where_the_others_must_come_before():
    graph = WindowGraph(("a", "b"), (Bound(0, 1, -5, 10),))
    assert [graph.retention(s) for s in range(2)] == [10, -5]


def test_implied_window_narrows_a_wider_stated_one():
    graph = clique(1, 100, 2)
    assert graph.direct[0][2] == 100
    assert graph.upper[0][2] == 3


def test_components_group_what_the_stated_bounds_connect():
    assert over(5, (0, 2), (3, 1)).components() == [[0, 2], [1, 3], [4]]
    assert over(3, (0, 1), (1, 2)).components() == [[0, 1, 2]]


def test_one_sided_bounds_leave_the_other_direction_unbounded():
    graph = WindowGraph(("a", "b"), (Bound(0, 1, 0, UNBOUNDED),))
    assert graph.components() == [[0, 1]]
    assert graph.unbounded_pairs() == [(0, 1)]
