"""The words that a sweep compares: what is true is never kept out, and little else passes."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.theta import compared

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.tuple_at_a_time.tuple_words import comparison_words
from windrow.physical.probe_orders import OrderedPair
from windrow.plan.exprs import Comparison, Side

pytestmark = pytest.mark.law

LAST, FIRST = 2**63 - 1, -(2**63)
WHOLE = st.one_of(
    st.none(), st.integers(-3, 3), st.integers(FIRST, FIRST + 4), st.integers(LAST - 4, LAST)
)
REAL = st.one_of(
    st.none(), st.sampled_from([0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan, 1e308, -1e308])
)
SHIFTS = st.sampled_from([0, 0, 1, -2, 5, LAST, FIRST, 2**64])


def words(values, side, pair, port, kind):
    column = pa.array(values, kind)
    rows = ChangeBatch(pa.record_batch({side.column: column}), np.zeros(len(values), np.int64))
    return comparison_words([pair], port, rows)[:, 0].tolist()


@settings(max_examples=share_of(400), deadline=None, derandomize=True)
@given(
    data=st.data(),
    is_real=st.booleans(),
    operator=st.sampled_from(["<", "<=", ">", ">="]),
)
def test_what_is_true_passes_and_of_numbers_that_fit_nothing_else(data, is_real, operator):
    value, kind = (REAL, "double") if is_real else (WHOLE, "bigint")
    left, right = (data.draw(st.lists(value, min_size=1, max_size=5)) for _ in range(2))
    shifts = [0.0 if is_real else data.draw(SHIFTS) for _ in range(2)]
    sides = [Side(name, shift, kind) for name, shift in zip("ab", shifts, strict=True)]
    ports = list(enumerate(sides))
    lesser, greater = ports if operator.startswith("<") else ports[::-1]
    comparison = Comparison(sides[0], operator, sides[1])
    pair = OrderedPair(0, comparison, lesser, greater, not operator.endswith("="))
    arrow = pa.float64() if is_real else pa.int64()
    own = [
        words(v, s, pair, port, arrow) for v, (port, s) in zip((left, right), ports, strict=True)
    ]
    for x, x_word in zip(left, own[0], strict=True):
        for y, y_word in zip(right, own[1], strict=True):
            sums = [None if v is None else v + s for v, s in zip((x, y), shifts, strict=True)]
            is_true = compared(sums[0], operator, sums[1])
            low, high = (x_word, y_word) if lesser[0] == 0 else (y_word, x_word)
            if is_true:
                assert low <= high
            elif None not in sums and (is_real or all(FIRST < s < LAST for s in sums)):
                assert low > high
