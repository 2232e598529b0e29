"""What divides an amount, and a strategy over streams of which one never arrives."""

from __future__ import annotations

import pytest

from windrow.allocation.loads import Resources, StreamLoad
from windrow.allocation.strategies import (
    allocate_by,
    in_order,
    in_proportion,
    inverse_to_rates,
    pot,
)


def test_a_stream_that_never_arrives_is_the_slowest():
    found = allocate_by(
        [StreamLoad(0, 90), StreamLoad(5, 90)], Resources(memory=60), memory=inverse_to_rates
    )
    assert found.windows == pytest.approx((30, 30))


def test_shares_in_proportion_keep_floors_and_caps_and_use_everything():
    divided = pot("things", 100, floors=(0, 30, 0), caps=(100, 100, 10))
    shares = in_proportion(divided, (6, 1, 3))
    assert shares == pytest.approx((60, 30, 10))


def test_what_all_can_use_together_is_not_exceeded():
    divided = pot("things", 100, floors=(0, 0), caps=(20, 30))
    assert in_proportion(divided, (1, 9)) == pytest.approx((20, 30))
    assert in_order(divided, (1, 0)) == (20, 30)


def test_a_stream_without_weight_gets_its_floor():
    divided = pot("things", 100, floors=(5, 0), caps=(90, 60))
    assert in_proportion(divided, (0, 1)) == pytest.approx((5, 60))


def test_weights_of_nothing_are_equal_weights():
    divided = pot("things", 10, floors=(0, 0), caps=(90, 60))
    assert in_proportion(divided, (0, 0)) == pytest.approx((5, 5))
