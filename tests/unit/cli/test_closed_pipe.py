"""`windrow .. | head`: who reads the output has seen enough, and the command ends without a word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from windrow.cli.entry import main; main()"]

JOB = """
on = "local"
mode = "batch"
query = "SELECT k, at FROM s"

[streams.s]
path = "s.csv"
format = "csv"
schema = "k BIGINT, at BIGINT"
time = "at"
"""

TO_TERMINAL = """
[sink]
terminal = 20
checkpoint = "state"
"""

EXPLAIN = ["explain", "job.toml"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.csv").write_text("k,at\n1,1\n")
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "shown.toml").write_text(JOB.replace('"batch"', '"streaming"') + TO_TERMINAL)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        EXPLAIN,
        [*EXPLAIN, "--format", "json"],
        ["run", "job.toml", "--progress", "none"],
        ["run", "job.toml", "--progress", "json"],
        ["run", "shown.toml", "--progress", "none", "--until-done"],
    ],
    ids=" ".join,
)
def test_a_command_whose_output_nobody_reads_ends_as_others_do(
    words: list[str], folder: Path
) -> None:
    with subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        running.stdout.close()  # before it has written anything
        said = [line for line in running.stderr.read().splitlines() if line[:1] != "{"]
        assert (running.wait(60), said) == (141, [])


def test_a_command_whose_messages_nobody_reads_ends_as_others_do(folder: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "run", "none.toml"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        running.stderr.close()
        assert (running.stdout.read(), running.wait(60)) == (b"", 141)


OWN = """
import os

def pass_on(values):
    raise BrokenPipeError(32, "Broken pipe", "elsewhere")
"""

CALLING = """
[functions.pass_on]
body = "own:pass_on"
returns = "bigint"
"""


def test_a_pipe_that_breaks_elsewhere_is_an_error(folder: Path) -> None:
    (folder / "own.py").write_text(OWN)
    (folder / "job.toml").write_text(JOB.replace("SELECT k,", "SELECT pass_on(k) AS n,") + CALLING)
    ran = subprocess.run(
        [*COMMAND, "run", "job.toml", "--progress", "none"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode in {1, 2}
    assert "Broken pipe" in ran.stderr
