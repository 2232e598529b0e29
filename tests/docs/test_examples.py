"""The examples run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from docs.prose import ROOT


@pytest.fixture
def stores(tmp_path: Path) -> Path:
    folder = tmp_path / "stores"
    kept = shutil.ignore_patterns("data", "out")
    shutil.copytree(ROOT / "examples" / "stores", folder, ignore=kept)
    subprocess.run([sys.executable, str(folder / "make_data.py")], check=True, capture_output=True)
    return folder


def windrow(*arguments: object) -> subprocess.CompletedProcess[str]:
    code = "from windrow.cli.main import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rows(folder: Path) -> list[str]:
    files = sorted(folder.glob("*.json"))
    return sorted(line for file in files for line in file.read_text().splitlines())


def test_the_join_runs_in_process(stores):
    done = windrow("run", stores / "same_item.toml")
    assert done.returncode == 0, done.stderr
    assert "254 rows" in done.stdout


def test_the_aggregate_ends_with_every_group_gone(stores):
    done = windrow("run", stores / "spending.toml")
    assert done.returncode == 0, done.stderr
    changes = [json.loads(line)["_change_type"] for line in rows(stores / "out" / "spending")]
    assert changes
    assert changes.count("insert") == changes.count("delete")


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_the_join_gives_the_same_rows_on_spark(stores, mode):
    job = stores / "same_item.toml"
    sink = '[sink]\nformat = "json"\npath = "out/{}"\n'
    text = job.read_text()
    job.write_text(text + sink.format("local"))
    assert windrow("run", job).returncode == 0
    job.write_text(text + sink.format("spark"))
    done = windrow("run", job, "--on", "spark", "--mode", mode)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in rows(stores / "out" / "spark")]
    wanted = [json.loads(line) for line in rows(stores / "out" / "local")]
    keys = ("item", "north", "south")
    assert sorted(tuple(row[k] for k in keys) for row in found) == sorted(
        tuple(row[k] for k in keys) for row in wanted
    )
    if mode == "streaming":
        assert json.loads(done.stderr.splitlines()[-1])["rows_in"] == 1200


@pytest.mark.spark
def test_a_mistake_is_text_on_spark_too(stores):
    job = stores / "same_item.toml"
    job.write_text(job.read_text().replace("n.item = s.item", "n.item = s.itm"))
    done = windrow("run", job, "--on", "spark")
    assert done.returncode == 2
    assert done.stderr.startswith("UnknownColumn[unknown-column]: ")
    assert "Traceback" not in done.stderr
