from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from windrow.errors import BindError, DataError
from windrow.run.local import sources
from windrow.run.local.sources import NOTHING_NOW, source_of
from windrow.schema import Field

TABLE = pa.table({"k": ["u", "v", "w"], "at": [3, 1, 2]})


def read(data, time="at", skip=0):
    return [batch.to_pydict() for batch in source_of("a", data).batches(time, skip)]


def test_a_table_is_read_in_event_time_order_in_slices(monkeypatch):
    monkeypatch.setattr(sources, "SLICE_ROWS", 2)
    assert read(TABLE) == [{"k": ["v", "w"], "at": [1, 2]}, {"k": ["u"], "at": [3]}]
    assert read(TABLE, skip=1) == [{"k": ["w", "u"], "at": [2, 3]}]


def test_rows_of_a_table_without_a_time_come_first():
    table = pa.table({"at": pa.array([2, None, 1], pa.int64())})
    assert read(table) == [{"at": [None, 1, 2]}]


def test_a_table_in_order_is_sliced_without_copying():
    table = pa.table({"at": np.arange(10)})
    (batch,) = source_of("a", table).batches("at", 0)
    assert batch.column(0).buffers()[1].address == table.column(0).chunk(0).buffers()[1].address


def test_a_batch_of_a_stream_stays_whole_and_in_its_order(monkeypatch):
    monkeypatch.setattr(sources, "SLICE_ROWS", 2)
    batches = TABLE.to_batches()
    assert read(iter(batches)) == [TABLE.to_pydict()]
    assert read(batches) == [TABLE.to_pydict()]
    assert read(pa.RecordBatchReader.from_batches(TABLE.schema, batches)) == [TABLE.to_pydict()]


def test_a_stream_is_read_lazily():
    pulled = []

    def endless():
        number = 0
        while True:
            pulled.append(number)
            yield pa.record_batch({"at": [number]})
            number += 1

    rows = source_of("a", endless()).batches("at", 0)
    assert [next(rows).to_pydict() for _ in range(3)] == [{"at": [0]}, {"at": [1]}, {"at": [2]}]
    assert pulled == [0, 1, 2]


def test_an_iterator_can_be_read_once_and_says_so():
    source = source_of("clicks", iter(TABLE.to_batches()))
    list(source.batches("at", 0))
    with pytest.raises(DataError) as error:
        list(source.batches("at", 0))
    assert str(error.value) == (
        "DataError[stream-already-read]: the stream clicks was given as an iterator, and a query "
        "has read it\n"
        "  hint: register it again with a new iterator, or give a table or a list of batches"
    )


def test_a_list_of_batches_can_be_read_again():
    source = source_of("a", TABLE.to_batches())
    assert list(source.batches("at", 0)) == list(source.batches("at", 0))


def test_pandas_comes_without_its_index():
    frame = pd.DataFrame(
        {"k": ["u", "v"], "ts": pd.to_datetime(["2024-01-02", "2024-01-01"])}, index=[7, 8]
    )
    source = source_of("a", frame)
    assert source.schema.fields == (Field("k", "string"), Field("ts", "timestamp_ntz"))
    assert read(frame, "ts") == [
        {"k": ["v", "u"], "ts": [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)]}  # noqa: DTZ001
    ]


def test_polars_comes_through_the_arrow_interface():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"k": ["u", "v"], "at": [2, 1]})
    assert source_of("a", frame).schema.fields == (Field("k", "string"), Field("at", "bigint"))
    assert read(frame) == [{"k": ["v", "u"], "at": [1, 2]}]


def test_a_lazy_frame_is_refused_with_what_to_call():
    pl = pytest.importorskip("polars")
    with pytest.raises(BindError) as error:
        source_of("a", pl.LazyFrame({"at": [1]}))
    assert str(error.value) == (
        "BindError[not-rows]: a cannot be read: LazyFrame holds no rows\n"
        "  hint: call .collect() on it first; or give an Arrow table or reader, a pandas or polars "
        "DataFrame, or an iterable of these"
    )


@pytest.mark.parametrize("data", [17, "rows", {"a": [1]}])
def test_what_holds_no_rows_is_refused(data):
    with pytest.raises(BindError, match=f"a cannot be read: {type(data).__name__} holds no rows"):
        source_of("a", data)


def test_an_iterator_of_other_things_is_refused():
    with pytest.raises(BindError, match="a cannot be read: int holds no rows"):
        source_of("a", iter([1, 2]))


def test_an_empty_iterator_has_no_schema():
    with pytest.raises(BindError) as error:
        source_of("a", iter([]))
    assert str(error.value) == (
        "BindError[no-schema]: the stream a has no batch to take its columns from\n"
        "  hint: name them with schema=..., or give a pyarrow.RecordBatchReader, which has a schema "
        "even when it is empty"
    )


def test_two_columns_of_one_name_are_refused():
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["k", "k"])
    with pytest.raises(BindError) as error:
        source_of("a", table)
    assert str(error.value) == (
        "BindError[duplicate-column]: a has more than one column named 'k'\n"
        "  hint: rename one of them before you register it"
    )


@pytest.mark.parametrize(
    ("batch", "how"),
    [
        ({"k": ["u"]}, "has no column 'at'"),
        ({"k": ["u"], "at": [1], "z": [1]}, "has a column 'z' that it did not have before"),
        ({"k": [1], "at": [1]}, "has the column 'k' as bigint, registered as string"),
    ],
)
def test_a_batch_with_other_columns_names_stream_and_column(batch, how):
    source = source_of("clicks", iter([*TABLE.to_batches(), pa.record_batch(batch)]))
    with pytest.raises(DataError) as error:
        list(source.batches("at", 0))
    assert str(error.value) == (
        f"DataError[schema-change]: a batch of clicks {how}\n"
        "  every batch of a stream has the columns it was registered with\n"
        "  hint: cast or select the columns before you hand the batches over"
    )


def test_columns_in_another_order_or_form_are_the_same_columns():
    other = pa.record_batch({"at": [9], "k": pa.array(["z"]).dictionary_encode()})
    assert read(iter([*TABLE.to_batches(), other]))[1] == {"k": ["z"], "at": [9]}


def test_a_value_that_does_not_fit_names_stream_and_column():
    table = pa.table({"ts": pa.array([1_001], pa.timestamp("ns"))})
    with pytest.raises(DataError, match=r"a value of the column 'a\.ts' does not fit"):
        read(table, "ts")


def test_an_iterator_that_fails_as_it_is_registered_is_told_by_its_stream():
    def failing():
        raise OSError("no route to host")
        yield

    with pytest.raises(DataError) as caught:
        source_of("a", failing())
    assert caught.value.condition == "source-failed"
    assert isinstance(caught.value.__cause__, OSError)


def test_a_list_that_begins_with_silence_has_the_columns_of_its_first_batch():
    batch = pa.record_batch({"at": [1]})
    source = source_of("a", [NOTHING_NOW, NOTHING_NOW, batch])
    assert source.schema.ddl() == "`at` bigint"
    assert list(source.batches("at", 0)) == [NOTHING_NOW, NOTHING_NOW, batch]


def test_an_iterator_that_begins_with_silence_needs_a_schema():
    with pytest.raises(BindError) as caught:
        source_of("a", iter([NOTHING_NOW, pa.record_batch({"at": [1]})]))
    assert caught.value.condition == "no-schema"
    assert "nothing now" in str(caught.value)


def test_a_schema_is_one_of_arrow():
    with pytest.raises(BindError) as caught:
        source_of("a", iter([]), {"at": "bigint"})
    assert caught.value.condition == "not-a-schema"
    assert "pa.schema" in caught.value.hint


@pytest.mark.parametrize("batches", [False, True])
def test_one_column_alone_is_no_stream(batches):
    for column in (pd.Series([1, 2]), pd.Index([1]), pa.chunked_array([[1]])):
        with pytest.raises(BindError) as caught:
            source_of("a", [column] if batches else column)
        name = type(column).__name__
        assert str(caught.value).startswith(
            f"BindError[not-rows]: a cannot be read: {name} holds no rows"
        )
    with pytest.raises(BindError, match=r"hint: call \.to_frame\(\) on it"):
        source_of("a", pd.Series([1]))


def test_a_frame_with_a_column_of_no_type_is_refused():
    with pytest.raises(BindError) as caught:
        source_of("a", pd.DataFrame({"k": [1, "x"]}))
    assert str(caught.value).startswith(
        "BindError[unreadable-columns]: a cannot be read: a column of the DataFrame has no Arrow type"
    )
