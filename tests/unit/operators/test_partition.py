"""Routing: every combination that can make a result meets in exactly one bucket."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import InternalError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.routing.partition import own_rows, route
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.outer_join import OuterJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import EstimatingAggregate, SlidingAggregate
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.partitioning.buckets import (
    Cells,
    HashKeys,
    HashShares,
    Single,
)
from windrow.plan.nodes.bestmatch_join import Dimension
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema


def scan(alias: str, *fields: Field) -> ScanStream:
    schema = Schema(fields)
    return ScanStream(alias, alias, schema.names, schema, "ts", "bigint", 0)


def join(*classes: KeyClass) -> TimeJoin:
    aliases = tuple("abcd"[: len(classes[0].columns)])
    bounds = tuple(Bound(0, right, 5, 5) for right in range(1, len(aliases)))
    return TimeJoin(
        tuple(scan(alias) for alias in aliases), aliases, classes,
        WindowGraph(aliases, bounds), tuple(() for _ in aliases), "hash", Schema(()),
    )  # fmt: skip


def bestmatch(eps: float | None, type_: str, **classes: tuple[KeyClass, ...]) -> MatwinBestmatch:
    return MatwinBestmatch(
        scan("l", Field("l.x", type_)), scan("r", Field("r.x", type_)),
        (Dimension("l.x", "r.x", "mindist", eps),), classes.get("classes", ()),
        3, 4, ((), ()), False, Schema(()),
    )  # fmt: skip


def batch(times=None, **columns: object) -> ChangeBatch:
    arrays = {name.replace("_", "."): values for name, values in columns.items()}
    record = pa.record_batch(arrays)
    times = np.arange(record.num_rows) if times is None else np.array(times)
    return ChangeBatch(record, times.astype(np.int64))


def buckets_of(rows, buckets, row) -> set[int]:
    homes = buckets[rows == row].tolist()
    assert len(homes) == len(set(homes)), "a row is sent twice to one bucket"
    return set(homes)


XY = join(KeyClass(("a.x", "b.x", None), "bigint"), KeyClass((None, "b.y", "c.y"), "bigint", True))
keys = st.lists(st.integers(0, 3) | st.none(), min_size=1, max_size=6)


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(keys, keys, keys, st.data(), st.integers(1, 7))
def test_rows_that_agree_on_every_key_meet_in_exactly_one_bucket(a, b, c, data, buckets):
    b_y = data.draw(st.lists(st.integers(0, 3) | st.none(), min_size=len(b), max_size=len(b)))
    shares = XY.partitioning(buckets)
    assert isinstance(shares, HashShares)
    big = pa.int64()
    routed = [
        route(XY, shares, 0, batch(a_x=pa.array(a, big)), buckets),
        route(XY, shares, 1, batch(b_x=pa.array(b, big), b_y=pa.array(b_y, big)), buckets),
        route(XY, shares, 2, batch(c_y=pa.array(c, big)), buckets),
    ]
    for (rows, homes), size in zip(routed, (len(a), len(b), len(c)), strict=True):
        assert set(rows.tolist()) == set(range(size))
        assert homes.dtype == np.int32
        assert homes.min() >= 0
        assert homes.max() < buckets
    for i, j, k in itertools.product(range(len(a)), range(len(b)), range(len(c))):
        if a[i] is not None and a[i] == b[j] and b_y[j] == c[k]:
            chosen = zip(routed, (i, j, k), strict=True)
            meeting = set.intersection(*(buckets_of(*sent, row) for sent, row in chosen))
            assert len(meeting) == 1


def test_copies_are_those_that_the_partitioning_states():
    shares = XY.partitioning(4)
    assert shares.copies == (2, 1, 2)
    rows, _ = route(XY, shares, 0, batch(a_x=[1, 2, 3]), 4)
    assert rows.tolist() == [0, 0, 1, 1, 2, 2]
    rows, _ = route(XY, shares, 1, batch(b_x=[1, 2, 3], b_y=[1, 1, 1]), 4)
    assert rows.tolist() == [0, 1, 2]


@pytest.mark.parametrize("values", [range(10_000), [f"k{n}" for n in range(10_000)]])
def test_uniform_keys_leave_no_bucket_of_four_with_over_forty_percent(values):
    node = join(KeyClass(("a.k", "b.k"), "bigint"))
    _, homes = route(node, node.partitioning(4), 0, batch(a_k=pa.array(values)), 4)
    assert np.bincount(homes, minlength=4).max() < 0.4 * len(values)


def test_null_keys_are_spread_and_sent_once():
    shares = XY.partitioning(4)
    rows, homes = route(XY, shares, 0, batch(a_x=pa.array([None] * 1000, pa.int64())), 4)
    assert sorted(rows.tolist()) == list(range(1000))
    assert np.bincount(homes, minlength=4).max() < 400


def test_null_keys_of_a_null_safe_class_meet():
    node = join(KeyClass(("a.k", "b.k"), "bigint", null_safe=True))
    shares = node.partitioning(5)
    _, left = route(node, shares, 0, batch(a_k=pa.array([None, None], pa.int64())), 5)
    _, right = route(node, shares, 1, batch(b_k=pa.array([7, None], pa.int64())), 5)
    assert left[0] == left[1] == right[1]


def test_rows_without_an_event_time_go_to_bucket_zero_once():
    shares = XY.partitioning(4)
    rows, homes = route(XY, shares, 0, batch(times=[5, MIN_TICK], a_x=[3, 3]), 4)
    assert rows.tolist() == [0, 0, 1]
    assert homes[2] == 0


def test_groups_have_one_bucket_each_nulls_included():
    node = SlidingAggregate(scan("s"), ("s.g",), (), Schema(()))
    by_key = node.partitioning(4)
    assert isinstance(by_key, HashKeys)
    rows, homes = route(node, by_key, 0, batch(s_g=pa.array(["x", None, "x", None])), 4)
    assert rows.tolist() == [0, 1, 2, 3]
    assert homes[0] == homes[2]
    assert homes[1] == homes[3]


def test_marks_of_results_that_may_be_missing_go_to_every_bucket_of_estimates():
    node = EstimatingAggregate(scan("s"), ("s.g",), (), Schema(()), estimated_from=2)
    came = batch(s_g=pa.array(["x", None, "y"]))
    columns = came.columns.append_column("$chance_0", pa.array([0.5, 0.0, 1.0]))
    rows, homes = route(node, node.partitioning(4), 0, replace(came, columns=columns), 4)
    assert rows.tolist() == [0, 1, 1, 1, 1, 2]
    assert homes[1:5].tolist() == [0, 1, 2, 3]


def test_a_single_bucket_takes_everything():
    node = SlidingAggregate(scan("s"), (), (), Schema(()))
    rows, homes = route(node, Single("one group"), 0, batch(s_g=[1, 2]), 3)
    assert rows.tolist() == [0, 1]
    assert homes.tolist() == [0, 0]


wide = st.floats(-1e6, 1e6) | st.floats(allow_nan=True, allow_infinity=True)


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(
    st.lists(wide | st.none(), min_size=1, max_size=6),
    st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6),
    st.sampled_from([0.0, 0.1, 1.0, 2.5]),
    st.integers(1, 5),
)
def test_every_candidate_pair_meets_in_the_bucket_of_its_left_row(lefts, offsets, eps, buckets):
    rights = [
        None if x is None else x + (0.0 if offset == 0 else round(offset) * eps)
        for x, offset in zip(lefts, offsets, strict=False)
    ]
    node = bestmatch(eps, "double")
    cells = node.partitioning(buckets)
    assert isinstance(cells, Cells)
    real = pa.float64()
    left = route(node, cells, 0, batch(l_x=pa.array(lefts, real)), buckets)
    right = route(node, cells, 1, batch(r_x=pa.array(rights, real)), buckets)
    assert left[0].tolist() == sorted(left[0].tolist()) or len(left[0]) == len(lefts)
    assert set(right[0].tolist()) == set(range(len(rights)))
    for i, x in enumerate(lefts):
        (home,) = buckets_of(*left, i)
        for j, y in enumerate(rights):
            if x is not None and y is not None and abs(x - y) <= eps:
                assert home in buckets_of(*right, j)


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(
    st.lists(st.integers(MIN_TICK + 9, 2**63 - 9) | st.integers(-50, 50), min_size=1, max_size=8),
    st.integers(1, 5),
)
def test_time_cells_let_every_pair_in_reach_meet(times, buckets):
    node = bestmatch(None, "double")
    cells = node.partitioning(buckets)
    assert [axis.dimension for axis in cells.axes] == [None]
    left = route(node, cells, 0, batch(times=times, l_x=[0.0] * len(times)), buckets)
    for shift in range(-node.lo, node.hi + 1):
        moved = [time + shift for time in times]
        right = route(node, cells, 1, batch(times=moved, r_x=[0.0] * len(times)), buckets)
        for row in range(len(times)):
            (home,) = buckets_of(*left, row)
            assert home in buckets_of(*right, row)


@st.composite
def sliced_joins(draw):
    """Joins without an equality: a tree of windows, some directed, some off center."""
    size = draw(st.integers(2, 4))
    ends = st.tuples(st.integers(-6, 9), st.integers(0, 12))
    bounds = []
    for right in range(1, size):
        least, length = draw(ends)
        bounds.append(Bound(draw(st.integers(0, right - 1)), right, -least, least + length))
    aliases = tuple("abcd"[:size])
    return TimeJoin(
        tuple(map(scan, aliases)), aliases, (), WindowGraph(aliases, tuple(bounds)),
        ((),) * size, "nested-loop", Schema(()),
    )  # fmt: skip


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(sliced_joins(), st.data(), st.integers(1, 6))
def test_every_combination_within_the_windows_meets_in_one_slice(node, data, buckets):
    times = st.lists(st.integers(-40, 40), min_size=1, max_size=5)
    streams = [data.draw(times) for _ in node.inputs]
    slices = node.partitioning(buckets)
    homes = []
    for port, own in enumerate(streams):
        rows, found = route(node, slices, port, batch(own, x=[0] * len(own)), buckets)
        homes.append([buckets_of(rows, found, row) for row in range(len(own))])
        assert all(homes[-1])
    assert all(len(home) == 1 for home in homes[slices.anchor])
    for rows in itertools.product(*(range(len(own)) for own in streams)):
        at = [own[row] for own, row in zip(streams, rows, strict=True)]
        if all(
            at[b.right] - at[b.left] <= b.hi and at[b.left] - at[b.right] <= b.lo
            for b in node.graph.stated
        ):
            shared = set.intersection(*(homes[port][row] for port, row in enumerate(rows)))
            assert shared == homes[slices.anchor][rows[slices.anchor]]


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(st.integers(-9, 9), st.integers(0, 12), st.data(), st.integers(1, 6))
def test_rows_of_a_full_outer_join_meet_all_they_can_where_each_has_its_home(
    least, length, data, buckets
):
    keyed = join(KeyClass((None, None), "int"))
    node = OuterJoin(**keyed.common() | {"classes": ()}, kind="full")
    bound = Bound(0, 1, -least, least + length)
    node = replace(node, graph=WindowGraph(node.aliases, (bound,)))
    slices = node.partitioning(buckets)
    times = [data.draw(st.lists(st.integers(-40, 40), min_size=1, max_size=6)) for _ in "ab"]
    sent, homes = [], []
    for port, own in enumerate(times):
        rows, found = route(node, slices, port, batch(own, x=[0] * len(own)), buckets)
        sent.append([buckets_of(rows, found, row) for row in range(len(own))])
        held = [own_rows(node, slices, n).holds(np.array(own)) for n in range(buckets)]
        assert np.sum(held, axis=0).tolist() == [1] * len(own)
        homes.append(np.argmax(held, axis=0).tolist())
        assert all(home in of for home, of in zip(homes[-1], sent[-1], strict=True))
    for left, right in itertools.product(range(len(times[0])), range(len(times[1]))):
        if -bound.lo <= times[1][right] - times[0][left] <= bound.hi:
            assert homes[0][left] in sent[1][right]
            assert homes[1][right] in sent[0][left]


def test_only_a_full_outer_join_is_told_which_rows_it_answers_for():
    node = OuterJoin(**join(KeyClass((None, None), "int")).common() | {"classes": ()}, kind="left")
    assert own_rows(node, node.partitioning(4), 0) is None
    keyed = join(KeyClass(("a.k", "b.k"), "int"))
    assert own_rows(keyed, keyed.partitioning(4), 0) is None


def test_slices_at_the_ends_of_time_do_not_wrap_around():
    node = join(KeyClass((None, None), "int"))
    slices = replace(node, classes=()).partitioning(4)
    ends = [MIN_TICK + 1, MAX_TICK]
    rows, homes = route(node, slices, 1, batch(ends, x=[0, 0]), 4)
    anchors = route(node, slices, 0, batch(ends, x=[0, 0]), 4)[1]
    for row in (0, 1):
        assert int(anchors[row]) in buckets_of(rows, homes, row)


def test_uniform_times_leave_no_bucket_of_four_slices_with_over_forty_percent():
    node = replace(join(KeyClass((None, None), "int")), classes=())
    times = np.random.default_rng(0).integers(0, 4 * 10, 4_000)
    homes = [
        route(node, node.partitioning(4), port, batch(times, x=times), 4)[1] for port in (0, 1)
    ]
    shares = np.bincount(np.concatenate(homes)) / sum(map(len, homes))
    assert shares.max() < 0.4


@pytest.mark.parametrize("kind", ["left outer", "right outer", "full outer"])
def test_a_crowded_cell_is_split_by_slices_of_time(kind):
    node = replace(bestmatch(1.0, "double"), kind=kind)
    times = np.random.default_rng(0).integers(0, 4_000, 8_000)  # 143 slices of 28 ticks
    crowd = np.zeros(len(times))
    cells = node.partitioning(4)
    sent = [
        route(node, cells, 0, batch(times, l_x=crowd), 4)[1],
        route(node, cells, 1, batch(times, r_x=crowd), 4)[1],
    ]
    shares = np.bincount(np.concatenate(sent), minlength=4) / sum(map(len, sent))
    assert shares.max() < 0.375


@pytest.mark.parametrize("kind", ["left outer", "full outer"])
@pytest.mark.parametrize("buckets", [4, 64])
def test_rows_are_copied_as_often_as_explain_says(kind, buckets):
    """Twice too often was said where two cells share a bucket, too seldom for short windows."""
    random = np.random.default_rng(0)
    for type_, positions in (("double", random.uniform(0, 500, 8_000)), ("bigint", None)):
        node = replace(bestmatch(1.0, type_), kind=kind)
        cells = node.partitioning(buckets)
        at = random.integers(0, 500, 8_000) if positions is None else positions
        times = random.integers(0, 4_000, len(at))
        copied = {port: name for port, name in enumerate(("l_x", "r_x")) if port != cells.anchor}
        assert copied
        for port, name in copied.items():
            rows, _ = route(node, cells, port, batch(times, **{name: at}), buckets)
            assert len(rows) / len(at) == pytest.approx(cells.copies(port), rel=0.03)


def test_a_limit_beyond_all_values_cuts_no_cells():
    (slices,) = bestmatch(1e308, "double").partitioning(4).axes
    assert slices.dimension is None


def test_decimal_positions_are_cut_exactly_at_the_constraint():
    node = bestmatch(0.1, "decimal(10,1)")
    cells = node.partitioning(3)
    tenths = [pa.scalar(n / 10).cast(pa.decimal128(10, 1)).as_py() for n in range(-20, 20)]
    kind = pa.decimal128(10, 1)
    left = route(node, cells, 0, batch(l_x=pa.array(tenths[1:], kind)), 3)
    right = route(node, cells, 1, batch(r_x=pa.array(tenths[:-1], kind)), 3)
    for row in range(len(tenths) - 1):
        assert buckets_of(*left, row) <= buckets_of(*right, row)


def test_too_few_buckets_are_refused():
    with pytest.raises(InternalError, match="cut into 4 buckets was given 2"):
        route(XY, XY.partitioning(4), 0, batch(a_x=[1]), 2)
