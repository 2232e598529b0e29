"""The baselines meet all tuples seen, old ones too, until they clean their buffers: counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from sessions import session

from windrow import ON_ARRIVAL, Session

pytestmark = pytest.mark.slow

BATCH, WINDOW, KEYS = 50, 10, 5
CLEANED_AFTER = 10_000
QUERY = f"SELECT a.ts FROM a, b WHERE a.k = b.k WINDOW = {WINDOW}"


def run(algorithm: str, tuples: int):
    """Runs over two streams with a tuple at every tick; gives the query, at its end."""
    w = session(
        {
            name: [
                pa.table(
                    {"ts": range(at, at + BATCH), "k": [t % KEYS for t in range(at, at + BATCH)]}
                )
                for at in range(0, tuples // 2, BATCH)
            ]
            for name in "ab"
        },
        time="ts",
    )
    result = w.sql(QUERY, algorithm=algorithm)
    held = [result.progress.stored for _ in result]
    # Rows are stored as long as the windows need them, whatever is met beside.
    assert max(held) <= 2 * (WINDOW + BATCH)
    return result


def comparisons(result) -> int:
    (figures,) = result.progress.operators.values()
    return figures["comparisons"]


@pytest.mark.parametrize(("algorithm", "share"), [("ripple", 1), ("xjoin", KEYS)])
def test_a_tuple_meets_all_that_were_seen_before_the_first_cleaning(algorithm, share):
    # Each pair of tuples meets once, when the second of them comes; by hash those of its key alone.
    assert comparisons(run(algorithm, 4_000)) == 2_000 * 2_000 // share


def test_after_a_cleaning_a_tuple_meets_what_could_still_be_met_and_what_came_since():
    # The 10,000th tuple is b's at tick 4,999. Its batch began with the watermark at 4,949, so that
    # ticks 4,939 to 4,999 of either stream stay; then come 1,000 more of each.
    kept = WINDOW + BATCH + 1
    after = (1_000 + kept) ** 2 - kept**2
    assert comparisons(run("ripple", CLEANED_AFTER + 2_000)) == (CLEANED_AFTER // 2) ** 2 + after


def test_old_tuples_are_met_though_none_is_stored_any_more():
    now = datetime(2024, 1, 1, tzinfo=UTC)

    def clock():
        nonlocal now
        now += timedelta(hours=1)
        return now

    session = Session(clock=clock)
    for name in "ab":
        session.stream(name, [pa.table({"k": [1, 1]})] * 3, time=ON_ARRIVAL)
    query = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = INTERVAL '1' SECOND"
    result = session.sql(query, algorithm="ripple")
    assert list(result) == []
    assert comparisons(result) == 6 * 6
