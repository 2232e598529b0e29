"""The examples run; on Spark see `tests/spark/test_command_line.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from example_jobs import copy_of_stores, rows_in


@pytest.fixture
def stores(tmp_path: Path) -> Path:
    return copy_of_stores(tmp_path / "stores")


def windrow(*arguments: object) -> subprocess.CompletedProcess[str]:
    code = "from windrow.cli.main import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_join_runs_in_process(stores):
    done = windrow("run", stores / "same_item.toml")
    assert done.returncode == 0, done.stderr
    assert "254 rows" in done.stdout


def test_the_aggregate_ends_with_every_group_gone(stores):
    done = windrow("run", stores / "spending.toml", "--until-done")
    assert done.returncode == 0, done.stderr
    changes = [row["_change_type"] for row in rows_in(stores / "out" / "spending")]
    assert changes
    assert changes.count("insert") == changes.count("delete")
