"""Rows that are alive together with a probe, against a comparison with every row."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from case_share import share_of
from cases.tape import drawn
from hypothesis import assume, given, settings
from twins.alive_rows import copies, edges
from twins.snapshot_join import Change

from windrow.kernels.alive_index import AliveProbes, RowTests, alive_index, next_before, probe_alive
from windrow.kernels.bew_hash import buckets_of
from windrow.kernels.bew_period import FILLED, PROBE, TOUCHED, FoundMatches, no_progress
from windrow.kernels.bew_scan import Queue, Wanted
from windrow.kernels.retractions import NOBODY, stretches, taken_by

EXAMPLES = settings(max_examples=share_of(150), deadline=None, derandomize=True)
NEVER = 2**63 - 1
WORDS = (0, 1, 1 << 63, (1 << 63) + 5)


def rows_of(random, count: int) -> list[tuple[int, int, int, int]]:
    """Start, end, word and a value, in the order of ends."""
    rows = []
    for _ in range(random.randrange(count)):
        start = random.randrange(30)
        end = random.choice([start + 1 + random.randrange(8), NEVER])
        rows.append((start, end, random.choice(WORDS), random.randrange(4)))
    return sorted(rows, key=lambda row: row[1])


def draw(random):
    stored, probes = rows_of(random, 40), rows_of(random, 20)
    room, dead = 1 + random.randrange(5), random.randrange(12)
    return stored, probes, room, dead, random.randrange(3)


@pytest.mark.law
@EXAMPLES
@given(drawn(draw, 512))
def test_a_probe_finds_the_rows_of_its_key_that_are_alive_with_it(case) -> None:
    stored, probes, room, dead, asks = case
    assume(stored and probes)
    starts, ends, values = (np.array([row[n] for row in stored], np.int64) for n in (0, 1, 3))
    words = np.array([row[2] for row in stored], np.uint64)
    index = alive_index(buckets_of(words, ends), starts)
    lines = min(asks, 1)
    queue = Queue(
        ends, 0, np.empty(0, np.uint64), values.reshape(1, -1)[:lines], np.empty(0, np.bool_)
    )
    wanted = np.array([[value for *_, value in probes]])[:lines]
    tests = RowTests(queue, Wanted(wanted, wanted + 1, np.full(lines, asks == 2)))
    looked = AliveProbes(
        np.array([word for _, _, word, _ in probes], np.uint64),
        np.array([start + 1 for start, *_ in probes]),
        np.array([30 if value == 3 else NEVER for *_, value in probes]),
        np.array([end for _, end, *_ in probes]),
    )
    found = FoundMatches(*(np.empty(room, np.int64) for _ in range(3)))
    matches = []
    progress = no_progress(0)
    while progress[PROBE] < len(probes):
        probe_alive(index, looked, tests, (dead, NEVER), 100, found, progress)
        filled = int(progress[FILLED])
        matches += list(zip(*(part[:filled].tolist() for part in found), strict=True))
        progress[FILLED] = 0
    expected = [
        (n, 100 + row, stored_end)
        for n, (start, end, word, value) in enumerate(probes)
        for row, (stored_start, stored_end, stored_word, stored_value) in enumerate(stored)
        if stored_word == word and stored_start < end and start < stored_end
        if stored_end >= dead and (value != 3 or stored_end <= 30)
        if not asks or (value <= stored_value <= value + 1) != (asks == 2)
    ]
    assert Counter(matches) == Counter(expected)


def test_versions_that_are_not_alive_are_not_touched_even_beside_one_that_always_is() -> None:
    """Of 10,000 versions of a row, and one row that never ends, a probe meets two."""
    count = 10_000
    starts = np.arange(count + 1)
    starts[-1] = 0
    ends = np.append(np.arange(1, count + 1), NEVER)
    words = np.zeros(count + 1, np.uint64)
    index = alive_index(buckets_of(words, ends), starts)
    at = np.arange(0, count, 7)
    looked = AliveProbes(np.zeros(len(at), np.uint64), at + 1, np.full(len(at), NEVER), at + 1)
    queue = Queue(ends, 0, words[:0], np.empty((0, count + 1), np.int64), np.empty(0, np.bool_))
    none = np.empty((0, len(at)), np.int64)
    tests = RowTests(queue, Wanted(none, none, np.empty(0, np.bool_)))
    found = FoundMatches(*(np.empty(4 * len(at), np.int64) for _ in range(3)))
    progress = no_progress(0)
    probe_alive(index, looked, tests, (0, NEVER), 0, found, progress)
    assert progress[FILLED] == progress[TOUCHED] == 2 * len(at)


@pytest.mark.law
@EXAMPLES
@given(drawn(lambda random: [random.randrange(9) for _ in range(random.randrange(1, 20))], 64))
def test_the_next_place_with_an_early_start(starts) -> None:
    index = alive_index(
        buckets_of(np.zeros(len(starts), np.uint64), np.arange(len(starts))), np.array(starts)
    )
    for at in range(len(starts) + 2):
        for until in range(10):
            expected = next((n for n in range(at, len(starts)) if starts[n] < until), None)
            place = int(next_before(index.tree, np.int64(at), np.int64(until)))
            assert place == expected if expected is not None else place >= len(starts)


@pytest.mark.law
@EXAMPLES
@given(
    drawn(
        lambda random: [
            (random.randrange(3), random.choice([1, -1])) for _ in range(random.randrange(30))
        ],
        128,
    )
)
def test_each_row_is_taken_back_once_by_an_equal_one_that_comes_later(rows) -> None:
    kinds, signs = (
        (np.array(c) for c in zip(*sorted(rows, key=lambda row: row[0]), strict=True))
        if rows
        else (np.zeros(0, np.int64),) * 2
    )
    partners = taken_by(kinds, signs.astype(np.int8)).tolist()
    for row, partner in enumerate(partners):
        if partner != NOBODY:
            assert partners[partner] == row
            assert kinds[partner] == kinds[row]
            assert signs[min(row, partner)] == 1
            assert signs[max(row, partner)] == -1
    for kind in range(3):
        there = taken = 0
        for sign in signs[kinds == kind]:
            taken += sign < 0 < there
            there = max(0, there + sign)
        assert taken == sum(p != NOBODY for p in np.array(partners)[kinds == kind]) // 2


@pytest.mark.law
@EXAMPLES
@given(
    drawn(
        lambda random: [
            (random.randrange(2), random.randrange(9), random.choice([1, -1, 2]))
            for _ in range(random.randrange(16))
        ],
        128,
    )
)
def test_stretches_have_as_many_copies_as_the_events_say(events) -> None:
    events = sorted(events)
    kinds, times, steps = (np.array([e[n] for e in events], np.int64) for n in range(3))
    found = stretches(kinds, times, steps, NEVER)
    changes = [
        Change((k,), t, e, s) for k, t, e, s in zip(*(c.tolist() for c in found), strict=True)
    ]
    given_ = [
        Change((k,), t, NEVER, 1 if s > 0 else -1) for k, t, s in events for _ in range(abs(s))
    ]
    for instant in edges(changes, given_):
        assert copies(changes, instant) == copies(given_, instant)
    assert all(change.time < change.end for change in changes)
    for kind in range(2):  # at no instant are there stretches of either sign
        own = [c for c in changes if c.values == (kind,)]
        for instant in edges(own):
            assert len({c.sign for c in own if c.time <= instant < c.end}) <= 1
