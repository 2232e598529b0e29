"""The simulated clock against a loop that follows each tuple."""

from __future__ import annotations

import numpy as np
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow_papers.experiments.clock import responses, saturation

# arrives   0   1 2        8
# service   [0---3)[3---6)[6-8)[8-9)
#           response 3, 5, 6, 1


def test_a_tuple_waits_until_the_operator_is_free():
    arrivals = np.array([0.0, 1.0, 2.0, 8.0])
    service = np.array([3.0, 3.0, 2.0, 1.0])
    assert responses(arrivals, arrivals, service).tolist() == [3.0, 5.0, 6.0, 1.0]


def test_a_tuple_that_is_held_is_served_when_it_may_be():
    arrivals, ready = np.array([0.0, 1.0]), np.array([4.0, 4.0])
    assert responses(arrivals, ready, np.array([1.0, 1.0])).tolist() == [5.0, 5.0]


tuples = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=1)


@pytest.mark.law
@given(tuples)
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
def test_responses_are_those_of_a_loop(rows):
    arrivals = np.cumsum([gap for gap, _, _ in rows]).astype(float)
    ready = arrivals + [held for _, held, _ in rows]
    service = np.array([float(taken) for _, _, taken in rows])
    free, expected = -np.inf, []
    for arrival, may, taken in zip(arrivals, ready, service, strict=True):
        free = max(free, may) + taken
        expected.append(free - arrival)
    assert responses(arrivals, ready, service) == pytest.approx(expected)


@pytest.mark.parametrize("power", [1.0, 2.0, 4.5])
def test_the_saturation_is_where_the_load_is_one(power):
    asked = []

    def load(rate):
        asked.append(rate)
        return (rate / 70.0) ** power

    limit = saturation(load, 5.0)
    assert limit.rate == pytest.approx(70.0, rel=0.01)
    assert limit.power == pytest.approx(power, rel=0.01)
    assert len(asked) <= 6
    # The load is 1 again where twice the cost meets half the load.
    assert load(limit.at_cost(2.0)) == pytest.approx(0.5, rel=0.05)
