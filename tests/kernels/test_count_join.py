"""The kernels of count windows against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.kernels.count_join import (
    NEVER,
    newest_of_partition,
    partition_exits,
    partitioned,
)

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)


@EXAMPLES
@given(st.lists(st.integers(0, 3), max_size=20), st.integers(1, 4))
def test_a_tuple_leaves_with_its_nth_successor_in_the_same_partition(slots, rows):
    numbers = [3 * n + 1 for n in range(len(slots))]
    partitions = partitioned(np.array(slots, np.int64), 4)
    found = partition_exits(partitions, np.array(numbers, np.int64), rows)
    for at, slot in enumerate(slots):
        after = [n for n, other in zip(numbers, slots, strict=True) if other == slot]
        after = [n for n in after if n > numbers[at]]
        assert found[at] == (after[rows - 1] if len(after) >= rows else NEVER)


@EXAMPLES
@given(
    st.lists(st.integers(0, 3), max_size=20),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 45)), max_size=6),
    st.integers(1, 3),
)
def test_the_oldest_of_a_partition_is_its_nth_newest_before_the_one_that_enters(slots, asked, rows):
    numbers = [2 * n + 1 for n in range(len(slots))]
    found = newest_of_partition(
        partitioned(np.array(slots, np.int64), 4),
        np.array(numbers, np.int64),
        np.array([slot for slot, _ in asked], np.int64),
        np.array([number for _, number in asked], np.int64),
        rows,
    )
    for at, (slot, enters) in enumerate(asked):
        own = [n for n, other in zip(numbers, slots, strict=True) if other == slot and n < enters]
        assert found[at] == (own[-rows] if len(own) >= rows else 0)
