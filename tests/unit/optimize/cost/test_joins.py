"""What the cost model counts of joins of several streams, plan by plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from windrow.optimize.cost.joins import (
    Joined,
    Key,
    PricedCondition,
    backward,
    met_by_sweep,
    sweep_join,
    untested_join,
)


def test_a_sweep_tests_orders_as_it_goes_and_everything_else_at_the_end():
    inputs = frozenset({0, 1})
    early = PricedCondition(inputs, 0.01, 0.001, 0.035, is_ordered=True)
    late = replace(early, is_ordered=False)
    upper = ((0, 10, 10), (10, 0, 10), (10, 10, 0))
    orders = ((1, 2), (0, 2), (0, 1))
    joined = Joined((1.0, 1.0, 1.0), upper, tests=(early,))
    pruned = sweep_join(joined, orders, is_hashed=False)
    whole = sweep_join(replace(joined, tests=(late,)), orders, is_hashed=False)
    assert pruned.results == pytest.approx(whole.results)
    assert whole.scanned > 1.5 * pruned.scanned
    assert whole.testing > 10 * pruned.testing
    assert untested_join(joined, orders, is_hashed=False).scanned == pytest.approx(whole.scanned)


def test_of_windows_that_differ_a_sweep_meets_pairs_from_the_narrow_side():
    upper = ((0, 5, 2005), (5, 0, 2000), (2005, 2000, 0))
    at_once = Joined((1.0, 1.0, 1.0), upper, ahead=(1e9, 1e9, 1e9))
    assert met_by_sweep(at_once, 2, [2], 1) == pytest.approx(5, rel=0.01)
    assert met_by_sweep(at_once, 1, [1], 2) == pytest.approx(3995, rel=0.01)
    row_by_row = replace(at_once, ahead=(1e-9, 1e-9, 1e-9))
    for start, added in ((1, 2), (2, 1)):
        assert met_by_sweep(row_by_row, start, [start], added) == pytest.approx(2000)
    some = replace(at_once, ahead=(1000.0, 1000.0, 1000.0))
    both = met_by_sweep(some, 1, [1], 2), met_by_sweep(some, 2, [2], 1)
    assert 2000 < both[0] < 3995
    assert sum(both) == pytest.approx(4000)


def test_where_no_key_is_shared_a_plan_by_hash_scans():
    upper = ((0, 10, 10), (10, 0, 10), (10, 10, 0))
    joined = Joined((1.0, 1.0, 1.0), upper, keys=(Key((100.0, 100.0, None)),))
    work = backward(joined, 0, (1, 2), is_hashed=True)
    assert work.touched == pytest.approx(10 / 100)
    assert work.scanned == pytest.approx(10 / 100 * 10)
