"""Laws of late rows: each counted once, for its stream, with a lateness that would have let it in."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from sessions import session

import windrow
from windrow.run.late_rows import ENOUGH_ROWS, MOST_LATE

QUERIES = {
    "one": "SELECT COUNT(*) AS n FROM a [RANGE 3]",
    "two": "SELECT a.at FROM a, b WHERE a.k = b.k WINDOW = 4",
    "itself": "SELECT x.at FROM a x, a y WHERE x.k = y.k WINDOW = 4",
    "filtered": "SELECT x.at FROM a x, a y WHERE x.k = y.k AND x.k = 1 AND y.k = 2 WINDOW = 4",
}
times = st.lists(
    st.lists(st.integers(0, 30) | st.none(), min_size=1, max_size=5), min_size=1, max_size=5
)


def table(batch: Sequence[int | None]) -> pa.Table:
    at = pa.array(batch, pa.int64())
    return pa.table({"k": [1 + n % 2 for n in range(len(batch))], "at": at})


def answer(sql: str, a: list, b: list, lateness: tuple[int, int]) -> windrow.Result:
    w = session({"a": [table(batch) for batch in a]}, time="at", lateness=lateness[0])
    w.stream("b", [table(batch) for batch in b], time="at", lateness=lateness[1])
    result = w.sql(sql, on_late="keep")
    result.to_arrow()
    return result


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(
    st.sampled_from(sorted(QUERIES)), times, times, st.tuples(st.integers(0, 9), st.integers(0, 9))
)
def test_late_rows_are_those_kept_and_the_lateness_named_suffices(
    name: str, a: list, b: list, lateness: tuple[int, int]
) -> None:
    result = answer(QUERIES[name], a, b, lateness)
    needed = dict(zip("ab", lateness, strict=True))
    for stream, figures in result.progress.streams.items():
        assert figures.rows_in == sum(map(len, {"a": a, "b": b}[stream]))
        kept = result.late[stream]["at"].to_pylist() if stream in result.late else []
        assert figures.late == sum(time is not None for time in kept)
        assert figures.null_time == kept.count(None)
        assert (figures.lateness_needed is not None) == (figures.late > 0)
        needed[stream] = max(figures.lateness_needed or 0, needed[stream])
    event(f"late: {result.progress.late > 0}")
    again = answer(QUERIES[name], a, b, (needed["a"], needed["b"]))
    assert again.progress.late == 0


@pytest.mark.law
@settings(max_examples=share_of(20), deadline=None)
@given(times, st.integers(0, 5))
def test_one_stream_has_no_late_row_with_the_lateness_named_and_one_with_less(
    a: list, lateness: int
) -> None:
    figures = answer(QUERIES["one"], a, [[0]], (lateness, 0)).progress.streams["a"]
    assume(figures.lateness_needed is not None)
    less = figures.lateness_needed - 1
    assert answer(QUERIES["one"], a, [[0]], (less, 0)).progress.late > 0


def test_a_stream_with_many_late_rows_is_warned_of_once(caplog) -> None:
    with caplog.at_level(logging.WARNING, "windrow"):
        answer(QUERIES["one"], [[0, 20], [3, 21], [4, 22]], [[0]], (5, 0))
    assert [record.getMessage() for record in caplog.records] == [
        "33.3% of the rows of a came late and are not in the answer (2 of 6): a lateness of 17 would"
        " have sufficed"
    ]


def test_few_late_rows_are_no_reason_to_warn(caplog) -> None:
    rows = int(1 / MOST_LATE)
    answer(QUERIES["one"], [[10] * (rows - 1), [0]], [[0]], (0, 0))
    assert caplog.records == []


def test_a_query_that_goes_on_warns_as_soon_as_there_are_enough_rows(caplog) -> None:
    first = [[100] * (ENOUGH_ROWS - 20), [1] * 20]
    batches = [table(batch) for batch in (*first, *([200 + n] for n in range(50)))]
    w = session({"a": batches}, time="at")
    result = w.sql(QUERIES["one"])
    while not caplog.records:
        next(result)
    assert result.progress.streams["a"].rows_in < ENOUGH_ROWS + 10
    result.to_arrow()
    assert len(caplog.records) == 1


@pytest.mark.law
def test_figures_go_on_from_a_checkpoint() -> None:
    def four_batches() -> windrow.Session:
        batches = [table(batch) for batch in ([0, 20], [3, 21], [30], [4, 22])]
        return session({"a": batches}, time="at", lateness=5)

    whole = four_batches().sql(QUERIES["one"])
    whole.to_arrow()
    first = four_batches().sql(QUERIES["one"])
    next(first)
    rest = four_batches().sql(QUERIES["one"], resume=first.checkpoint())
    rest.to_arrow()
    assert rest.progress.streams == whole.progress.streams
    assert whole.progress.streams["a"].lateness_needed == 26
