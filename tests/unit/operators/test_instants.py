from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.columns.arrow_types import instants, less_delay, show_instant, ticks_of
from windrow.schema import MAX_TICK, MIN_TICK

TYPES = {
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "date": pa.date32(),
    "bigint": pa.int64(),
}


@pytest.mark.parametrize("time_type", TYPES)
def test_ticks_become_instants_of_the_time_type_and_back(time_type):
    ticks = np.array([-3, 0, 19_000], np.int64)
    shown = instants(ticks, time_type)
    assert shown.type == TYPES[time_type]
    assert ticks_of(shown).tolist() == ticks.tolist()


@pytest.mark.parametrize("time_type", TYPES)
def test_a_null_time_is_the_least_tick(time_type):
    assert ticks_of(pa.array([1, None]).cast(pa.int32()).cast(pa.int64())).tolist() == [1, MIN_TICK]
    column = pa.array([None, None], TYPES[time_type])
    assert ticks_of(column).tolist() == [MIN_TICK, MIN_TICK]


def test_a_slice_of_a_column_gives_its_own_ticks():
    days = pa.array([dt.date(1970, 1, 2), None, dt.date(1970, 1, 4)])
    assert ticks_of(days.slice(1)).tolist() == [MIN_TICK, 3]


@pytest.mark.parametrize(
    ("tick", "time_type", "text"),
    [
        (0, "timestamp", "1970-01-01 00:00:00"),
        (1_500_000, "timestamp_ntz", "1970-01-01 00:00:01.5"),
        (10_000_000, "timestamp", "1970-01-01 00:00:10"),
        (-1, "date", "1969-12-31"),
        (42, "bigint", "42"),
        (MIN_TICK, "timestamp", "-infinity"),
        (MAX_TICK, "date", "infinity"),
    ],
)
def test_instants_are_shown_as_people_write_them(tick, time_type, text):
    assert show_instant(tick, time_type) == text


@pytest.mark.parametrize(
    ("watermark", "delay", "expected"),
    [(10, 3, 7), (MIN_TICK, 3, MIN_TICK), (MAX_TICK, 3, MAX_TICK), (MIN_TICK + 1, 3, MIN_TICK)],
)
def test_a_delay_is_subtracted_from_every_watermark_but_the_ends_of_time(
    watermark, delay, expected
):
    assert less_delay(watermark, delay) == expected
