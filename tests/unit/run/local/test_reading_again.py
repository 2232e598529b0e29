"""A result read to its end gives the answer again, or says why it cannot; never nothing in silence."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from sessions import session

from windrow import DataError

TABLE = pa.table({"k": [1, 2, 1], "at": [0, 5, 9]})
COUNTS = "SELECT k, COUNT(*) AS n FROM s [RANGE 6] GROUP BY k"
AGAIN = {
    "table": TABLE,
    "list": TABLE.to_batches(max_chunksize=1),
    "frame": TABLE.to_pandas(),
}
ONCE = {
    "iterator": lambda: iter(TABLE.to_batches(max_chunksize=1)),
    "reader": lambda: TABLE.to_reader(max_chunksize=1),
}


def result_of(data: object, query: str = COUNTS, **options: object):
    w = session({"s": data}, time="at")
    return w.sql(query, **options)


@pytest.mark.parametrize("kind", AGAIN)
def test_an_answer_is_given_again_in_every_form(kind):
    result = result_of(AGAIN[kind])
    first = result.to_arrow()
    assert first.num_rows == 6
    assert result.to_arrow() == first
    assert pa.Table.from_batches(list(result)) == first
    pd.testing.assert_frame_equal(result.to_pandas(), first.to_pandas())
    assert pa.table(result) == first
    assert result.progress.rows_out == 6
    assert result.progress.rows_in == 3


@pytest.mark.parametrize("kind", ONCE)
def test_what_can_be_read_once_is_refused_the_second_time(kind):
    result = result_of(ONCE[kind]())
    assert result.to_arrow().num_rows == 6
    for ask in (result.to_arrow, result.to_pandas, lambda: list(result)):
        with pytest.raises(DataError) as caught:
            ask()
    assert str(caught.value) == (
        "DataError[stream-already-read]: the stream s was given as an iterator, and a query has read it\n"
        "  hint: register it again with a new iterator, or give a table or a list of batches"
    )
    assert result.progress.rows_out == 6  # that of the run that there was
    assert result.checkpoint().positions["s"].has_ended


def test_after_some_batches_to_arrow_gives_the_rest_and_then_all():
    result = result_of(AGAIN["list"])
    first = next(result)
    rest = result.to_arrow()
    whole = pa.concat_tables([pa.Table.from_batches([first]), rest]).to_pylist()
    assert result.to_arrow().to_pylist() == whole
    assert next(result, None) is None  # at the end, until it is asked for the whole again
    assert [row for batch in result for row in batch.to_pylist()] == whole


def test_a_resumed_query_gives_its_rest_again():
    result = result_of(AGAIN["list"])
    next(result)
    resumed = result_of(AGAIN["list"], resume=result.checkpoint())
    rest = resumed.to_arrow()
    assert 0 < rest.num_rows < 6
    assert resumed.to_arrow() == rest


def test_the_data_are_those_that_were_there_when_it_was_asked():
    w = session({"s": TABLE}, time="at")
    result = w.sql(COUNTS)
    first = result.to_arrow()
    w.stream("s", pa.table({"other": ["x"], "at": [1]}), time="at")
    assert result.to_arrow() == first


def test_a_stopped_result_has_no_more_rows():
    result = result_of(AGAIN["list"])
    next(result)
    result.stop()
    assert list(result) == []
    with result_of(AGAIN["list"]) as ended:
        whole = ended.to_arrow()
    assert ended.to_arrow() == whole


def test_an_answer_that_failed_fails_again():
    result = result_of(TABLE, "SELECT 10 / (k - 2) AS share FROM s")
    for _ in range(2):
        with pytest.raises(DataError, match="Division by zero"):
            result.to_arrow()
