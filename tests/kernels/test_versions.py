"""Versions and changelogs against plain walks over the events."""

from __future__ import annotations

import numpy as np
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.kernels.versions import OPENING, Events, changes_of, mark_changed, versions_of

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)

SLOTS = 3

ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 4), st.integers(0, SLOTS - 1)), max_size=12
)


def events_of(rows, already):
    """Rows as (time, length, slot); the first `already` of them came before and only go."""
    coming = sorted(range(already, len(rows)), key=lambda i: rows[i][0])
    order = [*coming, *range(already)]
    times = np.array([rows[i][0] for i in coming], np.int64)
    ends = np.array([rows[i][0] + rows[i][1] for i in order], np.int64)
    going = np.argsort(ends, kind="stable")
    slots = np.array([rows[i][2] for i in order], np.int64)
    return Events(times, ends[going], going, slots, np.ones(len(slots), np.int8))


def walk(events):
    """(instant, slot) to the rows that come and go there, in plain Python."""
    found = {}
    for row, time in enumerate(events.coming_times.tolist()):
        found.setdefault((time, int(events.slots[row])), []).append((row, 1))
    for row, time in zip(events.going_rows.tolist(), events.going_times.tolist(), strict=True):
        found.setdefault((time, int(events.slots[row])), []).append((row, -1))
    return found


@EXAMPLES
@given(ROWS, st.integers(0, 3))
def test_each_group_has_one_version_per_instant_with_all_its_events(rows, already):
    events = events_of(rows, min(already, len(rows)))
    versions = versions_of(events, np.full(SLOTS, OPENING))
    found, latest = {}, {}
    for v in range(len(versions.slots)):
        own = slice(versions.first_event[v], versions.first_event[v + 1])
        slot, time = int(versions.slots[v]), int(versions.times[v])
        pairs = zip(versions.event_rows[own], versions.event_signs[own], strict=True)
        assert versions.previous[v] == latest.get(slot, OPENING)
        if slot not in latest:
            assert own.start == own.stop
        else:
            found[time, slot] = sorted((int(row), int(sign)) for row, sign in pairs)
        latest[slot] = v
    assert found == {at: sorted(pairs) for at, pairs in walk(events).items()}
    assert list(versions.times) == sorted(versions.times)


@EXAMPLES
@given(ROWS, st.data())
def test_the_changelog_is_what_differs_deletes_first(rows, data):
    versions = versions_of(events_of(rows, 0), np.full(SLOTS, OPENING))
    count = len(versions.slots)
    numbers = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    exists = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    changed = np.zeros(count, np.bool_)
    mark_changed(np.array(numbers, np.int64), versions.previous, changed)
    changes = changes_of(versions, np.array(exists, np.bool_), changed)

    expected = []
    for v in range(count):
        before = versions.previous[v]
        if before == OPENING:
            continue
        old = numbers[before] if exists[before] else None
        new = numbers[v] if exists[v] else None
        if old != new and old is not None:
            expected.append((int(versions.times[v]), -1, int(before)))
        if old != new and new is not None:
            expected.append((int(versions.times[v]), 1, v))
    expected.sort(key=lambda change: change[:2])
    found = zip(changes.times, changes.signs, changes.versions, strict=True)
    assert [tuple(map(int, change)) for change in found] == expected
