"""The same through Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.law

PROGRAM = Path(__file__).with_name("connect_run.py")


def test_every_family_through_connect_gives_the_same_answer(tmp_path: Path) -> None:
    environment = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("SPARK_HOME", "SPARK_REMOTE", "PYSPARK_"))
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer = json.loads((tmp_path / "answer.json").read_text())
    for family, found in answer["families"].items():
        rows_read = 50 if family != "aggregate" else 25
        assert found["batch"] == found["expected"], family
        assert found["figures"] == [rows_read, len(found["expected"])], family
        # What the far rows at the end change waits for a watermark that never comes.
        waits = family != "join"
        final = [row for row in found["expected"] if not (waits and "end" in row)]
        assert found["streaming"] == final, family
        assert found["progress"] == [rows_read, len(final)], family
        assert final, family
    assert "DataError[late-row]: a row of x at 1 is late" in answer["error"]
    outside = answer["outside"]
    assert outside["batch"] == outside["streaming"] == outside["expected"]
    assert outside["expected"]
    assert outside["refused"].startswith(
        "UnsupportedError[sink-over-connect]: Listed cannot be written through Spark Connect\n"
        "  it is written in the process that asks, and Connect computes the answer in others\n"
    )
