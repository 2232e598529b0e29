"""Jobs on Spark and the demo, in one process of their own: each starts and stops a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from bags import bag
from example_jobs import copy_of_stores, rows_in

JOB = '''
query = """
    SELECT x.at, y.at AS then FROM x JOIN y ON x.k = y.k LEFT SEMI JOIN z ON y.k = z.k
    WHERE x.v < 3 WINDOW = 1
"""
[streams.x]
{x}
time = "at"
[streams.y]
path = "y.parquet"
time = "at"
[tables.z]
path = "z.csv"
format = "csv"
schema = "k BIGINT"
[spark]
sql.shuffle.partitions = 2
'''
TEXT = 'path = "x.csv"\nformat = "csv"\nschema = "at BIGINT, k BIGINT, v BIGINT"'
SINK = '[sink]\nformat = "json"\npath = "out/{}"\n'
OUTSIDE = """
query = "SELECT k, COUNT(*) AS n FROM s [RANGE INTERVAL 2 seconds] GROUP BY k"
[streams.s]
generate = "k BIGINT, ts TIMESTAMP"
rows = 300
rate = 100
live = false
time = "ts"
[sink]
files = "outside/{0}"
checkpoint = "outside/state-{0}"
[spark]
sql.shuffle.partitions = 2
"""
ON_SPARK = ("--on", "spark")
TESTS = Path(__file__).parents[1]

PROGRAM = """
import json, sys
from plain_files import launch_with_plain_files
from typer.testing import CliRunner
from windrow.cli.main import app
launch_with_plain_files()
done = [CliRunner().invoke(app, called) for called in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in done]))
"""


class Done(NamedTuple):
    """What a job's process would leave behind."""

    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def done(folder: Path) -> dict[str, Done]:
    """Every job of this page, run, and the demo as `make demo` runs it but with less data."""
    rows = pa.table({"at": [1, 2, 3, 4], "k": [1, 1, 2, 2], "v": [1, 2, 3, 4]})
    for name in ("x", "y"):
        pq.write_table(rows, folder / f"{name}.parquet")
    # A column that the job does not name comes first; Spark reads by places.
    (folder / "z.csv").write_text("name,k\none,1\ntwo,2\ntwo,2\n")
    # The second row has no number for a time; Spark by default would make it NULL.
    (folder / "x.csv").write_text("at,k,v\n1,1,1\nnoon,1,1\n")
    (folder / "good.toml").write_text(JOB.format(x='path = "x.parquet"'))
    (folder / "bad.toml").write_text(JOB.format(x=TEXT))
    for name in ("here", "there"):
        (folder / f"{name}.toml").write_text(OUTSIDE.format(name))

    stores = copy_of_stores(folder / "stores")
    example = (stores / "same_item.toml").read_text()
    for name in ("local", "batch", "streaming"):
        (stores / f"{name}.toml").write_text(example + SINK.format(name))
    mistaken = example.replace("n.item = s.item", "n.item = s.itm")
    (stores / "mistaken.toml").write_text(mistaken)

    jobs = {
        "good": (folder / "good.toml", *ON_SPARK),
        "bad": (folder / "bad.toml", *ON_SPARK),
        "local": (stores / "local.toml",),
        "batch": (stores / "batch.toml", *ON_SPARK, "--mode", "batch"),
        "streaming": (stores / "streaming.toml", *ON_SPARK, "--mode", "streaming"),
        "here": (folder / "here.toml", "--until-done"),
        "there": (folder / "there.toml", *ON_SPARK),
        "mistaken": (stores / "mistaken.toml", *ON_SPARK),
    }
    calls = {name: ("run", *job) for name, job in jobs.items()} | {"demo": ("demo", "--quick")}
    called = json.dumps([[str(word) for word in call] for call in calls.values()])
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, called],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ["PYTHONPATH"]]),
        },
        capture_output=True, text=True, timeout=900, check=True,
    )  # fmt: skip
    each = json.loads(ran.stdout.splitlines()[-1])
    return {name: Done(*one) for name, one in zip(calls, each, strict=True)}


def test_a_batch_job_shows_its_figures(done: dict[str, Done]) -> None:
    good = done["good"]
    assert good.exit_code == 0
    assert "4 rows" in good.stdout
    record, closing = map(json.loads, good.stderr.splitlines())
    assert closing["done"]
    assert closing["rows_out"] == 4
    assert (record["rows_in"], record["rows_out"]) == (6, 4)  # two rows did not pass the WHERE
    assert record["operators"]["WJoin x, y"]["drops"] == 6


def test_a_job_between_connectors_gives_the_rows_that_one_in_process_does(
    done: dict[str, Done], folder: Path
) -> None:
    for name in ("here", "there"):
        assert done[name].exit_code == 0, done[name].stderr
    here, there = (pq.read_table(folder / "outside" / name) for name in ("here", "there"))
    # In process the stream has ended; Spark waits for more, and has told all up to its watermark.
    reached = datetime(2026, 1, 1, 0, 0, 2, 990_000, tzinfo=UTC)
    told = here.filter(pc.field("_event_time") < reached)
    assert bag(there) == bag(told)
    assert there.num_rows > 300


def test_a_file_that_does_not_fit_its_schema_is_not_read_wrong(
    done: dict[str, Done], folder: Path
) -> None:
    assert done["bad"] == (
        2,
        "",
        "DataError[unreadable-data]: a file of a stream cannot be read\n"
        f"  Encountered error while reading file file://{folder}/x.csv.\n"
        "  hint: check the stream's format and schema\n",
    )


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_the_example_gives_the_same_rows_as_in_process(
    done: dict[str, Done], folder: Path, mode: str
) -> None:
    for name in ("local", mode):
        assert done[name].exit_code == 0, done[name].stderr
    found, wanted = (
        sorted((row["item"], row["north"], row["south"]) for row in rows_in(out / name))
        for out in [folder / "stores" / "out"]
        for name in (mode, "local")
    )
    assert found == wanted
    assert found


def test_a_streaming_job_ends_with_the_figures_of_all_its_rows(done: dict[str, Done]) -> None:
    assert json.loads(done["streaming"].stderr.splitlines()[-1])["rows_in"] == 1200


def test_the_quick_demo_finds_every_answer_right(done: dict[str, Done], folder: Path) -> None:
    assert done["demo"].exit_code == 0, done["demo"].stderr
    assert done["demo"].stdout.count("correct: all") == 3
    assert (folder / "windrow-demo.png").stat().st_size > 1_000


def test_a_mistake_is_text(done: dict[str, Done]) -> None:
    mistaken = done["mistaken"]
    assert mistaken.exit_code == 2
    assert mistaken.stderr.startswith("UnknownColumn[unknown-column]: ")
    assert "Traceback" not in mistaken.stderr
