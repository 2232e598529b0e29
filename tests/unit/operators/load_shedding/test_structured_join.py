"""The structure of a window that sheds is a list to the outside, however its rows come and go."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.kernels.bew_period import FILLED, LOOKUPS, PROBE, TOUCHED, FoundMatches, no_progress
from windrow.kernels.structures.sample import ProbeRanges
from windrow.operators.load_shedding.structured_join import MOST_GONE, Sample, StructuredWindow

pytestmark = pytest.mark.law

NAMES = ("buffer", "hash", "btree", "ttree")
KEYS = st.integers(-3, 3)
STEPS = st.lists(
    st.tuples(
        st.lists(KEYS, max_size=8),  # the keys of rows that come
        st.integers(0, 6),  # how many of the oldest go
        st.floats(0, 1),  # the chance that the others are kept with
    ),
    max_size=8,
)


def found_by(window: StructuredWindow, keys: tuple[int, int], period: tuple[int, int], room: int):
    """The places that one probe finds, with room for so many at once; and what it counted."""
    asked = ProbeRanges(*(np.array([end]) for end in (*keys, *period)))
    found = FoundMatches(*(np.empty(room, np.int64) for _ in range(3)))
    progress, places = no_progress(0), []
    while progress[PROBE] < 1:
        progress[FILLED] = 0
        window.probe(asked, found, progress)
        places += found.rows[: progress[FILLED]].tolist()
    return Counter(places), progress


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=share_of(25), deadline=None, derandomize=True)
@given(steps=STEPS, keys=st.tuples(KEYS, KEYS), period=st.tuples(*[st.integers(0, 30)] * 2))
def test_a_probe_finds_the_rows_of_a_list(name, steps, keys, period):
    window, dice = StructuredWindow(name, 3), np.random.default_rng(1)
    rows: list[tuple[int, float, int]] = []  # time, draw, key
    for number, (new, old, chance) in enumerate(steps):
        rows = [row for row in rows[old:] if row[1] < chance]
        rows += [(4 * number + n // 2, dice.random(), key) for n, key in enumerate(new)]
        places = np.arange(len(rows)) * 2 + number  # rows are elsewhere each time
        sample = Sample(
            np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows]), places
        )
        of_place = {int(place): row[2] for place, row in zip(places, rows, strict=True)}
        window.follow(sample, lambda at, of=of_place: np.array([of[int(one)] for one in at]))
        assert len(rows) <= window.entries <= (1 + MOST_GONE) * len(rows)
        wanted = Counter(
            int(place)
            for place, (time, _, key) in zip(places, rows, strict=True)
            if keys[0] <= key <= keys[1] and period[0] <= time <= period[1]
        )
        found, progress = found_by(window, keys, period, room=2)
        assert found == wanted
        assert progress[LOOKUPS] == 1
        if name.endswith("tree") and keys[0] <= keys[1] and period[0] <= period[1]:
            in_range = sum(keys[0] <= row[2] <= keys[1] for row in rows)
            assert progress[TOUCHED] <= in_range + window.entries - len(rows)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_structure_takes_does_not_grow_while_its_window_slides(name):
    window, dice, taken = StructuredWindow(name, 10), np.random.default_rng(2), []
    times = draws = np.zeros(0)
    for pane in range(120):
        times = np.concatenate([times, np.full(30, pane)])
        draws = np.concatenate([draws, dice.random(30)])
        kept = (times > pane - 8) & (draws < 0.5 + 0.3 * np.sin(pane))
        times, draws = times[kept], draws[kept]
        sample = Sample(times.astype(np.int64), draws, np.arange(len(times)))
        window.follow(sample, lambda places: places % 7)
        taken.append(window.nbytes)
    assert max(taken[60:]) < 1.05 * max(taken[:60])
    window.follow(Sample(times[:0].astype(np.int64), draws[:0], np.arange(0)), np.array)
    assert window.entries == 0
