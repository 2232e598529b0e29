"""Late rows, and what is no row, that a run keeps in a folder: its own, whole, and durable."""

from __future__ import annotations

import errno
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from outside import Killed, Shelf, Tray
from sessions import session

import windrow
from windrow.io import Aside
from windrow.run.local import dead_letters as kept
from windrow.run.local.dead_letters import Letters

ROWS = pa.record_batch({"k": [1]})


def asked(folder, rows: int, *, to=None, **about: object):
    """A run over rows of which every third is none."""
    table = pa.table({"k": range(rows), "t": range(rows)})
    shelf = Shelf([table], poison={"0": set(range(0, rows, 3))}, is_endless=True)
    w = session({"a": shelf}, time="t", lateness=0)
    return w.run(
        "SELECT k FROM a", to=to or Tray(), until_done=True, dead_letters=str(folder), **about
    )


def aside(folder) -> list[int]:
    files = folder.glob("a/aside-*.parquet")
    return sorted(int(row["offset"]) for file in files for row in pq.read_table(file).to_pylist())


def test_runs_that_share_a_folder_keep_what_each_has_found(tmp_path):
    for number, rows in enumerate((12, 6)):
        assert asked(tmp_path / "d", rows, checkpoint=tmp_path / f"state{number}").wait(60)
    assert aside(tmp_path / "d") == [0, 0, 3, 3, 6, 9]


def test_a_run_without_a_checkpoint_overwrites_nothing_of_the_one_before(tmp_path):
    for rows in (12, 6):
        assert asked(tmp_path / "d", rows).wait(60)
    assert aside(tmp_path / "d") == [0, 0, 3, 3, 6, 9]


def test_only_a_runs_own_files_of_later_epochs_are_removed(tmp_path):
    for run in ("r1", "r2"):
        for epoch in (0, 1, 2):
            Letters(tmp_path, run).write(epoch, {"a": [ROWS]}, {})
    (tmp_path / "a" / ".late-r1-0000000009.unfinished").write_text("")
    (tmp_path / "a" / "yours.parquet").write_text("")
    Letters(tmp_path, "r1").open(0)
    assert sorted(own.name for own in (tmp_path / "a").iterdir()) == [
        "late-r1-0000000001.parquet",
        *(f"late-r2-{n:010d}.parquet" for n in (1, 2, 3)),
        "yours.parquet",
    ]


def test_a_folder_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    (tmp_path / "d").write_text("a file")
    with pytest.raises(windrow.ResourceError) as refused:
        asked(tmp_path / "d", 6, checkpoint=tmp_path / "state")
    assert refused.value.condition == "files-out-of-reach"
    (tmp_path / "d").unlink()
    assert asked(tmp_path / "d", 6, checkpoint=tmp_path / "state").wait(60)  # it is let go of


def test_a_full_disk_is_waited_for_and_nothing_is_lost(tmp_path, monkeypatch):
    left = [OSError(errno.ENOSPC, "No space left on device")] * 2
    write = pq.write_table

    def full(table, file):
        if left:
            raise left.pop()
        write(table, file)

    monkeypatch.setattr(kept.pq, "write_table", full)
    assert asked(tmp_path / "d", 6, checkpoint=tmp_path / "state").wait(60)
    assert (aside(tmp_path / "d"), left) == ([0, 3], [])


def test_a_disk_that_stays_full_ends_the_run_in_our_words(tmp_path, monkeypatch):
    def full(table, file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kept.pq, "write_table", full)
    run = asked(tmp_path / "d", 6, checkpoint=tmp_path / "state", patience="1 millisecond")
    with pytest.raises(windrow.io.Unavailable) as failed:
        run.wait(60)
    assert failed.value.condition == "files-unavailable"
    assert str(tmp_path / "d") in failed.value.sentence


def test_a_file_and_its_folder_are_on_the_disk_when_it_is_written(tmp_path, monkeypatch):
    synced = []
    places = {own.stat().st_ino: own for own in [tmp_path]}

    def sync(handle):
        places.update({own.stat().st_ino: own for own in tmp_path.rglob("*")})
        synced.append(places[os.fstat(handle).st_ino].relative_to(tmp_path).as_posix())

    monkeypatch.setattr(os, "fsync", sync)
    Letters(tmp_path, "r").write(0, {}, {"a": [Aside("0", 7, "no row", b"?")]})
    unfinished = "a/.aside-r-0000000001.unfinished"
    assert synced == [
        ".",
        unfinished,
        "a",
        "a",
    ]  # the folder of the stream is new; then it is renamed


def test_what_a_run_that_was_killed_has_found_comes_once(tmp_path):
    tray = Tray()
    for touch in range(2, 9, 2):
        try:
            asked(tmp_path / "d", 9, to=tray.breaking_at(touch), checkpoint=tmp_path / "s").wait(60)
        except Killed:
            continue
    assert asked(tmp_path / "d", 9, to=tray, checkpoint=tmp_path / "s").wait(60)
    assert aside(tmp_path / "d") == [0, 3, 6]
