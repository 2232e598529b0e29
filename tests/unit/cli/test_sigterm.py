"""SIGTERM ends a job that follows its streams properly, however early it comes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

import windrow
from windrow.cli import job_file as jobs
from windrow.cli import run_local
from windrow.cli.main import app

JOB = """
query = "SELECT k FROM s"
mode = "{mode}"
[streams.s]
path = "s.csv"
format = "csv"
schema = "k BIGINT, at BIGINT"
time = "at"
[sink]
path = "out"
"""


@pytest.fixture
def default() -> list[int]:
    """How often the signal has come to whoever has it by default."""
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    yield came
    assert signal.getsignal(signal.SIGTERM) is not before
    signal.signal(signal.SIGTERM, before)


def run(folder: Path, mode: str = "streaming"):
    (folder / "s.csv").write_text("k,at\n1,1\n")
    (folder / "job.toml").write_text(JOB.format(mode=mode))
    return CliRunner().invoke(app, ["run", str(folder / "job.toml"), "--progress", "none"])


def signals(monkeypatch, owner: object, name: str):
    """Has the signal come as something is called; tells whether that went on."""
    went_on, own = [], getattr(owner, name)

    def called(*given: object, **about: object):
        signal.raise_signal(signal.SIGTERM)
        went_on.append(name)
        return own(*given, **about)

    monkeypatch.setattr(owner, name, called)
    return went_on


@pytest.mark.parametrize(
    ("owner", "name", "goes_on"),
    [
        (jobs, "load_job", True),
        (windrow.Session, "stream", False),
        (windrow.Session, "run", False),
        (run_local, "wait_for", True),
    ],
)
def test_a_job_that_follows_its_streams_ends_with_0(
    tmp_path, monkeypatch, default, owner, name, goes_on
):
    went_on = signals(monkeypatch, owner, name)
    done = run(tmp_path)
    assert (done.exit_code, done.output, default) == (0, "", [])
    assert bool(went_on) is goes_on


@pytest.mark.parametrize(("owner", "name"), [(jobs, "load_job"), (run_local, "open_session")])
def test_a_batch_job_leaves_the_signal_to_the_system(tmp_path, monkeypatch, default, owner, name):
    signals(monkeypatch, owner, name)
    assert run(tmp_path, "batch").exit_code == 0
    assert default == [signal.SIGTERM]
