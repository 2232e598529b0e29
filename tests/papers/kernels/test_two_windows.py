"""Two windows of so many tuples, each in any structure, find what two plain lists find."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest

from windrow.kernels.structures.window import STRUCTURES, filled_store
from windrow_papers.kernels.two_windows import TwoWindows

pytestmark = pytest.mark.slow

SIZES = {"buffer": 1, "hash": 3, "btree": 4, "ttree": 4}
"""Small parts, so that nodes split and merge within a few tuples."""


def matches_by_lists(windows, sides, keys):
    held = [deque(window) for window in windows]
    found = 0
    for side, key in zip(sides, keys, strict=True):
        found += held[1 - side].count(key)
        held[side].popleft()
        held[side].append(key)
    return found


@pytest.mark.law
@pytest.mark.parametrize(("a", "b"), list(itertools.product(STRUCTURES, repeat=2)))
def test_every_combination_finds_the_matches_of_plain_lists(a, b):
    dice = np.random.default_rng(11)
    windows = dice.integers(0, 40, 60), dice.integers(0, 40, 25)
    stores = [
        filled_store(STRUCTURES[kind], SIZES[kind], window)
        for kind, window in zip((a, b), windows, strict=True)
    ]
    join = TwoWindows(*stores)
    sides, keys = dice.integers(0, 2, 500), dice.integers(0, 40, 500)
    half = join.take(sides[:250], keys[:250])
    found = half + join.take(sides[250:], keys[250:])
    assert found == matches_by_lists([one.tolist() for one in windows], sides, keys.tolist())


def test_no_arrivals_find_nothing():
    store = filled_store(STRUCTURES["hash"], 3, np.arange(5))
    other = filled_store(STRUCTURES["ttree"], 3, np.arange(5))
    nothing = np.empty(0, np.int64)
    assert TwoWindows(store, other).take(nothing, nothing) == 0
