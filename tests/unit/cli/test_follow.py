"""Jobs in process that follow what comes, and go on where they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from bags import bag
from typer.testing import CliRunner

from windrow.cli.main import app

JOB = """
query = "SELECT a.k, a.t AS at, b.t AS bt FROM a, b WHERE a.k = b.k WINDOW = 5"
mode = "streaming"
[streams.a]
path = "a"
time = "t"
[streams.b]
path = "b"
time = "t"
[sink]
path = "out"
"""
COMMAND = [sys.executable, "-c", "from windrow.cli.entry import main; main()", "run", "job.toml"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.toml").write_text(JOB)
    for name in "ab":
        (tmp_path / name).mkdir()
    return tmp_path


def put(folder: Path, number: int, times: range) -> None:
    """A file for each stream, all of it there at once."""
    for name in "ab":
        table = pa.table({"k": [t % 3 for t in times], "t": list(times)})
        unfinished = folder / name / f".{number:03d}"
        pq.write_table(table, unfinished)
        unfinished.rename(folder / name / f"{number:03d}.parquet")


def expected(until: int) -> list[tuple[int, int, int]]:
    return [
        (a % 3, a, b)
        for a in range(until)
        for b in range(until)
        if a % 3 == b % 3 and abs(a - b) <= 5
    ]


def answer(folder: Path) -> pa.Table:
    parts = [
        str(p)
        for p in (folder / "out").rglob("*.parquet")
        if "/_" not in str(p) and "/." not in str(p)
    ]
    if not parts:
        return pa.table({"k": [], "at": [], "bt": []})
    return ds.dataset(parts).to_table()


def run(folder: Path, *how: str) -> None:
    done = CliRunner().invoke(app, ["run", str(folder / "job.toml"), *how])
    assert done.exit_code == 0, done.output


def test_a_job_goes_on_where_it_was_and_reads_what_has_come_since(folder):
    (folder / "job.toml").write_text(JOB + 'checkpoint = "state"\n')
    put(folder, 1, range(10))
    run(folder, "--until-done")
    once = answer(folder).num_rows
    put(folder, 2, range(10, 20))
    run(folder, "--until-done", "--progress", "none")
    assert bag(answer(folder)) != bag([])
    assert once < answer(folder).num_rows
    run(folder, "--until-done", "--progress", "none")
    assert bag(answer(folder)) == bag(expected(20))


def waited_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_job_follows_until_it_is_told_to_end_and_ends_between_two_epochs(folder, sent, code):
    put(folder, 1, range(10))
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*COMMAND, "--progress", "none"],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        waited_for(lambda: answer(folder).num_rows == len(expected(10)))
        put(folder, 2, range(10, 20))
        waited_for(lambda: answer(folder).num_rows == len(expected(20)))
        running.send_signal(sent)
        said = running.stderr.read()
    assert running.returncode == code, said
    assert "Traceback" not in said
    put(folder, 3, range(20, 30))
    run(folder, "--until-done", "--progress", "none")
    assert bag(answer(folder)) == bag(expected(30))


def test_a_generated_stream_goes_to_the_terminal(tmp_path):
    (tmp_path / "job.toml").write_text(
        'query = "SELECT k FROM s"\n[streams.s]\ngenerate = "k BIGINT, ts TIMESTAMP"\n'
        'rows = 3\nlive = false\ntime = "ts"\n'
    )
    done = CliRunner().invoke(app, ["run", str(tmp_path / "job.toml"), "--progress", "json"])
    assert done.exit_code == 0, done.output
    assert "no checkpoint is kept" in done.stderr
    assert '"rows_out": 3' in done.stderr.splitlines()[-1]
