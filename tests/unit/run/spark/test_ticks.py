"""Spark's watermark to ticks: nothing closes early, and 0 means none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.run.spark.fake_worker import shifted_millis

from windrow.run.spark.ticks import (
    BIGINT_REACH,
    SHIFT_DAYS,
    lateness_text,
    promised_ticks,
    watermark_ticks,
)
from windrow.schema import MAX_TICK, MIN_TICK

YEAR_1 = -62_135_596_800_000_000
YEAR_9999 = 253_402_300_799_999_999
REACH = {
    "timestamp": (YEAR_1, YEAR_9999),
    "timestamp_ntz": (YEAR_1, YEAR_9999),
    "date": (YEAR_1 // 86_400_000_000, YEAR_9999 // 86_400_000_000),
    "bigint": (1 - BIGINT_REACH, BIGINT_REACH - 1),
}


def test_the_shift_is_2000_years() -> None:
    moved = datetime(4020, 3, 1, tzinfo=UTC) - datetime(2020, 3, 1, tzinfo=UTC)
    assert moved.days == SHIFT_DAYS


def test_no_watermark_is_minus_infinity() -> None:
    assert watermark_ticks(0, "timestamp") == MIN_TICK


@pytest.mark.law
@pytest.mark.parametrize("time_type", REACH)
@given(data=st.data())
def test_a_timer_goes_off_exactly_when_the_watermark_reaches_the_tick(
    time_type: str, data: st.DataObject
) -> None:
    tick = data.draw(st.integers(*REACH[time_type]))
    millis = shifted_millis(tick, time_type)
    assert millis > 0
    assert watermark_ticks(millis, time_type) >= tick
    assert watermark_ticks(millis - 1, time_type) < tick


@pytest.mark.law
@pytest.mark.parametrize("time_type", REACH)
@given(data=st.data())
def test_what_a_stream_promises_is_what_spark_will_say(time_type: str, data: st.DataObject) -> None:
    low, high = REACH[time_type]
    newest = data.draw(st.integers(low + 10_000, high))
    lateness = data.draw(st.integers(0, 9_999))
    millis = shifted_millis(newest, time_type)
    if watermark_ticks(millis, time_type) > newest:
        millis -= 1  # Spark rounds a row's time down to milliseconds
    told = millis - int(lateness_text(lateness, time_type).split()[0])
    promised = promised_ticks(newest, lateness, time_type)
    assert promised == watermark_ticks(told, time_type) <= newest - lateness


def test_a_stream_without_rows_promises_nothing() -> None:
    assert promised_ticks(MIN_TICK, 5, "timestamp") == MIN_TICK


@pytest.mark.parametrize("time_type", REACH)
def test_the_ends_of_time_have_timers(time_type: str) -> None:
    assert shifted_millis(MIN_TICK, time_type) == 1
    assert shifted_millis(MAX_TICK, time_type) == MAX_TICK


@pytest.mark.parametrize(
    ("lateness", "time_type", "text"),
    [
        (1, "timestamp", "1"),
        (1_001, "timestamp_ntz", "2"),
        (2, "date", "172800000"),
        (7, "bigint", "7"),
    ],
)
def test_lateness_is_rounded_up_to_milliseconds(lateness: int, time_type: str, text: str) -> None:
    assert lateness_text(lateness, time_type) == f"{text} milliseconds"
