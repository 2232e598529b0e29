"""The ranges of keys that tuples ask for: never too narrow, and hardly too wide."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.tuple_at_a_time.tuple_words import range_words
from windrow.physical.structures import Served
from windrow.plan.exprs import ALWAYS, NEVER, Band

DOUBLE, FLOAT = 2.0**-52, 2.0**-23
ENDS = [-(2**63), -(2**63) + 1, -5, -1, 0, 1, 5, 2**63 - 2, 2**63 - 1]


def words(values: pa.Array, port: int, *bands: Band) -> np.ndarray:
    columns = pa.RecordBatch.from_arrays([values], names=["l" if port == 0 else "r"])
    batch = ChangeBatch(columns, np.zeros(len(values), np.int64))
    return range_words(Served(bands, (0,)), port, batch).view(np.int64)


def allowed(left: pa.Array, right: pa.Array, *bands: Band) -> np.ndarray:
    """Which pairs both directions find; they need not agree where roundings differ."""
    one, other = words(left, 0, *bands), words(right, 1, *bands)
    by_left = (one[:, 1, None] <= other[None, :, 0]) & (other[None, :, 0] <= one[:, 2, None])
    by_right = (other[None, :, 1] <= one[:, 0, None]) & (one[:, 0, None] <= other[None, :, 2])
    return by_left & by_right


def doubles(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.concatenate(
        [
            np.round(random.random(150), 1) + random.choice([0, 1e-16, 1e3, 1e15], 150),
            random.standard_normal(100) * 10.0 ** random.integers(-300, 300, 100),
            random.integers(-9, 9, 50).astype(float),
            [0.0, -0.0, 5e-324, -5e-324, 1.7e308, -1.7e308, math.inf, -math.inf, math.nan],
        ]
    )


@pytest.mark.parametrize("first", [0.0, 0.1, -3.3, 1e16])
@pytest.mark.parametrize("second", [0.0, 0.2, 1e300])
def test_a_range_of_doubles_holds_every_pair_that_rounded_sums_allow(first, second):
    left, right = doubles(1), doubles(2)
    with np.errstate(over="ignore", invalid="ignore"):
        holds = (left + first)[:, None] <= (right + second)[None, :]
    holds |= np.isnan(right)[None, :]  # NaN is above all numbers
    band = Band("l", "r", None, second - first, rounding=DOUBLE, constants=abs(first) + second)
    found = allowed(pa.array(left), pa.array(right), band)
    assert not (holds & ~found).any()


@pytest.mark.parametrize("reach", [0.0, 0.1, 1.0, 1e15])
@pytest.mark.parametrize(("kind", "rounding"), [(np.float64, DOUBLE), (np.float32, FLOAT)])
def test_a_distance_of_reals_holds_every_pair_that_a_rounded_difference_allows(
    reach, kind, rounding
):
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        left, right = doubles(3).astype(kind), doubles(4).astype(kind)
        holds = np.abs(left[:, None] - right[None, :]) <= kind(reach)
    band = Band("l", "r", -reach, reach, rounding=rounding, constants=reach)
    assert not (holds & ~allowed(pa.array(left), pa.array(right), band)).any()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("limit", [0.0, 0.1, -3.3, 1e16, -1e29])
@pytest.mark.parametrize(("kind", "rounding"), [(np.float64, DOUBLE), (np.float32, FLOAT)])
@pytest.mark.parametrize("is_upper", [True, False])
@pytest.mark.parametrize("is_turned", [True, False])
def test_a_difference_of_reals_holds_every_pair_that_rounding_allows(
    limit, kind, rounding, is_upper, is_turned
):
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        left, right = doubles(5).astype(kind), doubles(6).astype(kind)
        apart = left[:, None] - right[None, :]
        # NaN is above all limits.
        holds = apart <= kind(limit) if is_upper else ~(apart < kind(limit))
    ends = (None, limit) if is_upper else (limit, None)
    nan = NEVER if is_upper else ALWAYS
    band = Band("l", "r", *ends, rounding=rounding, constants=abs(limit), nan=nan)
    if is_turned:
        band = replace(band, left="r", right="l").turned
        left, right, holds = right, left, holds.T
    assert not (holds & ~allowed(pa.array(left), pa.array(right), band)).any()


def test_a_nan_that_can_meet_nothing_asks_for_nothing():
    values = pa.array([1.0, math.nan])
    found = words(values, 0, Band("l", "r", None, 5.0, rounding=DOUBLE, nan=NEVER))
    assert (found[:, 1] <= found[:, 2]).tolist() == [True, False]


def test_decimals_beyond_64_bits_are_looked_up_as_doubles():
    random = np.random.default_rng(7)
    digits = ["".join(map(str, random.integers(0, 10, n))) for n in random.integers(1, 38, 300)]
    near = ["1" * 36, "1" * 35 + "0", "1" * 35 + "2", "0", "1"]
    numbers = [
        Decimal(f"{sign}{d}") * Decimal("0.01")
        for d, sign in zip([*digits, *near], "+-" * 200, strict=False)
    ]
    with localcontext(prec=60):
        holds = np.array([[abs(a - b) <= Decimal("0.5") for b in numbers] for a in numbers])
    column = pa.array([None, *numbers], pa.decimal128(38, 2))[1:]
    band = Band("l", "r", -0.5, 0.5, rounding=2.0**-49, constants=0.5, nan=NEVER)
    found = allowed(column, column, band)
    assert not (holds & ~found).any()
    assert found.sum() < 2 * holds.sum()
    keys = words(column, 0, band)[:, 0]
    assert (
        np.argsort(keys, kind="stable")[:3] == np.argsort([float(n) for n in numbers])[:3]
    ).all()


def test_a_range_of_doubles_holds_no_other_pair_unless_it_is_a_rounding_away():
    random = np.random.default_rng(5)
    left, right = random.random(500) * 1e4, random.random(500) * 1e4
    band = Band("l", "r", -1.0, 1.0, rounding=DOUBLE, constants=1.0)
    found = allowed(pa.array(left), pa.array(right), band)
    assert (found == (np.abs(left[:, None] - right[None, :]) <= 1)).all()


@pytest.mark.parametrize("low", [None, 0, -1, 3, 2**63, -(2**64), 2**64 - 1])
@pytest.mark.parametrize("high", [None, 0, 1, -3, 2**63, 2**64, -(2**63) - 7])
def test_a_range_of_whole_numbers_is_exact_up_to_the_ends_of_64_bits(low, high):
    found = allowed(pa.array(ENDS), pa.array(ENDS), Band("l", "r", low, high))
    for i, one in enumerate(ENDS):
        for j, other in enumerate(ENDS):
            fits = (low is None or one - other >= low) and (high is None or one - other <= high)
            assert found[i, j] == fits or (found[i, j] and {one, other} & {ENDS[0], ENDS[-1]})


def test_bands_over_one_pair_are_met_together():
    values = pa.array(range(10))
    found = allowed(values, values, Band("l", "r", -2, None), Band("l", "r", None, 1))
    apart = np.subtract.outer(np.arange(10), np.arange(10))
    assert (found == ((apart >= -2) & (apart <= 1))).all()


def test_null_asks_for_nothing():
    values = pa.array([1, None, 3])
    found = words(values, 0, Band("l", "r", 0, None))
    assert (found[:, 1] <= found[:, 2]).tolist() == [True, False, True]


def test_decimals_are_counted_in_units_of_the_finer_scale():
    left = pa.array([Decimal("-1.50"), None, Decimal("2.25")], pa.decimal128(9, 2))
    right = pa.array([Decimal("9"), Decimal("1.500"), Decimal("2.249")], pa.decimal128(9, 3))[1:]
    band = Band("l", "r", -1, 1, scale=3)
    assert words(left, 0, band)[[0, 2], 0].tolist() == [-1500, 2250]
    assert words(right, 1, band)[:, 0].tolist() == [1500, 2249]
    assert allowed(left, right, band).tolist() == [[False] * 2, [False] * 2, [False, True]]
