"""The same through Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("connect_run.py")


def test_a_join_through_connect_gives_the_same_answer(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["expected"]
    assert answer["batch"] == answer["expected"]
    assert answer["streaming"] == answer["expected"]
    assert answer["progress"]["rows_in"] == 48
    assert answer["progress"]["rows_out"] == len(answer["expected"])
