"""The log of matches: which rows it names, however they were logged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.match_log import NUMBER, Matched


def rows(numbers: list[int]) -> ChangeBatch:
    """Rows of some numbers; a row's time follows from its number."""
    times = np.array([number // 3 for number in numbers], np.int64)
    return ChangeBatch(pa.RecordBatch.from_pydict({NUMBER: pa.array(numbers, pa.int64())}), times)


numbers_of_a_push = st.lists(st.integers(0, 60) | st.integers(900, 909), min_size=1, unique=True)


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(st.lists(numbers_of_a_push, min_size=1, max_size=12))
def test_a_row_is_fresh_the_first_time_it_finds_a_match_and_never_again(pushed):
    matched = Matched(by_instant=False)
    seen: set[int] = set()
    for numbers in pushed:
        fresh = matched.note(rows(numbers)).tolist()
        assert [numbers[at] for at in fresh] == [n for n in numbers if n not in seen]
        seen.update(numbers)
    logged = [n for part in matched.log.slices for n in part.rows().columns[NUMBER].to_pylist()]
    assert sorted(logged) == sorted(seen)


def test_numbers_next_to_those_logged_are_not_taken_for_them():
    matched = Matched(by_instant=False)
    matched.note(rows([8, 16, 23]))
    asked = [0, 7, 8, 9, 15, 16, 17, 22, 23, 24, 31, 32, 1_000]
    assert [asked[at] for at in matched.note(rows(asked))] == [
        n for n in asked if n not in {8, 16, 23}
    ]
