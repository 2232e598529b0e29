"""Streams that are followed: what `sql` answers over them, and that each query reads them by itself."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv

import windrow
from windrow.io import Source
from windrow.run.local.followed import FollowedSource

JOIN = "SELECT a.n FROM a, b WHERE a.n = b.n WINDOW = 0"


def put(folder: Path, name: str, numbers: range) -> None:
    folder.mkdir(exist_ok=True)
    csv.write_csv(pa.table({"n": list(numbers)}), folder / f"{name}.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "ab":
        put(tmp_path / name, "1", range(100))
    return tmp_path


def followed(folder: Path) -> windrow.Session:
    made = windrow.Session()
    for name in "ab":
        made.stream(name, windrow.files(str(folder / name), format="csv"), time="n")
    return made


@pytest.mark.timeout(60)
@pytest.mark.parametrize("ask", ["to_pandas", "to_polars"])
def test_the_whole_answer_is_that_over_what_is_there(folder, ask):
    result = followed(folder).sql(JOIN)
    assert sorted(getattr(result, ask)()["n"].to_list()) == list(range(100))


@pytest.mark.timeout(60)
def test_asked_again_it_reads_what_has_come_since(folder):
    result = followed(folder).sql(JOIN)
    assert result.to_arrow().num_rows == 100
    for name in "ab":
        put(folder / name, "2", range(100, 130))
    assert result.to_arrow().num_rows == 130


@pytest.mark.timeout(60)
def test_a_loop_follows_the_streams_and_the_rest_ends_with_what_is_there(folder):
    result = followed(folder).sql(JOIN)
    first = next(result)
    for name in "ab":
        put(folder / name, "2", range(100, 130))
    assert first.num_rows + result.to_arrow().num_rows == 130


@pytest.mark.timeout(60)
def test_queries_over_one_stream_do_not_share_what_it_has_open(folder, tmp_path):
    (folder / "a" / "2.csv").write_text("n\n200\nnot a number\n201\n")
    made = windrow.Session()
    place = windrow.files(
        str(folder / "a"), format="csv", schema="n BIGINT", bad_rows="aside", batch_rows=1
    )
    made.stream("a", place, time="n")
    seen: dict[str, list[int]] = {"first": [], "second": []}
    has_read, goes_on = threading.Event(), threading.Event()

    def keep(name: str):
        def taken(rows: pa.Table, epoch: int) -> None:
            seen[name] += rows["n"].to_pylist()
            if name == "first":
                has_read.set()
                goes_on.wait(30)

        return taken

    runs = {}
    for name in seen:
        runs[name] = made.run(
            "SELECT n FROM a",
            to=windrow.call(keep(name)),
            until_done=True,
            epoch="1 millisecond",
            dead_letters=str(tmp_path / f"letters {name}"),
        )
        if name == "first":
            assert has_read.wait(30)
        else:
            runs[
                name
            ].wait()  # it closes what it has read from, while the first one is in the middle
            goes_on.set()
    runs["first"].wait()
    assert sorted(seen["first"]) == sorted(seen["second"]) == [*range(100), 200, 201]
    assert {name: run.aside for name, run in runs.items()} == {"first": 1, "second": 1}


class Growing(Source):
    """Numbers; `look` is called while somebody looks how many there are."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.look = lambda: None

    def columns(self):
        return pa.schema([("n", pa.int64())])

    def start(self):
        return {"0": 0}

    def latest(self, since, most_rows=0):  # noqa: ARG002
        found = {"0": len(self.numbers)}
        self.look()
        return found

    def read(self, partition, start, end):  # noqa: ARG002
        yield pa.record_batch({"n": pa.array(self.numbers[start:end], pa.int64())})


def test_what_comes_during_the_last_look_is_read():
    source = Growing()
    followed = FollowedSource("s", source)

    def arrive():
        source.look = lambda: None
        source.numbers.append(7)
        followed.end_here()

    source.look = arrive
    found = [own for own in followed.batches(None, 0) if isinstance(own, pa.RecordBatch)]
    assert [n for own in found for n in own["n"].to_pylist()] == [7]
