"""Ctrl-C in `windrow run`: one line, and exit code 130, whatever its readers are doing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from windrow.cli.entry import main; main()", "run", "job.toml"]
JOB = """
on = "local"
mode = "{mode}"
query = "SELECT k, stopped(COUNT(*)) AS n FROM s [RANGE 50] GROUP BY k"

[streams.s]
path = "s.csv"
format = "csv"
schema = "k BIGINT, at BIGINT"
time = "at"

[functions.stopped]
body = "own:stopped"
returns = "bigint"
"""
OWN = """
import os, signal

def stopped(values):
    os.kill(os.getpid(), signal.SIGINT)
    return values
"""


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_an_interrupted_job_ends_with_one_line_and_130(mode: str, tmp_path: Path) -> None:
    rows = "".join(f"{at % 7},{at}\n" for at in range(2_000))
    (tmp_path / "s.csv").write_text("k,at\n" + rows)
    (tmp_path / "job.toml").write_text(JOB.format(mode=mode))
    (tmp_path / "own.py").write_text(OWN)
    ran = subprocess.run(
        [*COMMAND, "--until-done", "--progress", "none"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (130, "interrupted\n")


LATEST = """
import os, signal
from windrow.cli.entry import main

class Last:
    def __del__(self, kill=os.kill, pid=os.getpid(), sigint=signal.SIGINT):
        kill(pid, sigint)

last = Last()  # goes with its module, after Python has taken its handlers of signals back
main()
"""


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["run", "none.toml"], 2)])
def test_an_interrupt_after_the_end_changes_nothing(arguments: list[str], code: int) -> None:
    command = [sys.executable, "-c", LATEST, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == code, ran.stderr


BLOCKED = """
import signal, threading
import pyarrow as pa, windrow

SCHEMA = pa.schema([("k", pa.int64()), ("at", pa.int64())])
asked = threading.Event()

def endless():
    asked.set()
    threading.Event().wait()
    yield None

def interrupt():
    asked.wait()
    signal.raise_signal(signal.SIGINT)

session = windrow.Session()
session.stream("s", pa.RecordBatchReader.from_batches(SCHEMA, endless()), time="at")
threading.Thread(target=interrupt).start()
try:
    session.sql("SELECT k FROM s").to_arrow()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_program_ends_though_a_reader_blocks_for_ever() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "interrupted\n", "")
