"""The examples run; on Spark see `tests/spark/test_command_line.py`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from docs.prose import ROOT
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


def test_files_keep_a_delta_table_current(tmp_path):
    from deltalake import DeltaTable

    folder = shutil.copytree(ROOT / "examples" / "files_to_delta", tmp_path / "example")
    subprocess.run([sys.executable, str(folder / "make_data.py")], check=True, capture_output=True)
    done = windrow("run", folder / "revenue.toml", "--until-done")
    assert done.returncode == 0, done.stderr
    found = pa.table(DeltaTable(str(folder / "lake" / "revenue")).to_pyarrow_table()).to_pylist()
    # Of the sales of the last three hours, a minute apart, each store has every third.
    rests = {"north": 0, "south": 1, "east": 2}
    assert {own["store"]: (own["sales"], own["revenue"]) for own in found} == {
        store: (60, sum(5 + n % 20 for n in range(1259, 1439) if n % 3 == rest))
        for store, rest in rests.items()
    }
