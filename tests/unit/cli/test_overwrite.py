"""Jobs that replace an older answer, and what is refused of a sink where it would have no effect."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.cli.main import app

JOB = """
query = "SELECT k, {what} FROM a"
[streams.a]
path = "a"
format = "csv"
schema = "k BIGINT, at BIGINT"
time = "at"
[sink]
path = "out"
format = "{format}"
overwrite = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.csv").write_text("k,at\n1,1\n")
    (tmp_path / "a" / "2.csv").write_text("k,at\n2,2\n")
    (tmp_path / "out").mkdir()
    pq.write_table(pa.table({"old": [1]}), tmp_path / "out" / "part-00000.parquet")
    pq.write_table(pa.table({"old": [2]}), tmp_path / "out" / "part-00001.parquet")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    return tmp_path


def run(folder: Path, mode: str, what: str = "at", format_: str = "parquet", on: str = "local"):
    (folder / "job.toml").write_text(JOB.format(what=what, format=format_))
    return CliRunner().invoke(
        app, ["run", str(folder / "job.toml"), "--mode", mode, "--on", on, "--until-done"]
    )


def found(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_own_parts_are_replaced_and_other_files_stay(folder, mode, format_):
    done = run(folder, mode, format_=format_)
    assert done.exit_code == 0, done.output
    now = found(folder / "out")
    assert now.pop("notes.txt") == b"mine"
    assert set(now) <= {f"part-00000.{format_}", f"part-00001.{format_}"}
    assert "kept in the sink, where Windrow did not write it: notes.txt" in done.stderr


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_query_that_fails_leaves_the_old_answer(folder, mode):
    before = found(folder / "out")
    (folder / "a" / "2.csv").write_text("k,at\ntwo,2\n")
    assert run(folder, mode).exit_code == 2
    assert found(folder / "out") == before
    assert run(folder, mode, what="nothing").exit_code == 2
    assert found(folder / "out") == before


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_an_interrupt_leaves_the_old_answer(folder, mode, monkeypatch):
    before = found(folder / "out")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("windrow.cli.sinks.FolderSink.write", interrupted)
    assert run(folder, mode).exit_code == 130
    assert found(folder / "out") == before


def test_a_query_that_fails_leaves_no_folder_behind(folder):
    (folder / "a" / "1.csv").write_text("k,at\ntwo,2\n")
    text = JOB.replace('"out"', '"fresh"').replace("overwrite = true", "")
    (folder / "job.toml").write_text(text.format(what="at", format="json"))
    assert CliRunner().invoke(app, ["run", str(folder / "job.toml")]).exit_code == 2
    assert not (folder / "fresh").exists()


def refused(folder: Path, sink: str, *how: str) -> str:
    text = JOB.format(what="at", format="parquet").replace("overwrite = true", sink)
    (folder / "job.toml").write_text(text)
    done = CliRunner().invoke(app, ["run", str(folder / "job.toml"), *how])
    assert done.exit_code == 2
    return done.stderr


@pytest.mark.parametrize("on", ["local", "spark"])
def test_a_checkpoint_that_would_have_no_effect_is_refused(folder, on):
    assert refused(folder, 'checkpoint = "state"', "--mode", "batch", "--on", on) == (
        "JobError[checkpoint-unused]: [sink] names a checkpoint, and a batch job keeps none\n"
        "  it would read everything again, whatever an earlier run has answered\n"
        "  hint: take checkpoint out, or run with --mode streaming\n"
    )
    assert not (folder / "state").exists()


@pytest.mark.parametrize("on", ["local", "spark"])
def test_a_streaming_job_that_goes_on_replaces_nothing(folder, on):
    said = refused(folder, "overwrite = true", "--mode", "streaming", "--on", on)
    assert said.startswith("JobError[overwrite-of-stream]: ")


@pytest.mark.parametrize(
    ("on", "condition"), [("local", "sink-not-writable"), ("spark", "overwrite-elsewhere")]
)
def test_an_answer_elsewhere_is_not_overwritten(folder, on, condition):
    text = JOB.format(what="at", format="parquet").replace('"out"', '"s3://bucket/out"')
    (folder / "job.toml").write_text(text)
    done = CliRunner().invoke(app, ["run", str(folder / "job.toml"), "--on", on])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"JobError[{condition}]: ")
