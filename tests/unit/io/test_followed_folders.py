"""Folders that are followed while files come and go, and while a sink writes and merges there."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contracts.source_contract import taken, through_json

import windrow
from windrow.errors import DataError
from windrow.io import Answer
from windrow.io.files_sink import FilesSink
from windrow.io.files_source import NOTHING, FilesRead

DDL = "n BIGINT"
COLUMNS = pa.schema([("n", pa.int64())])


class Follower:
    """Reads on from where it is, in a process that may be begun anew."""

    def __init__(self, about: windrow.files) -> None:
        self.about = about
        self.begin_anew()
        self.since = self.source.start()
        self.seen: list[int] = []

    def begin_anew(self) -> None:
        self.source = self.about.source()

    def step(self) -> bool:
        self.source._looked = (0.0, 0.0)  # none of its pauses
        end = self.source.latest(self.since)
        part, is_new = (self.since, end), end != self.since
        for table in taken(self.source, part).values() if is_new else ():
            self.seen += table["n"].to_pylist()
        self.since = through_json(end)
        return is_new

    def read_on(self) -> list[int]:
        """What is new, all of it."""
        before = len(self.seen)
        while self.step():
            pass
        return self.seen[before:]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr("windrow.io.files_source.MOST_RECENT", 5)


def put(folder: Path, name: str, n: int, at: int | None = None) -> Path:
    file = folder / f"{name}.csv"
    file.write_text(f"n\n{n}\n")
    os.utime(file, ns=(at or n, at or n))
    return file


def filled(folder: Path, order: str) -> Follower:
    for n in range(1, 21):
        put(folder, f"b{n:02d}", n)
    follower = Follower(windrow.files(str(folder), "csv", DDL, order, batch_rows=3))
    assert follower.read_on() == list(range(1, 21))
    return follower


@pytest.mark.law
@pytest.mark.parametrize("is_restarted", [True, False])
@pytest.mark.parametrize("removed", [0, 1, 8, 20])
def test_by_name_a_file_that_sorts_before_is_refused_whatever_was_removed(
    tmp_path, is_restarted, removed
):
    follower = filled(tmp_path, "name")
    for n in range(1, 1 + removed):
        (tmp_path / f"b{n:02d}.csv").unlink()
    if is_restarted:
        follower.begin_anew()
    assert follower.read_on() == []
    for name in ("a", "b07a", "b19a"):
        own = put(tmp_path, name, 99)
        with pytest.raises(DataError, match=r"sorts before 'b20\.csv'") as caught:
            follower.read_on()
        assert caught.value.condition == "file-out-of-order"
        own.unlink()
    put(tmp_path, "c", 100)
    assert follower.read_on() == [100]


@pytest.mark.law
@pytest.mark.parametrize("is_restarted", [True, False])
@pytest.mark.parametrize("removed", [0, 1, 8, 20])
def test_by_time_a_file_with_an_older_time_is_read_when_it_is_found(
    tmp_path, is_restarted, removed
):
    follower = filled(tmp_path, "time")
    for n in range(1, 1 + removed):
        (tmp_path / f"b{n:02d}.csv").unlink()
    for number in range(8):
        if is_restarted:
            follower.begin_anew()
        put(tmp_path, f"late{number}", 100 + number, at=1 + number)
        assert follower.read_on() == [100 + number]
    follower.begin_anew()
    assert follower.read_on() == []


def test_a_file_that_was_read_last_and_has_changed_is_an_error_after_a_restart_by_time(tmp_path):
    follower = filled(tmp_path, "time")
    put(tmp_path, "late", 100, at=1)
    assert follower.read_on() == [100]
    put(tmp_path, "late", 101, at=2)
    follower.begin_anew()
    with pytest.raises(DataError, match="has changed"):
        follower.read_on()


def test_an_offset_forgets_files_that_were_removed(tmp_path):
    follower = filled(tmp_path, "name")
    assert len(follower.since["0"]["below"]["files"]) == 15 * 8
    for n in range(1, 15):
        (tmp_path / f"b{n:02d}.csv").unlink()
    put(tmp_path, "c", 100)
    follower.read_on()
    assert len(follower.since["0"]["below"]["files"]) == 2 * 8


def test_what_was_read_long_ago_is_known_by_eight_letters():
    read = FilesRead(NOTHING)
    names = [f"sub/{n}.csv" for n in range(5_000)]
    for name in names[::2]:
        read.add(name)
    told = through_json(read.told())
    assert len(told["files"]) == 2_500 * 8
    again = FilesRead(told)
    assert [again.has(name) for name in names] == [True, False] * 2_500


class Writer:
    """A files sink that commits a row or two with each epoch."""

    def __init__(self, about: windrow.files, run: str = "r" * 32) -> None:
        self.sink = about.sink()
        self.sink.open(run, Answer(COLUMNS))
        self._epoch = 0
        self.written: list[int] = []

    def commit(self, first: int, tasks: int = 1) -> None:
        told = []
        for n in range(first, first + 2 * tasks, 2):
            rows = pa.table({"n": [n, n + 1]}).to_batches()
            told.append(self.sink.write(self._epoch, rows))
            self.written += [n, n + 1]
        self.sink.commit(self._epoch, told)
        self._epoch += 1


def followed(about: windrow.files) -> Follower:
    return Follower(windrow.files(about.path, about.format, DDL, batch_rows=1))


@pytest.mark.law
@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_a_folder_is_followed_while_its_parts_are_merged(tmp_path, format_, monkeypatch):
    monkeypatch.setattr("windrow.io.files_sink.MOST_OF_A_LEVEL", 3)
    monkeypatch.setattr("windrow.io.epoch_log.MOST_FILES", 3)
    about = windrow.files(str(tmp_path), format_, compact_bytes=1 << 20)
    writer, follower = Writer(about), followed(about)
    for number in range(18):
        writer.commit(10 * number)
        if number > 3:  # it has read a part of a part, and knows of others
            follower.step()
    follower.read_on()
    assert follower.seen == writer.written
    assert len(list(tmp_path.glob(f"*.{format_}"))) < 10
    assert follower.since["0"]["below"]["files"] == ""


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_parts_may_be_put_in_place_between_a_look_and_reading(tmp_path, format_, monkeypatch):
    about = windrow.files(str(tmp_path), format_)
    writer, follower = Writer(about), followed(about)
    place = FilesSink._place

    def stepping(self, part):
        follower.step()
        place(self, part)
        follower.step()

    monkeypatch.setattr(FilesSink, "_place", stepping)
    for number in range(3):
        writer.commit(100 * number, tasks=4)
    follower.read_on()
    assert follower.seen == writer.written


def test_logs_may_be_written_as_one_while_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("windrow.io.epoch_log.MOST_FILES", 3)
    about = windrow.files(str(tmp_path))
    writer, follower = Writer(about), followed(about)
    for number in range(3):
        writer.commit(10 * number)
    read = windrow.io.epoch_log.EpochLog._content

    def folding(self, path):
        if len(writer.written) == 6:
            writer.commit(90)
        return read(self, path)

    monkeypatch.setattr("windrow.io.epoch_log.EpochLog._content", folding)
    follower.read_on()
    assert follower.seen == writer.written
    assert len(writer.written) == 8


def test_a_run_that_begins_anew_in_a_folder_is_followed_too(tmp_path):
    about = windrow.files(str(tmp_path))
    first, follower = Writer(about, "a" * 32), followed(about)
    first.commit(0)
    first.commit(10)
    assert follower.read_on() == [0, 1, 10, 11]
    second = Writer(about, "b" * 32)
    second.commit(20)
    assert follower.read_on() == [20, 21]
    first.commit(30)
    follower.begin_anew()
    assert follower.read_on() == [30, 31]


def test_a_file_of_a_plain_folder_that_is_gone_is_an_error(tmp_path):
    for n in (1, 2):
        put(tmp_path, f"b{n}", n)
    follower = Follower(windrow.files(str(tmp_path), "csv", DDL, batch_rows=1))
    follower.step()
    (tmp_path / "b2.csv").unlink()
    with pytest.raises(DataError, match="is gone") as caught:
        follower.step()
    assert caught.value.condition == "file-gone"


def test_a_run_that_writes_into_the_folder_that_it_reads_says_so(tmp_path):
    for number in range(3):
        rows = pa.table({"id": [number], "ts": [number]})
        pq.write_table(rows, tmp_path / f"{number}.parquet")
    w = windrow.Session()
    w.stream("a", windrow.files(str(tmp_path)), time="ts")
    run = w.run("SELECT id, ts FROM a", to=windrow.files(str(tmp_path)), until_done=True)
    with pytest.raises(DataError, match="sink-among-files"):
        run.wait()
