"""Response times: what is measured, and how it is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from sessions import session

import windrow
from windrow.run.progress import Progress
from windrow.run.response import NONE_YET, Response


def test_changes_are_counted_from_when_they_became_true():
    found = NONE_YET.after(np.array([3, 5]), 7).after(np.array([], np.int64), 8)
    assert found == Response(changes=2, total=6, maximum=4)
    assert found.after(np.array([9]), 10).as_dict() == {
        "changes": 3,
        "average": 7 / 3,
        "maximum": 4,
    }
    assert NONE_YET.average == 0


@pytest.mark.parametrize(
    ("time_type", "shown"),
    [
        ("bigint", "response time 2.5 on average, 4 at most"),
        ("date", "response time 2d on average, 4d at most"),
        ("timestamp", "response time 2us on average, 4us at most"),
    ],
)
def test_response_times_are_shown_in_the_units_of_time(time_type, shown):
    response = Response(changes=2, total=5, maximum=4)
    progress = Progress(0, 1, 2, 7, time_type, response=response)
    assert shown in progress.line()
    assert progress.as_dict()["response"] == {"changes": 2, "average": 2.5, "maximum": 4}
    assert "response" not in Progress(0, 1, 2, 7, time_type, response=NONE_YET).line()


def test_only_a_changelog_has_them():
    w = session({"a": {"at": [1, 2]}}, time="at")
    result = w.sql("SELECT p.at FROM a p, a q WINDOW = 1")
    assert result.to_arrow().num_rows
    assert result.response is None
    assert result.progress.as_dict()["response"] is None


def test_where_time_is_given_on_arrival_they_end_with_the_clock():
    instants = iter(datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=s) for s in range(100))
    session = windrow.Session(clock=lambda: next(instants))
    schema = pa.schema([("x", pa.int64())])
    batches = [pa.record_batch({"x": [1]}, schema) for _ in range(3)]
    session.stream("a", batches, time=windrow.ON_ARRIVAL, schema=schema)
    result = session.sql("SELECT COUNT(*) AS n FROM a [RANGE INTERVAL '1' HOUR]")
    result.to_arrow()
    # The clock is read twice a batch. The changes of each of the first two come with the next.
    assert result.response == Response(changes=3, total=6_000_000, maximum=2_000_000)
