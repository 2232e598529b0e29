"""The two probing kernels of the window join, and the period, against plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from case_share import share_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from windrow.kernels.bew_hash import ROW, TIME, WORD, buckets_of, probe_buckets
from windrow.kernels.bew_period import (
    FILLED,
    LEAST,
    MOST,
    PROBE,
    TOUCHED,
    FoundMatches,
    Probes,
    before_start,
    no_progress,
    periods,
)
from windrow.kernels.bew_scan import Queue, Wanted, scan_queue

words = st.integers(0, 5) | st.integers(0, 2**64 - 1)
ticks = st.integers(-20, 20)
stored_rows = st.lists(st.tuples(ticks, words), max_size=40).map(
    lambda rows: sorted(rows, key=lambda row: row[0])
)
looked_for = st.lists(st.tuples(words, ticks, st.integers(-2, 15)), max_size=30)
EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)


def probes_of(looked) -> Probes:
    return Probes(
        np.array([word for word, _, _ in looked], np.uint64),
        np.array([low for _, low, _ in looked], np.int64),
        np.array([low + width for _, low, width in looked], np.int64),
    )


def all_matches(look_up, probes: Probes, room: int) -> list[tuple[int, int, int]]:
    """What a kernel finds, through a room so small that it must stop and go on."""
    found = FoundMatches(*(np.empty(room, np.int64) for _ in range(3)))
    matches = []
    progress = no_progress(0)
    while progress[PROBE] < len(probes.words):
        look_up(probes, found, progress)
        filled = int(progress[FILLED])
        assert filled == room or progress[PROBE] == len(probes.words)
        matches += list(zip(*(part[:filled].tolist() for part in found), strict=True))
        progress[FILLED] = 0
    return matches


def expected_matches(rows, looked, alive_from: int) -> list[tuple[int, int, int]]:
    return [
        (n, row, time)
        for n, (wanted, low, width) in enumerate(looked)
        for row, (time, word) in enumerate(rows)
        if word == wanted and max(low, alive_from) <= time <= low + width
    ]


@pytest.mark.law
@EXAMPLES
@given(stored_rows, looked_for, st.integers(1, 4), st.integers(-25, 25))
def test_buckets_give_the_rows_with_the_word_within_the_period(rows, looked, room, alive_from):
    index = buckets_of(
        np.array([word for _, word in rows], np.uint64),
        np.array([time for time, _ in rows], np.int64),
    )
    alive = [time for time, _ in rows if time >= alive_from]
    assume(alive)
    span = (min(alive), max(alive))

    def look_up(probes, found, progress):
        probe_buckets(index, probes, span, 1000, found, progress)

    actual = all_matches(look_up, probes_of(looked), room)
    wanted = expected_matches(rows, looked, alive_from)
    assert sorted(actual) == sorted((n, 1000 + row, time) for n, row, time in wanted)


@st.composite
def scans(draw):
    """Stored rows with values, and probes that ask for some of them; perhaps with keys and NULLs."""
    rows, looked = draw(stored_rows), draw(looked_for)
    lines = draw(st.integers(0, 3))
    value = st.integers(-3, 3) | st.sampled_from([LEAST, MOST])
    numbers = st.lists(st.lists(value, min_size=lines, max_size=lines), min_size=1)
    values = draw(numbers.map(lambda some: [some[n % len(some)] for n in range(len(rows))]))
    asked = draw(
        st.lists(
            st.tuples(
                st.lists(value, min_size=len(looked), max_size=len(looked)),
                st.lists(value, min_size=len(looked), max_size=len(looked)),
                st.booleans(),
            ),
            min_size=lines,
            max_size=lines,
        )
    )
    flags = st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))
    return rows, looked, values, asked, draw(flags | st.none()), draw(st.booleans())


@pytest.mark.law
@EXAMPLES
@given(scans(), st.integers(1, 4), st.integers(0, 5))
def test_a_scan_gives_the_rows_of_the_period_that_pass_the_tests_and_touches_no_others(
    scan, room, skip
):
    rows, looked, values, asked, valid, has_keys = scan
    skip = min(skip, len(rows))
    queue = Queue(
        np.array([time for time, _ in rows], np.int64),
        skip,
        np.array([word for _, word in rows] if has_keys else [], np.uint64),
        np.array(values, np.int64).reshape(len(rows), len(asked)).T.copy(),
        np.array(valid or [], np.bool_),
    )
    tests = Wanted(
        np.array([least for least, _, _ in asked], np.int64).reshape(len(asked), len(looked)),
        np.array([most for _, most, _ in asked], np.int64).reshape(len(asked), len(looked)),
        np.array([outside for _, _, outside in asked], np.bool_),
    )
    touched = []

    def look_up(probes, found, progress):
        before = int(progress[TOUCHED])
        scan_queue(queue, probes, tests, 1000, found, progress)
        touched.append(int(progress[TOUCHED]) - before)

    in_period = [
        (n, row, time)
        for n, (_, low, width) in enumerate(looked)
        for row, (time, _) in enumerate(rows)
        if row >= skip and low <= time <= low + width
    ]
    wanted = [
        (n, 1000 + row, time)
        for n, row, time in in_period
        if (not has_keys or rows[row][1] == looked[n][0])
        and (valid is None or valid[row])
        and all(
            (least[n] <= values[row][line] <= most[n]) != outside
            for line, (least, most, outside) in enumerate(asked)
        )
    ]
    assert all_matches(look_up, probes_of(looked), room) == wanted
    assert sum(touched) == len(in_period)


@pytest.mark.law
@EXAMPLES
@given(stored_rows)
def test_buckets_hold_every_row_once_and_in_time_order(rows):
    index = buckets_of(
        np.array([word for _, word in rows], np.uint64),
        np.array([time for time, _ in rows], np.int64),
    )
    starts = (index.heads >> np.uint64(32)).astype(np.int64)
    assert starts[0] == 0
    assert starts[-1] == len(rows)
    assert sorted(index.entries[:, ROW].tolist()) == list(range(len(rows)))
    for word, time, row in index.entries.tolist():
        assert (time, word % 2**64) == rows[row]
    for start, stop in itertools.pairwise(starts):
        assert (np.diff(index.entries[start:stop, TIME]) >= 0).all()
    homes = [set(index.entries[a:b, WORD].tolist()) for a, b in itertools.pairwise(starts)]
    assert sum(map(len, homes)) == len({word for _, word in rows})


edge = st.integers(LEAST, LEAST + 3) | st.integers(MOST - 3, MOST) | ticks
bound = st.integers(-(2**62), 2**62) | st.integers(-5, 5)


@pytest.mark.law
@EXAMPLES
@given(st.lists(st.tuples(edge, bound, bound), min_size=1, max_size=4))
def test_a_period_is_where_all_chosen_tuples_allow_the_next(chosen):
    low, high = periods(
        np.array([[time] for time, _, _ in chosen], np.int64),
        np.array([back for _, back, _ in chosen], np.int64),
        np.array([on for _, _, on in chosen], np.int64),
    )
    clamp = lambda time: max(LEAST, min(MOST, time))  # noqa: E731
    assert low[0] == max(clamp(time - back) for time, back, _ in chosen)
    assert high[0] == min(clamp(time + on) for time, _, on in chosen)


@pytest.mark.parametrize(("is_strict", "cut"), [(True, 9), (False, 10)])
def test_new_rows_are_cut_off_at_the_start_tuple(is_strict, cut):
    high = np.array([20, 3], np.int64)
    start = np.array([10, 10], np.int64)
    assert before_start(high, start, is_strict).tolist() == [cut, 3]


def test_a_probe_does_not_touch_the_rows_of_a_bucket_outside_its_period():
    # One key with a thousand rows: a period of three of them touches three.
    index = buckets_of(np.zeros(1000, np.uint64), np.arange(1000))
    found = FoundMatches(*(np.empty(100, np.int64) for _ in range(3)))
    progress = no_progress(0)
    probes = Probes(np.zeros(1, np.uint64), np.array([500]), np.array([502]))
    probe_buckets(index, probes, (0, 999), 0, found, progress)
    assert progress[FILLED] == progress[TOUCHED] == 3
