"""Parts in folders by the values of columns: which columns and values there can be."""

from __future__ import annotations

import errno
from pathlib import Path

import pyarrow as pa
import pytest
from contracts.source_contract import read_through

import windrow
from windrow.errors import BindError, DataError, ResourceError
from windrow.io import Answer, Unavailable
from windrow.io.file_systems import on_files

COLUMNS = pa.schema(
    [
        ("k", pa.int64()),
        ("name", pa.string()),
        ("l", pa.list_(pa.int64())),
        ("b", pa.binary()),
        ("d", pa.duration("us")),
    ]
)


@pytest.mark.parametrize(
    ("names", "columns", "sentence"),
    [
        (["k"], ["k"], "partition_by names all columns of the answer"),
        (["name", "k"], ["k", "name"], "partition_by names all columns of the answer"),
        (["k", "k"], ["k", "name"], "partition_by names 'k' twice"),
        (["l"], ["k", "l"], "partition_by names 'l', which is list<item: int64>"),
        (["b"], ["k", "b"], "partition_by names 'b', which is binary"),
        (["d"], ["k", "d"], "partition_by names 'd', which is duration[us]"),
    ],
)
def test_columns_that_folders_cannot_say_are_refused(tmp_path, names, columns, sentence):
    sink = windrow.files(str(tmp_path / "out"), partition_by=names).sink()
    answer = Answer(pa.schema([COLUMNS.field(name) for name in columns]))
    with pytest.raises(BindError) as caught:
        sink.open("r", answer)
    assert (caught.value.condition, caught.value.sentence) == ("bad-partition", sentence)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_a_changelog_may_have_all_columns_of_its_answer_in_folders(tmp_path, format_):
    about = windrow.files(str(tmp_path), format_, partition_by=["k"])
    sink = about.sink()
    sink.open("r", Answer(pa.schema([("k", pa.int64())]), is_changelog=True))
    rows = pa.table({"k": [1, 2], "_change_type": ["insert"] * 2, "_event_time": [5, 6]})
    sink.commit(0, [sink.write(0, rows.to_batches())])
    found = read_through(about.source())["0"]
    assert found == rows.to_pylist()


@pytest.mark.parametrize(
    ("value", "shown"),
    [("x" * 254, "x" * 40 + ".."), ("ü" * 50, "ü" * 40 + ".."), (" /" * 80, " /" * 20 + "..")],
)
@pytest.mark.parametrize("place", ["local", "memory"])
def test_a_value_longer_than_a_name_ends_the_run_before_its_epoch_is_committed(
    tmp_path, value, shown, place
):
    path = str(tmp_path) if place == "local" else f"memory://long{tmp_path}/{len(value)}"
    about = windrow.files(path, partition_by=["k"])
    answer = Answer(pa.schema([("n", pa.int64()), ("k", pa.string())]))
    sink = about.sink()
    sink.open("r", answer)
    sink.commit(0, [sink.write(0, pa.table({"n": [1], "k": ["x" * 253]}).to_batches())])
    with pytest.raises(DataError) as caught:
        sink.write(1, pa.table({"n": [1, 2], "k": ["a", value]}).to_batches())
    assert caught.value.condition == "long-partition"
    assert caught.value.sentence == (
        f"the value {shown!r} of the column 'k' is too long for the name of a folder"
    )
    again = about.sink()
    assert again.open("r", answer) == 0
    again.commit(1, [again.write(1, pa.table({"n": [2], "k": ["short"]}).to_batches())])
    assert [row["n"] for row in read_through(about.source())["0"]] == [1, 2]


def test_values_that_make_a_path_too_long_together_are_refused(tmp_path):
    names = [f"k{n}" for n in range(20)]
    about = windrow.files(str(tmp_path), partition_by=names)
    sink = about.sink()
    rows = pa.table({"n": [1], **{name: ["x" * 240] for name in names}})
    sink.open("r", Answer(rows.schema))
    with pytest.raises(DataError, match="a path has") as caught:
        sink.write(0, rows.to_batches())
    assert caught.value.condition == "long-partition"


@pytest.mark.parametrize(
    "number",
    [errno.ENAMETOOLONG, errno.EINVAL, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EROFS],
)
def test_what_a_file_system_never_does_is_not_tried_again(number):
    with pytest.raises(ResourceError) as caught, on_files("x", "be written"):
        raise OSError(number, "as it says")
    assert caught.value.condition == "files-out-of-reach"
    assert not isinstance(caught.value, Unavailable)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ETIMEDOUT])
def test_what_may_pass_is_tried_again(number):
    with pytest.raises(Unavailable), on_files("x", "be written"):
        raise OSError(number, "as it says")


def test_a_path_that_is_too_long_is_out_of_reach(tmp_path):
    about = windrow.files(str(tmp_path / Path("x" * 300)))
    with pytest.raises(ResourceError) as caught:
        about.sink().open("r", Answer(pa.schema([("n", pa.int64())])))
    assert caught.value.condition == "files-out-of-reach"


@pytest.mark.parametrize("name", ["a, b", "a (b", "a > b", "a`b", "a/b", "a=b"])
def test_columns_of_any_name_are_written_and_read(tmp_path, name):
    about = windrow.files(str(tmp_path), partition_by=[f"{name}, too"])
    rows = pa.table({name: [1, 2], f"{name}, too": ["x", "y"]})
    for epoch in range(2):
        sink = about.sink()
        sink.open("r", Answer(rows.schema))
        sink.commit(epoch, [sink.write(epoch, rows.to_batches())])
    assert read_through(about.source())["0"] == rows.to_pylist() * 2
