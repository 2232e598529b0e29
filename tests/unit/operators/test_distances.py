"""Distances: which are exact, what a constraint means in their units, which rows have none."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from windrow.errors import UnsupportedError
from windrow.kernels.bestmatch import NO_LIMIT
from windrow.operators.bestmatch.distances import Measure
from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.changes import ChangeBatch
from windrow.plan.nodes.bestmatch_join import Dimension
from windrow.schema import Field, Schema


def measure(left, right=None, eps=None, *, is_time=False):
    dimension = Dimension("l", "r", "mindist", eps, is_time)
    schemas = Schema((Field("l", left),)), Schema((Field("r", right or left),))
    return Measure.of(dimension, *schemas)


def values(of, kind, *cells: object, port=0):
    columns = pa.RecordBatch.from_arrays(
        [pa.array(cells, arrow_type(kind))], names=["l" if port == 0 else "r"]
    )
    numbers, has_value = of.values(ChangeBatch(columns, np.arange(len(cells))), port)
    return numbers, has_value


def apart(of, kind, one, other):
    """The distance of two values as the kernel takes it: a difference of unsigned numbers."""
    left, right = values(of, kind, one)[0], values(of, kind, other, port=1)[0]
    return abs(int(left[0]) - int(right[0]))


@pytest.mark.parametrize(
    ("left", "right", "scale"),
    [
        ("bigint", "bigint", 0),
        ("tinyint", "bigint", 0),
        ("date", "date", 0),
        ("timestamp", "timestamp", 0),
        ("timestamp_ntz", "timestamp_ntz", 0),
        ("interval day to second", "interval day to second", 0),
        ("decimal(10,2)", "decimal(12,4)", 4),
        ("decimal(18,2)", "decimal(18,2)", 2),
        ("decimal(18,2)", "decimal(18,4)", None),
        ("int", "decimal(4,2)", 2),
        ("bigint", "decimal(4,2)", None),
        ("decimal(38,18)", "decimal(38,18)", None),
        ("double", "double", None),
        ("float", "int", None),
    ],
)
def test_a_distance_is_exact_where_both_sides_fit_one_integer_scale(left, right, scale):
    assert measure(left, right).scale == scale
    assert measure(right, left).scale == scale


def test_event_time_is_measured_in_ticks():
    of = measure("timestamp", eps=5, is_time=True)
    numbers, has_value = values(of, "bigint", 0, 0, 0)
    assert has_value is None
    assert np.diff(numbers).tolist() == [1, 1]
    assert of.limit == 5


def test_the_two_farthest_integers_are_as_far_apart_as_they_are():
    assert apart(measure("bigint"), "bigint", -(2**63), 2**63 - 1) == 2**64 - 1


def test_decimals_of_different_scales_meet_in_one_unit():
    of = measure("decimal(10,2)", "decimal(12,4)")
    left, _ = values(of, "decimal(10,2)", Decimal("-1.25"))
    right, _ = values(of, "decimal(12,4)", Decimal("1.0001"), port=1)
    assert abs(int(left[0]) - int(right[0])) == 22501
    wide = measure("decimal(38,18)")
    numbers, _ = values(wide, "decimal(38,18)", Decimal("2.5"))
    assert numbers.view(np.float64).tolist() == [2.5]


def test_a_whole_number_that_no_double_has_is_rounded_to_one():
    """It failed: no double is 2^53 + 1."""
    numbers, has_value = values(measure("bigint", "double"), "bigint", 2**53 + 1, 2**63 - 1, None)
    assert numbers.view(np.float64).tolist()[:2] == [2.0**53, 2.0**63]
    assert has_value.tolist() == [True, True, False]


def test_a_slice_of_decimals_is_read_from_its_own_start():
    of = measure("decimal(10,2)")
    column = pa.array([Decimal("9.99"), Decimal("1.00"), None], pa.decimal128(10, 2)).slice(1)
    columns = pa.RecordBatch.from_arrays([column], names=["l"])
    numbers, has_value = of.values(ChangeBatch(columns, np.arange(2)), 0)
    assert int(numbers[0]) - 2**63 == 100
    assert has_value.tolist() == [True, False]


def test_dates_are_days_apart():
    assert apart(measure("date"), "date", date(2024, 2, 28), date(2024, 3, 1)) == 2


def test_nulls_and_nan_have_no_distance_and_infinities_do():
    _, has_value = values(measure("double"), "double", 1.0, None, math.nan, math.inf)
    assert has_value.tolist() == [True, False, False, True]
    _, has_value = values(measure("int"), "int", 1, None)
    assert has_value.tolist() == [True, False]
    _, has_value = values(measure("int"), "int", 1, 2)
    assert has_value is None


@pytest.mark.parametrize(
    ("kind", "eps", "limit"),
    [
        ("bigint", None, NO_LIMIT),
        ("bigint", 7, 7),
        ("bigint", 7.9, 7),
        ("bigint", math.inf, NO_LIMIT),
        ("bigint", 1e300, NO_LIMIT),
        ("decimal(6,1)", 0.3, 3),
        ("decimal(6,2)", 0.29, 29),
        ("decimal(6,2)", 1.005, 100),
    ],
)
def test_a_constraint_counts_in_the_units_of_the_distance(kind, eps, limit):
    assert measure(kind, eps=eps).limit == limit


def test_a_constraint_on_doubles_is_the_double_itself():
    assert measure("double", eps=0.3).limit == int(np.float64(0.3).view(np.uint64))


@pytest.mark.parametrize("kind", ["double", "bigint", "decimal(10,2)"])
@pytest.mark.parametrize("eps", [0, 1, 3.5, 1e-300])
def test_every_candidate_lies_within_the_span_of_cells(kind, eps):
    of = measure(kind, eps=eps)
    random = np.random.default_rng(7)
    numbers = np.concatenate([random.integers(-20, 20, 200), [-(2**62), 2**62, 0]])
    if kind == "double":
        numbers = np.concatenate([numbers / 4, [1e308, -1e308, np.inf, -np.inf]])
        encoded = numbers.astype(np.float64).view(np.uint64)
    else:
        encoded = (numbers.astype(np.int64).view(np.uint64)) ^ np.uint64(1 << 63)
    cells, whole = of.cells(encoded), encoded.tolist()
    first, last = of.cell_spans(encoded)
    for place in range(len(encoded)):
        if kind == "double":
            with np.errstate(invalid="ignore", over="ignore"):
                near = np.abs(numbers - numbers[place]) <= eps
        else:
            near = np.array([abs(one - whole[place]) <= of.limit for one in whole])
        inside = (first[place] <= cells) & (cells <= last[place])
        assert not np.any(near & ~inside)


def test_a_difference_that_rounds_down_to_the_constraint_stays_within_the_span():
    of = measure("double", eps=0.1)
    # The exact difference is above the double 0.1; the rounded one equals it.
    left, right = 1.1, 1.0
    while left - right > 0.1:
        left = math.nextafter(left, 0)
    candidates = [left, math.nextafter(left, 2), math.nextafter(left, 0)]
    near = [value for value in candidates if value - right <= 0.1]
    assert left in near
    for value in near:
        first, last = of.cell_spans(np.array([value]).view(np.uint64))
        cell = of.cells(np.array([right]).view(np.uint64))
        assert first[0] <= cell[0] <= last[0]


LARGEST = 2**63 - 1


@pytest.mark.law
@settings(max_examples=share_of(300), deadline=None, derandomize=True)
@given(
    eps=st.one_of(
        st.sampled_from([0.0, 5e-324, 1e-310, 0.1, 1.0, 1e300, 1.7e308]), st.floats(0, 1e9)
    ),
    one=st.floats(allow_nan=False),
    steps=st.integers(-3, 3),
    sign=st.sampled_from([-1, 1]),
)
def test_candidates_of_doubles_lie_in_neighboring_cells(eps, one, steps, sign):
    """Other values are at, or a few doubles from, the farthest that is a candidate."""
    of = measure("double", eps=eps)
    other = one + sign * eps
    for _ in range(abs(steps)):
        other = math.nextafter(other, math.copysign(math.inf, steps))
    assume(abs(one - other) <= eps)
    cells = of.neighbor_cells(np.array([one, other]).view(np.uint64))
    assert abs(int(cells[0]) - int(cells[1])) <= 1


@pytest.mark.parametrize("eps", [0, 1, 7, 2**62, LARGEST])
def test_candidates_of_whole_numbers_lie_in_neighboring_cells(eps):
    of = measure("bigint", eps=eps)
    assert of.has_neighbor_cells
    for one in (-LARGEST - 1, -LARGEST, -8, -7, -1, 0, 6, 7, LARGEST - 1, LARGEST):
        for other in (max(one - eps, -LARGEST - 1), min(one + eps, LARGEST)):
            cells = of.neighbor_cells(values(of, "bigint", one, other)[0])
            assert abs(int(cells[0]) - int(cells[1])) <= 1


def test_what_reaches_everywhere_and_what_is_time_has_no_neighboring_cells():
    assert not measure("bigint").has_neighbor_cells
    assert not measure("bigint", eps=2**63).has_neighbor_cells
    assert not measure("double", eps=math.inf).has_neighbor_cells
    assert not measure("bigint", eps=3, is_time=True).has_neighbor_cells


def test_a_column_without_distances_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        measure("string")
    assert str(caught.value) == (
        "UnsupportedError[bestmatch-dimension-type]: l has no distance: its type is string\n"
        "  MINDIST needs numbers, dates, timestamps or intervals\n"
        "  hint: compare a number computed from it"
    )
