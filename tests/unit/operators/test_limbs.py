"""Stored limbs: the same value, and one form for it, however wide the row was."""

from __future__ import annotations

import numpy as np
import pytest
from case_share import share_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from windrow.operators.accumulators.sums import settled, trimmed

pytestmark = pytest.mark.law

NUMBERS = st.lists(st.integers(-(2**150), 2**150), min_size=1, max_size=4)


def limbs_of(numbers, width, *, below):
    """Rows of settled limbs, `below` of them zero under each number."""
    shifted = [number << (32 * below) for number in numbers]
    rows = [
        [(number >> (32 * k)) & 0xFFFFFFFF for k in range(width - 1)]
        + [number >> (32 * (width - 1))]
        for number in shifted
    ]
    return np.array(rows, np.int64)


def values_of(limbs, low):
    return [sum(int(limb) << (32 * (k + low)) for k, limb in enumerate(row)) for row in limbs]


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(NUMBERS, st.integers(0, 3))
@example([2**31], 0)
@example([-(2**31)], 0)
@example([2**31 - 1, -(2**31) - 1], 0)
@example([0], 2)
@example([-1], 1)
def test_trimmed_limbs_have_the_value_and_do_not_depend_on_the_width(numbers, below):
    low, narrow = trimmed(limbs_of(numbers, 9, below=below))
    assert values_of(narrow, low) == [number << (32 * below) for number in numbers]
    other_low, other = trimmed(limbs_of(numbers, 12, below=below))
    assert np.array_equal(narrow, other)
    assert low == other_low
    assert np.abs(narrow).max() < 2**32


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=6))
def test_settling_keeps_the_value(limbs):
    before = np.array([[*limbs, 0]], np.int64)
    after = settled(before)
    assert values_of(after, 0) == values_of(before, 0)
    assert after[0, :-1].min() >= 0
    assert after[0, :-1].max() < 2**32
