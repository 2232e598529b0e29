"""Sinks that cannot take the answer: the user's to mend, so our text and exit code 2."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.cli.main import app


@pytest.fixture
def run(tmp_path):
    pq.write_table(pa.table({"k": [1, 2], "l": [[1], []], "at": [5, 6]}), tmp_path / "a.parquet")

    def ask(query: str, on: str = "local", **sink: str):
        lines = [f'query = "{query}"', "[streams.a]", 'path = "a.parquet"', 'time = "at"', "[sink]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in sink.items()]
        (tmp_path / "job.toml").write_text("\n".join(lines))
        return CliRunner().invoke(
            app, ["run", str(tmp_path / "job.toml"), "--on", on, "--progress", "none"]
        )

    return ask


# On Spark the folders are looked at before it is started.
@pytest.mark.parametrize("on", ["local", "spark"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_where_the_folder_of_the_sink_should_be(run, tmp_path, overwrite, on):
    (tmp_path / "out").write_text("x")
    result = run("SELECT k FROM a", on, path="out", overwrite=overwrite)
    assert result.exit_code == 2
    assert result.output == (
        f"JobError[sink-not-writable]: the sink {str(tmp_path / 'out')!r} cannot be written\n"
        "  it is a file, not a folder\n"
        "  hint: choose a path that is free, or a folder that you may write to\n"
    )
    assert (tmp_path / "out").read_text() == "x"


@pytest.mark.parametrize("on", ["local", "spark"])
def test_a_sink_below_a_file(run, tmp_path, on):
    (tmp_path / "out").write_text("x")
    result = run("SELECT k FROM a", on, path="out/deep")
    assert result.exit_code == 2
    assert "JobError[sink-not-writable]: the sink" in result.output
    assert "Not a directory" in result.output


def test_nested_columns_in_csv_are_refused(run):
    result = run("SELECT k, l FROM a", path="out", format="csv")
    assert result.exit_code == 2
    assert result.output == (
        "JobError[sink-type]: csv has no place for the column 'l', which is list<item: int64>\n"
        '  hint: write  format = "parquet"  or "json", or cast the column to STRING\n'
    )
