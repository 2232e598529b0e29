"""Read-ahead, batch by batch or in parts that are put together, against all times at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.feeds.promises import ReadAhead
from windrow.schema import MIN_TICK

pytestmark = pytest.mark.law

TIMES = st.lists(st.one_of(st.integers(-3, 9), st.just(MIN_TICK)), max_size=14)


def promised(times, rows):
    """The greatest of the leasts of so many times in a row."""
    known = [time for time in times if time > MIN_TICK]
    stretches = range(len(known) - rows + 1)
    return max((min(known[i : i + rows]) for i in stretches), default=MIN_TICK)


def taken(times, rows):
    return ReadAhead().then_times(np.array(times, np.int64), rows)


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(TIMES, st.sets(st.integers(0, 14), max_size=6), st.integers(1, 5))
def test_parts_put_together_promise_what_the_whole_does(times, cuts, rows):
    ends = [0, *sorted(cut for cut in cuts if cut < len(times)), len(times)]
    parts = [taken(times[start:stop], rows) for start, stop in pairwise(ends)]
    so_far = remembered = ReadAhead()
    for number, part in enumerate(parts):
        so_far = so_far.then(part, rows)
        # Between micro-batches the first times are forgotten.
        remembered = ReadAhead(remembered.reached, last=remembered.last).then(part, rows)
        assert so_far.reached == remembered.reached == promised(times[: ends[number + 1]], rows)
    assert so_far == taken(times, rows)
    later = ReadAhead()
    for part in reversed(parts):
        later = part.then(later, rows)
    assert later == so_far
    assert so_far.has_times == any(time > MIN_TICK for time in times)
