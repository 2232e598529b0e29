from __future__ import annotations

import re
from datetime import timedelta

import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import BindError
from windrow.plan.units import show_ticks, to_ticks


@pytest.mark.parametrize(
    ("value", "time_type", "ticks"),
    [
        ("5 seconds", "timestamp", 5_000_000),
        ("1 hour 30 minutes", "timestamp_ntz", 5_400_000_000),
        ("0.5 milliseconds", "timestamp", 500),
        ("2 weeks", "date", 14),
        ("48 hours", "date", 2),
        (timedelta(milliseconds=250), "timestamp", 250_000),
        (timedelta(days=3), "date", 3),
        (7, "bigint", 7),
        (0, "timestamp", 0),
    ],
)
def test_a_length_becomes_ticks(value, time_type, ticks):
    assert to_ticks(value, time_type) == ticks


@pytest.mark.parametrize(
    ("value", "time_type", "condition"),
    [
        ("1 month", "timestamp", "calendar-window"),
        ("2 years", "date", "calendar-window"),
        ("5 fortnights", "timestamp", "unknown-unit"),
        ("5 seconds", "bigint", "interval-on-bigint"),
        ("-5 seconds", "timestamp", "negative-window"),
        (-1, "bigint", "negative-window"),
        ("0.1 microseconds", "timestamp", "fractional-window"),
        ("36 hours", "date", "fractional-window"),
        ("soon", "timestamp", "bad-duration"),
        ("5 seconds!", "timestamp", "bad-duration"),
        ("", "timestamp", "bad-duration"),
        (True, "bigint", "bad-duration"),
    ],
)
def test_a_length_that_is_none_is_refused(value, time_type, condition):
    with pytest.raises(BindError, match=re.escape(f"[{condition}]")):
        to_ticks(value, time_type)


@pytest.mark.parametrize(
    ("ticks", "time_type", "shown"),
    [
        (5_400_000_000, "timestamp", "1h 30m"),
        (250_000, "timestamp", "250ms"),
        (86_400_000_000 + 1, "timestamp_ntz", "1d 1us"),
        (3, "date", "3d"),
        (0, "date", "0d"),
        (0, "timestamp", "0s"),
        (-60_000_000, "timestamp", "-1m"),
        (42, "bigint", "42"),
        (-42, "bigint", "-42"),
    ],
)
def test_ticks_are_shown_as_people_read_them(ticks, time_type, shown):
    assert show_ticks(ticks, time_type) == shown


UNITS = {"d": "day", "h": "hour", "m": "minute", "s": "second", "ms": "millisecond"}


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(st.integers(0, 10**15))
def test_what_is_shown_reads_back_as_the_same_ticks(ticks):
    units = {**UNITS, "us": "microsecond"}
    words = re.sub(
        r"(\d+)([a-z]+)", lambda m: f"{m[1]} {units[m[2]]}", show_ticks(ticks, "timestamp")
    )
    assert to_ticks(words, "timestamp") == ticks
