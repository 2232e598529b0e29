"""A checkpoint that was copied: the run that is begun last goes on, the other one stops and says why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from outside import Shelf
from sessions import session

import windrow
from windrow.io.file_systems import located
from windrow.io.files_sink import committed_files
from windrow.io.folder_owner import FolderOwner

ROWS = pa.table({"n": range(60), "t": range(60)})


class Tap(Shelf):
    """Rows that come as far as it is open."""

    open_to = 20

    def latest(self, since, most_rows=4):
        return {"0": min(self.open_to, super().latest(since, most_rows)["0"])}


def begin(folder: Path, to, tap: Tap, **how: object):
    w = session({"a": tap}, time="t", lateness=0)
    return w.run(
        "SELECT n FROM a", to=to, checkpoint=folder, epoch="1 millisecond", progress="json", **how
    )


def of_files(path: Path):
    about = windrow.files(str(path), "csv")

    def numbers() -> list[int]:
        texts = [Path(file).read_text().splitlines()[1:] for file in committed_files(about)]
        return [int(line) for lines in texts for line in lines]

    return about, numbers


def of_delta(path: Path):
    def numbers() -> list[int]:
        return DeltaTable(str(path)).to_pyarrow_table()["n"].to_pylist()

    return windrow.delta(str(path)), numbers


@pytest.mark.parametrize("target", [of_files, of_delta])
def test_of_two_runs_from_one_checkpoint_the_older_stops(tmp_path, target):
    to, numbers = target(tmp_path / "out")
    assert begin(tmp_path / "own", to, Tap([ROWS], is_endless=True), until_done=True).wait(60)
    shutil.copytree(tmp_path / "own", tmp_path / "copy")
    of_older, of_newer = Tap([ROWS]), Tap([ROWS])
    older = begin(tmp_path / "own", to, of_older)
    newer = begin(tmp_path / "copy", to, of_newer)
    of_older.open_to = 40
    with pytest.raises(windrow.ResourceError) as refused:
        older.wait(60)
    of_newer.open_to = 60
    assert newer.wait(60)
    assert sorted(numbers()) == list(range(60))
    said = str(refused.value)
    assert said.startswith("ResourceError[run-taken-over]: another process has taken over the ")
    assert "UTC with the checkpoint of this run, or a copy of it, and goes on in its place" in said
    assert (
        "hint: let that one run; to run both, give one a checkpoint and a target of its own" in said
    )


def test_a_folder_is_not_taken_while_a_run_commits(tmp_path):
    """The look and the commit are one act: who comes in between waits."""
    system, root = located(str(tmp_path), {})
    older, newer = FolderOwner(system, root), FolderOwner(system, root)
    with older.taking():
        pass
    import fcntl

    with older.holding("the folder"), (tmp_path / "lock").open() as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert json.loads((tmp_path / "owner.json").read_text())["owner"] == older.name
    with newer.taking():
        pass
    with pytest.raises(windrow.ResourceError, match="run-taken-over"), older.holding("the folder"):
        pass
