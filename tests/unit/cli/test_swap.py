"""Answers that replace older ones: the old or the new one is there, whenever a run ends."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.cli.errors import JobError
from windrow.cli.job import JobSink
from windrow.cli.sinks import FolderSink, foreign, held, opened, replacing

UUID = "0f14d0ab-9605-4a62-a9e4-5ed26688389b"
OWN = (
    "part-00000.parquet", "part-00001.parquet", "part-00000.csv", "part-123456.json",
    f"part-00000-{UUID}-c000.snappy.parquet", f".part-00000-{UUID}-c000.snappy.parquet.crc",
    f"part-00001-{UUID}-c000.csv.gz", f"part-00000-{UUID}-c000.json", f"part-00003-{UUID}.c000.json",
    "_SUCCESS", "._SUCCESS.crc", "_recall.json", "_spark_metadata/0", "_checkpoint/offsets/0",
    ".part-00000.csv.unfinished",
)  # fmt: skip
FOREIGN = (
    "notes.txt", "part-1.parquet", "part-00000.csv.bak", "other.parquet", "_keep", ".hidden",
    "part-00000/deep.parquet", "data/part-00000.parquet", "my-part-00000.csv",
    f"part-00000-{UUID}-c000.txt",
)  # fmt: skip
NEW = tuple(name for name in OWN if "/" not in name and "unfinished" not in name)


def fill(folder: Path, names: tuple[str, ...] | set[str], text: str) -> dict[str, str]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return dict.fromkeys(names, text)


def seen(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): file.read_text()
        for file in folder.rglob("*")
        if file.is_file()
    }


def without_swap(found: dict[str, str]) -> dict[str, str]:
    """What lies in the folder but for what readers of it never look at."""
    return {name: text for name, text in found.items() if not name.startswith(".windrow-")}


class Killed(BaseException):
    """Nothing happens any more."""


@contextmanager
def killed_after(steps: int) -> Iterator[list[str]]:
    """Lets so many changes of the file system happen, and none after them."""
    done: list[str] = []
    before = {name: getattr(os, name) for name in ("rename", "replace", "unlink", "rmdir", "mkdir")}

    def limited(name: str) -> Any:
        def change(*args: Any, **more: Any) -> Any:
            if len(done) >= steps:
                raise Killed
            done.append(name)
            return before[name](*args, **more)

        return change

    try:
        for name in before:
            setattr(os, name, limited(name))
        with suppress(Killed):
            yield done
    finally:
        for name, own in before.items():
            setattr(os, name, own)


def replace_by(folder: Path, names: set[str], *, fails: bool = False) -> None:
    with held(str(folder)), replacing(str(folder)) as new:
        new.mkdir()
        for name in names:
            (new / name).write_text("new")
        if fails:
            raise ValueError


def names(of: tuple[str, ...]) -> st.SearchStrategy[set[str]]:
    return st.sets(st.sampled_from(of), max_size=5)


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(names(OWN), names(NEW), names(FOREIGN), st.integers(0, 40))
def test_a_run_that_is_killed_leaves_the_old_or_the_new_answer(
    old: set[str], new: set[str], others: set[str], steps: int
) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        kept = fill(folder, others, "kept")
        before = {**fill(folder, old, "old"), **kept}
        after = {**dict.fromkeys(new, "new"), **kept}
        with killed_after(steps) as done:
            replace_by(folder, new)
        is_decided = "rename" in done
        if not is_decided:
            assert without_swap(seen(folder)) == before
        # Whatever is seen meanwhile, nothing foreign has gone.
        assert kept.items() <= seen(folder).items()
        # The next run may be killed as it puts things in order, and the one after it does it.
        with killed_after(steps % 7), held(str(folder)):
            pass
        with held(str(folder)):
            assert seen(folder) == (after if is_decided else before)
        assert set(foreign(made)) == {name.split("/")[0] for name in others}


@pytest.mark.parametrize("steps", range(8))
def test_one_part_that_follows_one_is_replaced_at_one_instant(tmp_path, steps):
    fill(tmp_path, {"part-00000.parquet"}, "old")
    with killed_after(steps):
        replace_by(tmp_path, {"part-00000.parquet"})
    assert without_swap(seen(tmp_path))["part-00000.parquet"] in {"old", "new"}


@pytest.mark.law
@settings(max_examples=share_of(20), deadline=None)
@given(names(OWN), names(NEW), names(FOREIGN))
def test_a_query_that_fails_changes_nothing(old: set[str], new: set[str], others: set[str]) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        before = {**fill(folder, old, "old"), **fill(folder, others, "kept")}
        with pytest.raises(ValueError):  # noqa: PT011
            replace_by(folder, new, fails=True)
        assert seen(folder) == before


def test_an_interrupt_waits_for_the_swap(tmp_path, monkeypatch):
    fill(tmp_path, {"part-00000.csv", "part-00001.csv"}, "old")
    replace = os.replace

    def interrupted(*args: Any, **more: Any) -> None:
        os.kill(os.getpid(), 2)
        return replace(*args, **more)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_by(tmp_path, {"part-00000.csv", "_SUCCESS"})
    assert seen(tmp_path) == {"part-00000.csv": "new", "_SUCCESS": "new"}


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    sink = JobSink(str(tmp_path / "out"), overwrite=True)
    with FolderSink(sink) as first:
        first.write(pa.table({"n": [1]}))
        with pytest.raises(JobError) as caught, opened(sink):
            pass
        assert str(caught.value) == (
            f"JobError[sink-in-use]: another run is writing to the sink {sink.path!r}\n"
            "  hint: wait until it has ended, or give this job a sink of its own"
        )
    assert [file.name for file in Path(sink.path).iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_an_answer_of_several_parts_replaces_one_of_more(tmp_path, format_):
    for parts in (3, 2, 0, 1):
        with FolderSink(JobSink(str(tmp_path), format_, overwrite=True)) as folder:
            for _ in range(parts):
                folder.write(pa.table({"n": [parts]}))
        found = sorted(file.name for file in tmp_path.iterdir())
        assert found == [f"part-{number:05d}.{format_}" for number in range(parts)]


def test_a_part_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def full(_table, file):
        file.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(__import__("windrow.cli.sinks").cli.sinks._WRITERS, "csv", full)
    with pytest.raises(OSError), FolderSink(JobSink(str(tmp_path / "out"), "csv")) as folder:  # noqa: PT011
        folder.write(pa.table({"n": [1]}))
    assert not (tmp_path / "out").exists()
