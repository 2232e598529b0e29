"""The least chance since an instant, and the chance that draws so many."""

from __future__ import annotations

import numpy as np
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.load_shedding.draws import Chances, chance_of


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=12))
def test_a_tuple_has_the_least_chance_of_its_stay(chances):
    kept = Chances()
    for pane, chance in enumerate(chances):
        kept.add(pane * 10, chance)
        times = np.arange(0, pane * 10 + 10, 5)
        least = [min(chances[time // 10 : pane + 1]) for time in times]
        assert kept.since(times).tolist() == least


def test_what_nobody_asks_for_is_forgotten():
    kept = Chances([0, 10, 20], [0.1, 0.2, 0.3])
    kept.forget(19)
    assert kept.starts == [10, 20]
    assert kept.since(np.array([15, 25])).tolist() == [0.2, 0.3]


def test_a_chance_draws_no_more_than_there_is_room_for():
    draws = np.array([0.5, 0.1, 0.9, 0.3])
    assert [int((draws < chance_of(draws, most)).sum()) for most in range(6)] == [0, 1, 2, 3, 4, 4]
    assert chance_of(draws, 4) == 1
