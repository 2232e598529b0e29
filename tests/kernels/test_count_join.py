"""The kernels of count windows against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.kernels.count_join import NEVER, newest_before, partition_exits

EXAMPLES = settings(max_examples=200, deadline=None, derandomize=True)


@EXAMPLES
@given(st.lists(st.integers(0, 3), max_size=20), st.integers(1, 4))
def test_a_tuple_leaves_with_its_nth_successor_in_the_same_partition(slots, rows):
    numbers = [3 * n + 1 for n in range(len(slots))]
    found = partition_exits(np.array(slots, np.int64), np.array(numbers, np.int64), rows, 4)
    for at, slot in enumerate(slots):
        after = [n for n, other in zip(numbers, slots, strict=True) if other == slot]
        after = [n for n in after if n > numbers[at]]
        assert found[at] == (after[rows - 1] if len(after) >= rows else NEVER)


@EXAMPLES
@given(
    st.sets(st.integers(0, 30), max_size=12),
    st.lists(st.integers(0, 31), max_size=6),
    st.integers(1, 4),
)
def test_the_oldest_tuple_there_is_the_nth_newest_before_the_one_that_enters(
    numbers, entering, rows
):
    ordered = sorted(numbers)
    found = newest_before(np.array(ordered, np.int64), np.array(entering, np.int64), rows)
    for at, enters in enumerate(entering):
        before = [n for n in ordered if n < enters]
        assert found[at] == (before[-rows] if len(before) >= rows else 0)
