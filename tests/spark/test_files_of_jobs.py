"""The same files are read by every runner, in one order; answers are replaced on Spark as in process."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from example_jobs import rows_in

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
JOB = """
query = "{query}"
{streams}
[sink]
path = "out/{name}"
format = "json"
{sink}
[spark]
sql.shuffle.partitions = 2
"""
STREAM = """
[streams.{name}]
path = "{path}"
format = "json"
schema = "k BIGINT, at BIGINT"
time = "at"
{more}
"""
PLAIN = "SELECT k FROM s"
WINDOW = "SELECT COUNT(*) AS n FROM s [RANGE 0]"
RUNNERS = [(on, mode) for on in ("local", "spark") for mode in ("batch", "streaming")]
NAMES = {
    "a.json": 1, "b.JSON": 2, "c.json.gz": 3, "d.json.bz2": 4, "sub/e.json": 5, "sub/f.jsonl": 6,
    "g[1].json": 7, "h*.json": 8, "i{j}.ndjson": 9, "k l.json": 10, "é.json": 11,
    "_f.json": None, ".g.json": None, "_dir/h.json": None, "sub/_x/i.json": None, "note.txt": None,
    "empty.json": None,
}  # fmt: skip
PATHS = {
    "folder": "files",
    "single": "files/c.json.gz",
    "odd": "files/g[1].json",
    "some": "files/[a-c]*",
}
READ = {
    "folder": [key for key in NAMES.values() if key is not None],
    "single": [3],
    "odd": [7],
    "some": [1, 2, 3],
}


class Done(NamedTuple):
    """What a job's process would leave behind."""

    exit_code: int
    stdout: str
    stderr: str


def line(k: int, at: int) -> bytes:
    return json.dumps({"k": k, "at": at}).encode() + b"\n"


def write_files(folder: Path) -> None:
    for name, key in NAMES.items():
        file = folder / "files" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = line(key or 99, key or 99)
        packed = {".gz": gzip.compress, ".bz2": bz2.compress}.get(file.suffix, bytes)(rows)
        file.write_bytes(b"" if name == "empty.json" else packed)
    # Made in another order than that of their names, all at one instant; and one by one, backwards.
    for number in (3, 5, 1, 0, 4, 2):
        for name, second in (("ties", 1_000), ("backwards", 1_000 - number)):
            file = folder / name / f"{number:02d}.json"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(line(number, number * 10))
            os.utime(file, (second, second))
    (folder / "bad").mkdir()
    (folder / "bad" / "1.json").write_bytes(line(1, 1) + b'{"k": "one", "at": 2}\n')
    (folder / "none").mkdir()
    (folder / "none" / "x.csv").write_text("k,at\n")


def old_answer(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "part-00000.json").write_bytes(b'{"k": 0}\n')
    (folder / "part-00001.json").write_bytes(b'{"k": 0}\n')
    (folder / "mine.txt").write_text("mine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def done(folder: Path) -> dict[str, Done]:
    """Every job of this page, run."""
    write_files(folder)
    calls: dict[str, list[str]] = {}

    def job(
        name: str, on: str, mode: str, streams: str, query: str = PLAIN, sink: str = ""
    ) -> None:
        file = folder / f"{name}.toml"
        file.write_text(JOB.format(name=name, streams=streams, query=query, sink=sink))
        calls[name] = ["run", str(file), "--on", on, "--mode", mode, "--until-done"]

    def stream(path: str, name: str = "s", more: str = "") -> str:
        return STREAM.format(name=name, path=path, more=more)

    every = " UNION ALL ".join(f"SELECT '{what}' AS what, k FROM {what}_" for what in PATHS)
    for on, mode in RUNNERS:
        streams = "".join(stream(path, f"{what}_") for what, path in PATHS.items())
        job(f"{on}-{mode}", on, mode, streams, every)
    job("none", "spark", "streaming", stream("none"))
    for name in ("ties", "backwards"):
        job(name, "spark", "streaming", stream(name, more="files_per_batch = 1"), WINDOW)
    for name, path in (("good", "files"), ("bad", "bad")):
        old_answer(folder / "out" / name)
        job(name, "spark", "batch", stream(path), sink="overwrite = true")

    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(list(calls.values()))],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ["PYTHONPATH"]])},
        capture_output=True, text=True, timeout=900, check=True,
    )  # fmt: skip
    each = json.loads(ran.stdout.splitlines()[-1])
    return {name: Done(*one) for name, one in zip(calls, each, strict=True)}


@pytest.mark.law
@pytest.mark.parametrize(("on", "mode"), RUNNERS)
def test_every_runner_reads_the_same_files(
    done: dict[str, Done], folder: Path, on: str, mode: str
) -> None:
    one = done[f"{on}-{mode}"]
    assert one.exit_code == 0, one.stderr
    rows = rows_in(folder / "out" / f"{on}-{mode}")
    found = {what: sorted(row["k"] for row in rows if row["what"] == what) for what in PATHS}
    assert found == READ
    notes = [json.loads(text)["note"] for text in one.stderr.splitlines() if '"note"' in text]
    assert [note.split(": ")[-1] for note in notes] == ["note.txt", "empty.json"]


def test_a_folder_without_a_file_of_the_format_is_an_error(done: dict[str, Done]) -> None:
    assert done["none"].exit_code == 2
    assert done["none"].stderr.startswith("JobError[no-data-files]: stream s finds no file at ")


def last(one: Done) -> dict[str, Any]:
    assert one.exit_code == 0, one.stderr
    record = json.loads(one.stderr.splitlines()[-1])
    assert record["done"]
    return record


def test_files_of_one_time_come_in_the_order_of_their_names(done: dict[str, Done]) -> None:
    figures = {"rows_in": 6, "late": 0, "null_time": 0, "lateness_needed": None}
    assert last(done["ties"])["streams"] == {"s": figures}
    assert '"warning"' not in done["ties"].stderr


def test_late_rows_are_said_at_the_end_with_the_lateness_that_would_have_sufficed(
    done: dict[str, Done],
) -> None:
    told = last(done["backwards"])
    # The newest file is the first of the names: all but the first read are behind it. Spark's
    # watermark moves a batch later than that.
    assert told["late"] == told["streams"]["s"]["late"] >= 4
    assert told["streams"]["s"]["lateness_needed"] == 50
    warned = [json.loads(text) for text in done["backwards"].stderr.splitlines()]
    assert [one["warning"] for one in warned if "warning" in one] == [
        f"{told['late'] / 6:.1%} of the rows of s came late and are not in the answer "
        f"({told['late']} of 6): a lateness of 50 would have sufficed"
    ]


def test_spark_replaces_an_answer_when_it_has_the_new_one(
    done: dict[str, Done], folder: Path
) -> None:
    assert done["good"].exit_code == 0, done["good"].stderr
    out = folder / "out" / "good"
    assert sorted(row["k"] for row in rows_in(out)) == READ["folder"]
    assert (out / "mine.txt").read_text() == "mine"
    assert not (out / "part-00000.json").exists()
    assert not list(out.glob(".windrow*"))
    assert "kept in the sink, where Windrow did not write it: mine.txt" in done["good"].stderr


def test_a_query_that_fails_on_spark_leaves_the_old_answer(
    done: dict[str, Done], folder: Path
) -> None:
    assert done["bad"].exit_code == 2
    names = sorted(file.name for file in (folder / "out" / "bad").iterdir())
    assert names == ["mine.txt", "part-00000.json", "part-00001.json"]
