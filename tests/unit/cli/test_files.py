"""Data files of a job: found, read in order, and brought to the stated types."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from windrow.cli.errors import JobError
from windrow.cli.files import (
    check_columns_there,
    data_files,
    read_batches,
    schema_in_files,
    schema_of,
)
from windrow.cli.job import JobStream
from windrow.io.data_files import zoned_times
from windrow.io.ddl import parse_ddl
from windrow.schema import Field

DDL = "item STRING, price DOUBLE, ts TIMESTAMP"


def source(path: Path, format_: str = "parquet", ddl: str | None = None) -> JobStream:
    schema = parse_ddl(ddl) if ddl else None
    return JobStream("sales", str(path), "ts", format=format_, schema=schema)


def rows(of: JobStream) -> list[dict[str, object]]:
    return read_batches(of).read_all().to_pylist()


def test_a_folder_is_read_by_name_and_hidden_files_are_passed_over(tmp_path):
    for name in ("b.parquet", "a.parquet", "_c.parquet", ".d.parquet", "notes.txt"):
        pa.parquet.write_table(pa.table({"name": [name]}), tmp_path / name)
    (tmp_path / "_checkpoint").mkdir()
    pa.parquet.write_table(pa.table({"name": ["x"]}), tmp_path / "_checkpoint" / "x.parquet")
    assert rows(source(tmp_path)) == [{"name": "a.parquet"}, {"name": "b.parquet"}]


def test_a_pattern_names_several_files(tmp_path):
    for name in ("a1.parquet", "a2.parquet", "b.parquet"):
        pa.parquet.write_table(pa.table({"name": [name]}), tmp_path / name)
    found = data_files(source(tmp_path / "a*.parquet"))
    assert [Path(file).name for file in found] == ["a1.parquet", "a2.parquet"]


def test_a_path_without_files_is_an_error(tmp_path):
    with pytest.raises(JobError) as caught:
        data_files(source(tmp_path, "csv"))
    assert str(caught.value) == (
        f"JobError[no-data-files]: stream sales finds no file at {str(tmp_path)!r}\n"
        "  a path is one file, a folder with .csv files, or a pattern with *\n"
        "  hint: paths are relative to the folder of the job file, and names that begin with _ or a"
        " dot are passed over"
    )


def test_the_schema_of_parquet_comes_from_its_first_file(tmp_path):
    stamps = pa.array([0], pa.timestamp("ns", "Europe/Berlin"))
    pa.parquet.write_table(
        pa.table({"n": pa.array([1], pa.uint8()), "ts": stamps}), tmp_path / "a.parquet"
    )
    assert schema_of(source(tmp_path)).fields == (Field("n", "smallint"), Field("ts", "timestamp"))


def test_csv_takes_the_stated_types_and_reads_bare_times_as_utc(tmp_path):
    (tmp_path / "a.csv").write_text(
        "item,price,ts\npear,1.5,2026-01-05 08:00:00\nfig,,2026-01-05T09:00:00+01:00\n"
    )
    assert rows(source(tmp_path, "csv", DDL)) == [
        {"item": "pear", "price": 1.5, "ts": datetime(2026, 1, 5, 8, tzinfo=UTC)},
        {"item": "fig", "price": None, "ts": datetime(2026, 1, 5, 8, tzinfo=UTC)},
    ]


def test_csv_has_one_way_to_say_null_as_where_it_is_followed_and_on_spark(tmp_path):
    (tmp_path / "a.csv").write_text('item,n\n,1\n"",2\nNA,3\nnull,\n')
    found = rows(source(tmp_path, "csv", "item STRING, n BIGINT"))
    assert [(own["item"], own["n"]) for own in found] == [
        (None, 1), ("", 2), ("NA", 3), ("null", None),
    ]  # fmt: skip


def test_json_lines_take_the_stated_types(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"item": "pear", "price": 2, "ts": "2026-01-05T08:00:00Z"}\n'
        '{"price": 1.5, "item": "fig", "ts": "2026-01-05 08:00:01.25"}\n'
    )
    assert rows(source(tmp_path, "json", DDL)) == [
        {"item": "pear", "price": 2.0, "ts": datetime(2026, 1, 5, 8, tzinfo=UTC)},
        {"item": "fig", "price": 1.5, "ts": datetime(2026, 1, 5, 8, 0, 1, 250_000, tzinfo=UTC)},
    ]


def test_times_in_json_without_a_schema_are_instants(tmp_path):
    (tmp_path / "a.json").write_text(
        '{"ts": "2026-01-05T10:00:00+02:00"}\n{"ts": "2026-01-05T10:00:00"}\n'
    )
    read = source(tmp_path, "json")
    assert schema_of(read).fields == (Field("ts", "timestamp"),)
    times = [datetime(2026, 1, 5, hour, tzinfo=UTC) for hour in (8, 10)]
    assert [row["ts"] for row in rows(read)] == times


def test_times_as_texts_may_mix_zones_dates_and_nulls():
    texts = pa.array(["2026-01-05", "2026-01-05 02:00-0500", "2026-01-05 07:00:00z", None])
    assert zoned_times(texts).to_pylist() == [
        datetime(2026, 1, 5, 0, tzinfo=UTC),
        datetime(2026, 1, 5, 7, tzinfo=UTC),
        datetime(2026, 1, 5, 7, tzinfo=UTC),
        None,
    ]


def test_a_value_that_is_not_of_its_type_names_the_file(tmp_path):
    (tmp_path / "a.csv").write_text("item,price,ts\npear,cheap,2026-01-05 08:00:00\n")
    with pytest.raises(JobError) as caught:
        rows(source(tmp_path, "csv", DDL))
    assert str(caught.value).startswith(
        f"JobError[unreadable-data]: stream sales cannot read {str(tmp_path / 'a.csv')!r}\n"
    )
    assert "cheap" in str(caught.value)


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(JobError, match="cannot read") as caught:
        rows(source(tmp_path))
    assert caught.value.condition == "unreadable-data"


def test_a_column_that_a_later_file_lacks_is_an_error(tmp_path):
    pa.parquet.write_table(pa.table({"a": [1], "b": [1]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"a": [1]}), tmp_path / "2.parquet")
    with pytest.raises(JobError) as caught:
        rows(source(tmp_path))
    assert "2.parquet" in str(caught.value)


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_column_of_the_schema_that_the_file_lacks_is_an_error(tmp_path, format_):
    file = tmp_path / f"a.{format_}"
    write = {"csv": pa.csv.write_csv, "parquet": pa.parquet.write_table}[format_]
    write(pa.table({"item": ["pear"], "price": [1.5]}), file)
    with pytest.raises(JobError) as caught:
        rows(source(tmp_path, format_, DDL))
    assert str(caught.value) == (
        f"JobError[unreadable-data]: stream sales cannot read {str(file)!r}\n"
        "  it has no column 'ts'\n"
        "  hint: check its format and schema"
    )


def test_an_empty_csv_file_is_named_and_tells_spark_no_order(tmp_path):
    (tmp_path / "a.csv").write_text("")
    asked = source(tmp_path, "csv", "k BIGINT, at BIGINT")
    with pytest.raises(JobError, match="unreadable-data"):
        check_columns_there(asked, str(tmp_path / "a.csv"))
    assert schema_in_files(asked) == asked.schema
    (tmp_path / "a.csv").write_text("at,name,k\n")
    assert schema_in_files(asked).ddl() == "`at` bigint, `name` string, `k` bigint"


def test_a_column_that_cannot_be_cast_names_the_file(tmp_path):
    pa.parquet.write_table(pa.table({"item": ["pear"]}), tmp_path / "a.parquet")
    with pytest.raises(JobError, match="cannot read") as caught:
        rows(source(tmp_path, "parquet", "item STRUCT<a: INT>"))
    assert caught.value.condition == "unreadable-data"


def test_a_header_in_another_encoding_names_the_file(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xff,at\n1,1\n")
    with pytest.raises(JobError) as caught:
        schema_of(source(tmp_path, "csv"))
    assert caught.value.condition == "unreadable-data"
