"""What a running query notices of its streams."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sessions import session

from windrow.physical.estimates import CHANGED
from windrow.run.local.stream_statistics import StreamStatistics


def batch(times, keys=None):
    return pa.record_batch(
        {
            "at": pa.array(times, pa.int64()),
            "k": pa.array(keys or [0] * len(times), pa.int64()),
        }
    )


def observed(**planned: float):
    return StreamStatistics({"s": "at"}, planned)


def test_a_rate_is_known_from_the_second_batch_on():
    seen = observed()
    seen.take("s", batch([0, 10]))
    assert seen.rate("s") is None
    seen.take("s", batch([15, 20, 30]))
    assert seen.rate("s").value == pytest.approx(3 / 20)
    assert seen.rate("s").source == "the micro-batches so far"


def test_a_large_first_batch_tells_a_rate():
    seen = observed()
    seen.take("s", batch(list(range(0, 1_000, 5))))
    assert seen.rate("s").value == pytest.approx(200 / 995)
    seen.take("s", batch([1_995]))
    assert seen.rate("s").value == pytest.approx(1 / 1_000)


def test_batches_at_one_instant_tell_no_rate():
    seen = observed()
    seen.take("s", batch([7]))
    seen.take("s", batch([7, 7]))
    assert seen.rate("s") is None


def test_old_batches_are_forgotten():
    seen = observed()
    for at in range(0, 100, 10):
        seen.take("s", batch([at]))
    for at in range(100, 200, 10):
        seen.take("s", batch([at] * 50))
    assert seen.rate("s").value == pytest.approx(5)


def test_rows_without_a_time_are_not_looked_at():
    seen = observed()
    seen.take("s", batch([None, None]))
    seen.take("s", batch([0]))
    seen.take("s", batch([10, None]))
    assert seen.rate("s").value == pytest.approx(0.2)


def test_a_rate_that_the_plan_was_not_made_for_is_a_change():
    seen = observed()
    seen.take("s", batch([0]))
    assert not seen.has_changed
    seen.take("s", batch([10]))
    assert seen.has_changed
    seen.planned()
    assert not seen.has_changed


@pytest.mark.parametrize(
    ("factor", "has_changed"), [(CHANGED * 1.1, True), (CHANGED * 0.9, False), (1 / CHANGED / 1.1, True)]
)  # fmt: skip
def test_a_change_is_by_more_than_the_factor(factor, has_changed):
    seen = observed(s=0.1 / factor)
    seen.take("s", batch([0]))
    seen.take("s", batch([10]))
    assert seen.has_changed is has_changed


def test_keys_are_counted_in_the_last_batches():
    seen = observed()
    seen.take("s", batch([1, 2], [5, 6]))
    seen.take("s", batch([3, 4, 5], [5, 5, 5]))
    assert seen.different("s", "k").value == 2
    assert seen.rows_per_batch("s") == 3


def test_keys_of_large_batches_are_estimated_from_some_of_their_rows():
    seen = observed()
    for number in range(3):
        rows = range(number * 20_000, (number + 1) * 20_000)
        seen.take("s", batch(list(rows), [row * 7919 % 500 for row in rows]))
    assert seen.different("s", "k").value == pytest.approx(500, rel=0.1)


def batches(rows, ticks):
    """Eight batches of so many rows each, one key for all."""
    return [
        batch([number * ticks + row * ticks // rows for row in range(rows)], list(range(rows)))
        for number in range(8)
    ]


COMPARED = "SELECT a.k, b.k AS o FROM a, b WHERE b.k + 38 < a.k WINDOW = 10000"
"""Open to one side: a scan, unless it is known to leave little. It leaves one pair of each batch."""


def test_a_query_goes_on_by_trees_once_it_knows_its_rates():
    w = session({"a": batches(40, 100), "b": batches(40, 100)}, time="at")
    result = w.sql(COMPARED)
    assert result.progress.plans == {"WJoin a, b": "bew-nested-loop"}
    assert result.to_arrow().num_rows == 8 * 8
    assert "tree" in result.progress.plans["WJoin a, b"]
    assert result.progress.plan_changes == 1
    assert "(the micro-batches so far)" in result.explain()
    assert "changes of plan: 1" in result.progress.line()


def test_a_plan_that_was_asked_for_stays():
    w = session({"a": batches(40, 100), "b": batches(40, 100)}, time="at")
    band = "SELECT a.k, b.k AS o FROM a, b WHERE abs(a.k - b.k) < 1 WINDOW = 10000"
    result = w.sql(band, algorithm="bew")
    result.to_arrow()
    assert result.progress.plans == {"WJoin a, b": "bew-nested-loop"}
    assert result.progress.plan_changes == 0


def test_numbers_that_were_assumed_are_looked_up_in_the_batches():
    w = session({name: batches(40, 100) for name in "ab"}, time="at", rate=0.4)
    result = w.sql(COMPARED)
    assert "share(b.k + 38 < a.k) = 0.33 (assumed)" in result.explain()
    result.to_arrow()
    assert "tree" in result.progress.plans["WJoin a, b"]
    assert result.progress.plan_changes == 1
