"""Checkpoints in a folder: whole or not at all, once at a time, no larger than what they hold."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from math import ceil, log

import pyarrow as pa
import pytest
from outside import Shelf, Tray
from sessions import session

import windrow
from windrow.run.local import checkpoint_store
from windrow.run.local.checkpoint_store import FILE, LOCK, CheckpointStore

JOIN = "SELECT a.k, a.t AS at, b.t AS bt FROM a, b WHERE a.k = b.k WINDOW = {}"


def rows(count: int, keys: int = 1_000) -> pa.Table:
    return pa.table({"k": [n % keys for n in range(count)], "t": range(count)})


def run(folder, tables, *, sink=None, window=50):
    shelves = {name: Shelf([table], most_rows=100) for name, table in tables.items()}
    w = session(shelves, time="t", lateness=0)
    made = w.run(JOIN.format(window), to=sink or Tray(), checkpoint=folder, epoch="1 millisecond")
    assert made.wait(60)
    return made


@contextmanager
def database(folder) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / FILE)) as opened, opened:
        yield opened


def test_no_more_checkpoints_are_kept_than_are_needed(tmp_path):
    run(tmp_path, {"a": rows(600), "b": rows(600)})
    with database(tmp_path) as kept:
        assert kept.execute("SELECT count(*) FROM checkpoints").fetchone()[0] == 2
        chunks = kept.execute("SELECT count(*), coalesce(sum(length), 0) FROM chunks").fetchone()
    assert chunks[0] < 20
    files = list(tmp_path.glob("chunks-*.bin"))
    assert len(files) == 1


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path):
    script = f"""
        import time
        from windrow.run.local.checkpoint_store import CheckpointStore
        store = CheckpointStore({str(tmp_path)!r})
        print("held", flush=True)
        time.sleep(600)
    """
    holder = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(windrow.PlanError) as refused:
            CheckpointStore(tmp_path)
        assert str(refused.value) == (
            f"PlanError[checkpoint-in-use]: another process runs with the checkpoint in '{tmp_path}'\n"
            "  two runs from one checkpoint would give the answer twice\n"
            "  hint: stop that one first, or give this run a folder of its own"
        )
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    CheckpointStore(tmp_path).close()


def in_the_text(folder):
    with database(folder) as kept:
        kept.execute("UPDATE checkpoints SET text = replace(text, 'written', 'Written')")


def in_a_chunk(folder):
    (file,) = folder.glob("chunks-*.bin")
    file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))


def by_a_file_that_is_gone(folder):
    (file,) = folder.glob("chunks-*.bin")
    file.unlink()


def by_a_file_cut_short(folder):
    (file,) = folder.glob("chunks-*.bin")
    file.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (in_the_text, "the text of epoch"),
        (in_a_chunk, "is not what was written"),
        (by_a_file_that_is_gone, "chunks-00000001.bin is gone"),
        (by_a_file_cut_short, "is not what was written"),
    ],
)
def test_what_was_damaged_is_refused(tmp_path, damage, said):
    tray, tables = Tray(), {"a": rows(300), "b": rows(300)}
    shelves = {name: Shelf([table], is_endless=True) for name, table in tables.items()}
    w = session(shelves, time="t", lateness=0)
    assert w.run(JOIN.format(50), to=tray, checkpoint=tmp_path, until_done=True).wait(60)
    damage(tmp_path)
    with pytest.raises(windrow.ResourceError, match=said) as refused:
        run(tmp_path, tables, sink=tray)
    assert refused.value.condition == "damaged-checkpoint"


def test_a_process_that_was_killed_as_it_made_the_folder_begins_anew(tmp_path, monkeypatch):
    """What it had written before each statement of SQL, and before it signed the lock, stands for it."""
    kills = []

    def kill(_=None):
        kills.append(shutil.copytree(tmp_path / "state", tmp_path / f"killed-{len(kills)}"))

    connect = sqlite3.connect

    def traced(file, **about: object):
        kill()
        opened = connect(file, **about)
        opened.set_trace_callback(kill)
        return opened

    monkeypatch.setattr(sqlite3, "connect", traced)
    monkeypatch.setattr(checkpoint_store, "sync_folder", kill)
    CheckpointStore(tmp_path / "state").close()
    monkeypatch.undo()
    states = {tuple(sorted((f.name, f.stat().st_size) for f in own.iterdir())) for own in kills}
    assert len(states) > 3
    for own in kills:
        with CheckpointStore(own) as store:
            assert store.read(None) is None


def gone(file):
    file.unlink()


def emptied(file):
    file.write_bytes(b"")


def without_tables(file):
    file.unlink()
    with closing(sqlite3.connect(file)) as opened:
        opened.execute("PRAGMA journal_mode = WAL")


@pytest.mark.parametrize(
    ("damage", "said"),
    [(gone, "is gone"), (emptied, "is empty"), (without_tables, "has lost its tables")],
)
@pytest.mark.parametrize(
    ("sql", "is_lock_there"),
    # Without chunks and without a lock nothing tells the folder from one that is new.
    [("SELECT k FROM a", True), (JOIN.format(50), True), (JOIN.format(50), False)],
)
def test_a_database_that_is_gone_is_not_taken_for_a_run_that_has_not_begun(
    tmp_path, damage, said, sql, is_lock_there
):
    shelves = {name: Shelf([rows(20)], is_endless=True) for name in "ab"}
    w = session(shelves, time="t", lateness=0)
    assert w.run(sql, to=Tray(), checkpoint=tmp_path, until_done=True).wait(60)
    damage(tmp_path / FILE)
    if not is_lock_there:
        assert any(tmp_path.glob("chunks-*.bin"))
        (tmp_path / LOCK).unlink()
    held = {own.name for own in tmp_path.glob("chunks-*.bin")}
    with pytest.raises(windrow.ResourceError, match=f"{FILE} {said}") as refused:
        w.run(sql, to=Tray(), checkpoint=tmp_path, until_done=True)
    assert refused.value.condition == "damaged-checkpoint"
    assert {own.name for own in tmp_path.glob("chunks-*.bin")} == held


def test_a_lock_that_was_removed_is_made_again(tmp_path):
    tray = Tray()
    for _ in range(2):
        run(tmp_path, {"a": rows(300), "b": rows(300)}, sink=tray)
        (tmp_path / LOCK).unlink()
    assert len(tray.epochs) == 1


def test_another_layout_is_refused(tmp_path):
    CheckpointStore(tmp_path).close()
    with database(tmp_path) as kept:
        kept.execute("UPDATE about SET value = '77' WHERE name = 'layout'")
    with pytest.raises(windrow.ResourceError, match="has layout 77"):
        CheckpointStore(tmp_path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(windrow.ResourceError, match="no checkpoint can be kept in"):
        CheckpointStore(tmp_path / "file" / "state")


def test_another_sink_is_refused(tmp_path):
    tables = {"a": rows(300), "b": rows(300)}
    run(tmp_path, tables)
    with pytest.raises(
        windrow.ResourceError, match="has the epochs of this run up to -1"
    ) as refused:
        run(tmp_path, tables)  # with an empty sink
    assert refused.value.condition == "sink-of-another-time"


def test_another_query_is_refused(tmp_path):
    tray, tables = Tray(), {"a": rows(300), "b": rows(300)}
    run(tmp_path, tables, sink=tray)
    with pytest.raises(windrow.PlanError, match="made by another query"):
        run(tmp_path, tables, sink=tray, window=51)


def test_an_iterator_cannot_be_read_again_after_a_restart(tmp_path):
    w = session({"a": iter([rows(3)])}, time="t")
    with pytest.raises(windrow.ResourceError, match="a cannot be read from where") as refused:
        w.run("SELECT k FROM a", to=Tray(), checkpoint=tmp_path)
    assert refused.value.condition == "not-replayable"


def test_late_rows_are_kept_only_where_there_is_a_place_for_them():
    w = session({"a": Shelf([rows(3)])}, time="t")
    with pytest.raises(windrow.PlanError, match="there is no folder for them"):
        w.run("SELECT COUNT(*) AS n FROM a [RANGE 5]", to=Tray(), on_late="keep")


def test_a_batch_writes_what_it_brought_whatever_the_windows_hold(tmp_path):
    """A step over a window of many rows adds few bytes to the file."""
    table = rows(40_000, keys=40_000)
    shelves = {name: Shelf([table], most_rows=500, is_endless=True) for name in "ab"}
    w = session(shelves, time="t", lateness=0)
    run_ = w.run(
        JOIN.format(100_000), to=Tray(), checkpoint=tmp_path, until_done=True, epoch="1 hour"
    )
    assert run_.wait(120)
    held = sum(file.stat().st_size for file in tmp_path.glob("chunks-*.bin"))
    # However many epochs there were, at most one for each batch of 500: a row is written as it comes, and
    # once more for each tier of four that it is merged into. Nothing is removed from the newest file.
    tiers = ceil(log(40_000 / 500, 4))
    assert held < (1 + tiers) * 2 * table.nbytes + 1_000_000


def test_a_full_disk_is_waited_for_and_nothing_is_lost(tmp_path):
    """The limit on a file's size stands for the disk's: writing fails, and works again later."""
    script = f"""
        import resource, signal, sys, threading, time
        sys.path[:0] = {[p for p in sys.path if p.endswith("tests")]!r}
        import pyarrow as pa, windrow
        from outside import Shelf, Tray
        from sessions import session
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        table = pa.table({{"k": range(20_000), "t": range(20_000)}})
        w = session({{n: Shelf([table], most_rows=2_000) for n in "ab"}}, time="t", lateness=0)
        tray = Tray()
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        run = w.run({JOIN.format(100_000)!r}, to=tray, checkpoint={str(tmp_path)!r}, progress="json",
                    epoch="1 millisecond")
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        threading.Timer(3, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))).start()
        assert run.wait(60)
        print(sum(batch.num_rows for batch in tray.rows))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "20000", done.stderr[-3000:]
    assert "cannot be written now" in done.stderr
