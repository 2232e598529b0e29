"""The as-of kernels against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.kernels.asof import NOTHING, Timed, mark_tied, newest_at


def drawn(random: np.random.Generator, rows: int, slots: int) -> Timed:
    times = np.sort(random.integers(-8, 8, rows))
    return Timed(times, random.integers(0, slots, rows))


@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_each_left_row_finds_the_last_right_row_of_its_slot(*, seed: int, is_strict: bool) -> None:
    random = np.random.default_rng(seed)
    left, right = (drawn(random, int(random.integers(0, 30)), 4) for _ in range(2))
    before = np.array([NOTHING, 100, NOTHING, 101])
    newest = before.copy()
    found = newest_at(left, right, newest, is_strict)
    for time, slot, place in zip(left.times, left.slots, found, strict=True):
        known = [
            j
            for j in range(len(right.times))
            if right.slots[j] == slot
            and (right.times[j] < time or (right.times[j] == time and not is_strict))
        ]
        assert place == (known[-1] if known else before[slot])
    for slot in range(4):
        own = np.flatnonzero(right.slots == slot)
        assert newest[slot] == (own[-1] if len(own) else before[slot])


@pytest.mark.parametrize("seed", range(10))
def test_rows_of_one_time_and_slot_are_marked(seed: int) -> None:
    rows = drawn(np.random.default_rng(seed), 25, 3)
    is_tied = np.zeros(25, np.bool_)
    mark_tied(rows, np.full(3, NOTHING), is_tied)
    pairs = list(zip(rows.times.tolist(), rows.slots.tolist(), strict=True))
    assert is_tied.tolist() == [pairs.count(pair) > 1 for pair in pairs]
