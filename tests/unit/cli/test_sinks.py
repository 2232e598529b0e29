"""Sinks of jobs that run in process."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.cli.errors import JobError
from windrow.cli.job import JobSink
from windrow.cli.sinks import FolderSink, RowSample
from windrow.run.terminal import Terminal

TABLE = pa.table(
    {"item": ["pear", None], "at": pa.array([0, 1_500_000], pa.timestamp("us", "UTC"))}
)


def test_parts_are_numbered_and_read_back(tmp_path):
    with FolderSink(JobSink(str(tmp_path / "out"))) as sink:
        sink.write(TABLE)
        sink.write(TABLE.slice(0, 1))
    files = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert files == ["part-00000.parquet", "part-00001.parquet"]
    assert pq.read_table(tmp_path / "out").num_rows == 3


def test_json_lines_keep_instants_readable(tmp_path):
    with FolderSink(JobSink(str(tmp_path / "out"), "json")) as sink:
        sink.write(TABLE)
    lines = (tmp_path / "out" / "part-00000.json").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"item": "pear", "at": "1970-01-01 00:00:00+00:00"},
        {"item": None, "at": "1970-01-01 00:00:01.500000+00:00"},
    ]


def test_csv_has_a_header(tmp_path):
    with FolderSink(JobSink(str(tmp_path / "out"), "csv")) as sink:
        sink.write(pa.table({"n": [1, 2]}))
    assert (tmp_path / "out" / "part-00000.csv").read_text() == '"n"\n1\n2\n'


def test_a_folder_with_files_is_not_written_into(tmp_path):
    (tmp_path / "old").write_text("x")
    with pytest.raises(JobError) as caught, FolderSink(JobSink(str(tmp_path))):
        pass
    assert str(caught.value) == (
        f"JobError[sink-not-empty]: the sink {str(tmp_path)!r} already holds files\n"
        "  hint: empty it, choose another path, or set  overwrite = true  in [sink]"
    )


def test_the_terminal_shows_the_first_rows_and_counts_all():
    out = io.StringIO()
    sink = RowSample(Terminal(file=out, width=80))
    for start in range(0, 60, 15):
        sink.write(pa.table({"n": list(range(start, start + 15))}))
    sink.show(pa.schema({"n": pa.int64()}))
    text = out.getvalue()
    assert "60 rows, 20 shown" in text
    assert "│ 19 " in text
    assert "│ 20 " not in text


def test_instants_and_nulls_are_shown_as_people_read_them():
    out = io.StringIO()
    sink = RowSample(Terminal(file=out, width=80))
    sink.write(pa.table({"at": [datetime(2026, 1, 5, 8, tzinfo=UTC), None]}))
    sink.show(pa.schema({"at": pa.timestamp("us", "UTC")}))
    assert "2026-01-05 08:00:00 " in out.getvalue()
    assert "NULL" in out.getvalue()


def test_an_empty_answer_still_shows_its_columns():
    out = io.StringIO()
    RowSample(Terminal(file=out, width=80)).show(pa.schema({"revenue": pa.float64()}))
    assert "revenue" in out.getvalue()
    assert "0 rows" in out.getvalue()


def test_a_sink_that_is_a_file_is_refused(tmp_path):
    path = tmp_path / "out"
    path.write_text("x")
    with pytest.raises(JobError) as caught, FolderSink(JobSink(str(path))):
        pass
    assert str(caught.value) == (
        f"JobError[sink-not-writable]: the sink {str(path)!r} cannot be written\n"
        "  it is a file, not a folder\n"
        "  hint: choose a path that is free, or a folder that you may write to"
    )


def test_csv_refuses_a_nested_column_by_name(tmp_path):
    sink = JobSink(str(tmp_path / "out"), "csv")
    with pytest.raises(JobError) as caught, FolderSink(sink) as folder:
        folder.write(pa.table({"tags": [["a"]]}))
    assert not (tmp_path / "out").exists()
    assert caught.value.condition == "sink-type"
    assert "'tags', which is list<" in str(caught.value)
