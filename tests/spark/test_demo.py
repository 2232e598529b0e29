"""The demo, as `make demo` runs it but with less data."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.spark
def test_the_quick_demo_finds_every_answer_right(tmp_path):
    code = "from windrow.cli.main import main; main()"
    # A process of its own: the demo starts and stops a Spark session.
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", "--quick"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("correct: all") == 3
    assert (tmp_path / "windrow-demo.png").stat().st_size > 1_000
