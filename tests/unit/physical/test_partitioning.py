"""Where rows go on Spark, by hand and against brute force."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
from case_share import share_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.outer_join import OuterJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.partitioning.buckets import (
    Axis,
    Cells,
    HashKeys,
    HashShares,
    Single,
    Slices,
)
from windrow.plan.nodes.bestmatch_join import Dimension
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import Schema

EMPTY = Schema(())
STREAM = ScanStream("s", "s", (), EMPTY, "ts", "timestamp", 0)
MINUTE = 60_000_000


def bew(inputs: int, *classes: dict[int, str]) -> TimeJoin:
    """A join of inputs a, b, ..; a class as {input: column}."""
    aliases = tuple("abcdefgh"[:inputs])
    keys = tuple(
        KeyClass(tuple(f"{aliases[i]}.{c[i]}" if i in c else None for i in range(inputs)), "int")
        for c in classes
    )
    scans = (STREAM,) * inputs
    graph = WindowGraph(aliases, ())
    return TimeJoin(scans, aliases, keys, graph, ((),) * inputs, "hash", EMPTY)


def matwin(*dimensions: Dimension, keys=(), lo=10, hi=20, kind="left outer") -> MatwinBestmatch:
    return MatwinBestmatch(STREAM, STREAM, dimensions, keys, lo, hi, ((), ()), False, EMPTY, kind)


TIME = Dimension("t.ts", "h.ts", "mindist", 20, is_time=True)


def test_a_key_that_every_input_has_takes_all_buckets_and_copies_nothing():
    node = bew(3, {0: "k", 1: "k", 2: "k"}, {0: "x", 1: "x"})
    assert node.partitioning(8) == HashShares(((0,),), (8,), (1, 1, 1))


def test_several_common_keys_are_hashed_together():
    node = bew(2, {0: "k", 1: "k"}, {0: "x", 1: "x"})
    partitioning = node.partitioning(4)
    assert partitioning == HashShares(((0, 1),), (4,), (1, 1))
    assert partitioning.describe(node, str) == "partitioned by a.k = b.k, a.x = b.x (4)"


def test_differing_keys_share_the_buckets():
    node = bew(3, {0: "x", 1: "x"}, {1: "y", 2: "y"})
    partitioning = node.partitioning(4)
    assert partitioning == HashShares(((0,), (1,)), (2, 2), (2, 1, 2))
    assert partitioning.describe(node, str) == (
        "partitioned by a.x = b.x (2) x b.y = c.y (2); a and c copied 2 times"
    )


def test_a_composite_key_of_two_inputs_is_one_dimension():
    node = bew(3, {0: "x", 1: "x"}, {1: "y", 2: "y"}, {0: "z", 1: "z"})
    assert node.partitioning(4) == HashShares(((0, 2), (1,)), (2, 2), (2, 1, 2))


def test_a_prime_number_of_buckets_leaves_one_unused_rather_than_copying_everything():
    node = bew(3, {0: "x", 1: "x"}, {1: "y", 2: "y"})
    assert node.partitioning(7) == HashShares(((0,), (1,)), (3, 2), (2, 1, 3))


def test_an_input_without_any_key_goes_everywhere():
    node = bew(3, {0: "k", 1: "k"})
    partitioning = node.partitioning(4)
    assert partitioning == HashShares(((0,),), (4,), (1, 1, 4))
    assert partitioning.describe(node, str) == "partitioned by a.k = b.k (4); c copied 4 times"


def sliced(*bounds: Bound, kind: str = "inner") -> MultiJoin:
    """A join of as many inputs as the bounds name, without an equality."""
    size = 1 + max(max(bound.left, bound.right) for bound in bounds)
    node = bew(size)
    join = replace(node, graph=WindowGraph(node.aliases, bounds))
    return join if kind == "inner" else OuterJoin(**join.common(), kind=kind)


def test_a_join_without_equality_is_cut_into_slices_of_time():
    node = sliced(Bound(0, 1, MINUTE, 2 * MINUTE))
    partitioning = node.partitioning(4)
    assert partitioning == Slices(0, 3 * MINUTE, (0, 2 * MINUTE), (0, MINUTE), 4)
    assert partitioning.describe(node, str) == (
        "partitioned by slices of event time, 3m wide (4); b copied 2 times on average"
    )


def test_the_anchor_is_the_input_that_the_others_reach_with_the_least_copying():
    path = sliced(Bound(0, 1, 5, 5), Bound(1, 2, 5, 5))
    assert path.partitioning(4) == Slices(1, 10, (5, 0, 5), (5, 0, 5), 4)


@pytest.mark.parametrize(("kind", "anchor"), [("left", 0), ("right", 1), ("semi", 0), ("anti", 0)])
def test_rows_that_may_come_out_unmatched_have_one_home(kind, anchor):
    partitioning = sliced(Bound(0, 1, 5, 5), kind=kind).partitioning(4)
    assert isinstance(partitioning, Slices)
    assert partitioning.anchor == anchor


def test_the_rows_of_a_full_outer_join_without_equality_are_copied_to_all_that_they_meet():
    node = sliced(Bound(0, 1, MINUTE, 2 * MINUTE), kind="full")
    partitioning = node.partitioning(4)
    reaches = (MINUTE, 2 * MINUTE), (2 * MINUTE, MINUTE)
    assert partitioning == Slices(None, 3 * MINUTE, *reaches, 4)
    assert partitioning.describe(node, str) == (
        "partitioned by slices of event time, 3m wide (4); "
        "a copied 2 times, b copied 2 times on average"
    )


def test_the_rows_of_a_full_outer_join_have_a_home_though_they_meet_only_what_lies_before_them():
    partitioning = sliced(Bound(0, 1, 9, -5), kind="full").partitioning(4)
    assert partitioning == Slices(None, 9, (9, 0), (0, 9), 4)


def test_groups_go_by_all_their_keys_and_a_global_aggregate_nowhere():
    grouped = SlidingAggregate(STREAM, ("s.x", "s.y"), (), EMPTY)
    assert grouped.partitioning(4) == HashKeys(("s.x", "s.y"), 4)
    assert HashKeys(("s.x", "s.y"), 4).describe(grouped, str) == "partitioned by s.x, s.y (4)"
    whole = SlidingAggregate(STREAM, (), (), EMPTY)
    assert isinstance(whole.partitioning(4), Single)


def test_a_bestmatch_join_with_an_equality_goes_by_it():
    keys = (KeyClass(("t.k", "h.k"), "int"), KeyClass(("t.j", "h.j"), "int"))
    node = matwin(TIME, keys=keys)
    assert node.partitioning(4) == HashShares(((0, 1),), (4,), (1, 1))


@pytest.mark.parametrize(
    ("eps", "axis"),
    [
        (100, Axis(1, 400, (0, 100), (0, 100))),
        (0, Axis(1, 1, (0, 0), (0, 0))),
        (0.5, Axis(1, 2.0, (0, 0.5), (0, 0.5))),
    ],
)
def test_cells_follow_the_first_constrained_dimension_that_is_not_time_and_time(eps, axis):
    node = matwin(TIME, Dimension("t.x", "h.x", "mindist", eps), lo=MINUTE, hi=MINUTE)
    slices = Axis(None, 8 * MINUTE, (0, MINUTE), (0, MINUTE))
    assert node.partitioning(4) == Cells((axis, slices), 0, 4)


def test_without_a_constrained_dimension_cells_are_cut_in_time():
    node = matwin(TIME, Dimension("t.x", "h.x", "mindist", None), lo=MINUTE, hi=2 * MINUTE)
    partitioning = node.partitioning(4)
    slices = Axis(None, 12 * MINUTE, (0, 2 * MINUTE), (0, MINUTE))
    assert partitioning == Cells((slices,), 0, 4)
    assert partitioning.describe(node, str) == (
        "partitioned by cells of event time, 12m wide (4); right rows copied 1.19 times on average,"
        " and held as often"
    )
    alone = Axis(None, 1, (0, 0), (0, 0))
    assert matwin(TIME, lo=0, hi=0).partitioning(4) == Cells((alone,), 0, 4)


def test_cells_of_a_right_outer_join_are_the_mirror_of_those_of_a_left_one():
    node = matwin(TIME, Dimension("t.x", "h.x", "mindist", 5), lo=MINUTE, hi=2 * MINUTE)
    cells = replace(node, kind="right outer").partitioning(4)
    slices = Axis(None, 12 * MINUTE, (MINUTE, 0), (2 * MINUTE, 0))
    assert cells == Cells((Axis(1, 20, (5, 0), (5, 0)), slices), 1, 4)
    assert cells.describe(node, str) == (
        "partitioned by cells of t.x ~ h.x, 20 wide and event time, 12m wide (4);"
        " left rows copied 1.59 times on average, and held as often"
    )


def test_left_rows_of_a_full_outer_join_reach_twice_as_far_as_right_ones():
    node = matwin(TIME, Dimension("t.x", "h.x", "mindist", 5), lo=MINUTE, hi=2 * MINUTE)
    cells = replace(node, kind="full outer").partitioning(8)
    slices = Axis(None, 12 * MINUTE, (3 * MINUTE, 2 * MINUTE), (3 * MINUTE, MINUTE))
    assert cells == Cells((Axis(1, 20, (10, 5), (10, 5)), slices), None, 8)
    assert cells.describe(node, str) == (
        "partitioned by cells of t.x ~ h.x, 20 wide and event time, 12m wide (8);"
        " left rows copied 2.59 times, right rows copied 1.73 times on average, and held as often"
    )


def test_rows_of_a_full_outer_join_are_found_at_their_own_time_whatever_its_bounds():
    (slices,) = matwin(TIME, lo=-2, hi=5, kind="full outer").partitioning(4).axes
    assert slices == Axis(None, 12, (3, 5), (5, 0))


EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)


@st.composite
def joins(draw):
    inputs = draw(st.integers(2, 5))
    sides = st.sets(st.integers(0, inputs - 1), min_size=2)
    classes = draw(st.lists(sides, min_size=1, max_size=4))
    return bew(inputs, *(dict.fromkeys(side, f"k{n}") for n, side in enumerate(classes)))


@pytest.mark.law
@EXAMPLES
@given(joins(), st.integers(1, 40), st.lists(st.integers(0, 1000), min_size=4, max_size=4))
def test_every_combination_meets_in_exactly_one_bucket(node, buckets, values):
    """A combination has one value per class; each of its rows knows those of its own classes."""
    shares = node.partitioning(buckets)
    assert shares.buckets <= buckets
    homes = []
    for i in range(len(node.inputs)):
        ranges = [
            [sum(values[c] for c in group) % share]
            if all(i in node.classes[c].inputs for c in group)
            else range(share)
            for group, share in zip(shares.classes, shares.shares, strict=True)
        ]
        own = set(product(*ranges))
        assert len(own) == shares.copies[i]
        homes.append(own)
    assert len(set.intersection(*homes)) == 1


@st.composite
def paths(draw):
    """Joins along a path: no input has all keys, so that the buckets are a cube of several sides."""
    links = draw(st.integers(2, 4))
    return bew(links + 1, *({n: f"k{n}", n + 1: f"k{n}"} for n in range(links)))


@pytest.mark.law
@EXAMPLES
@given(paths(), st.integers(2, 24))
def test_no_other_factorization_of_the_buckets_leaves_less_in_each(node, buckets):
    shares = node.partitioning(buckets)
    members = [node.classes[group[0]].inputs for group in shares.classes]
    assert len(members) == len(node.classes)
    chosen = sum(shares.copies) / shares.buckets
    for other in product(range(1, buckets + 1), repeat=len(members)):
        if math.prod(other) == buckets:
            copies = sum(
                math.prod(s for m, s in zip(members, other, strict=True) if i not in m)
                for i in range(len(node.inputs))
            )
            assert chosen <= copies / buckets


@pytest.mark.law
@EXAMPLES
@given(st.integers(-100, 100), st.integers(0, 30), st.integers(0, 30), st.integers(-60, 60))
def test_a_right_row_reaches_the_home_cell_of_every_left_row_within_its_bounds(left, lo, hi, apart):
    assume(-lo <= apart <= hi)
    cells = matwin(TIME, lo=lo, hi=hi).partitioning(4)
    right = left + apart  # t(right) - t(left) in [-lo, hi]
    (slices,) = cells.axes
    first = (right - slices.before[1]) // slices.width
    last = (right + slices.after[1]) // slices.width
    assert first <= left // slices.width <= last
    assert last - first <= 1
