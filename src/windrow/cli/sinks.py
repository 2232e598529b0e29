"""Where an answer goes when a job runs: a folder of files, or the terminal.

The answer of a query that sheds is a part of the whole one, and is marked where its rows are: by a
line below those on the terminal, by a file beside those in a folder, whatever their format.

An answer that takes the place of an older one in its folder does so once it is complete. New parts are
written to a hidden folder inside the sink's: nobody who reads the sink sees them.

    step    in the folder            hidden in it                           killed here, the next run
    -------------------------------------------------------------------------------------------------
    write   the old answer           .windrow-new-1/  some new parts        removes what is hidden
    seal    the old answer           .windrow-swap/   all parts, their list ends the swap
    clear   old parts that have no   .windrow-swap/   all parts, their list ends the swap
            namesake go
    move    new parts come in place  .windrow-swap/   the rest, the list    ends the swap
            of their namesakes
    end     the new answer           -                                      -

A query that fails, or is interrupted, ends at `write`: the old answer stays as it was. `seal` is one
rename, so the answer is decided at one instant; `clear` and `move` are repeated without harm. An
answer of one part that follows one of the same name is replaced by one rename: then nobody ever sees
anything but the old or the new one. One run at a time may write to a folder: it holds a lock on it,
which ends with the process, however that does.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from windrow.cli.errors import JobError
from windrow.cli.job import JobSink
from windrow.io.json_lines import json_lines
from windrow.run.progress import Recall
from windrow.run.terminal import Terminal, readable

MOST_ROWS_SHOWN = 20

NEW = ".windrow-new-"
"""Before the number of the process that writes there."""
SWAP = ".windrow-swap"
LIST = ".windrow-parts.json"
RECALL_FILE = "_recall.json"
"""Beside the files of an answer; what reads a folder of data leaves such names out."""

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PART = rf"part-\d{{5,}}(?:-{_UUID}[\w.-]*)?\.(?:parquet|csv|json)(?:\.(?:gz|bz2|deflate|lz4|snappy|zst))?"
_OWN_FILE = re.compile(
    rf"{_PART}|\.{_PART}\.(?:crc|unfinished)|_SUCCESS|\._SUCCESS\.crc|{re.escape(RECALL_FILE)}"
)
"""The parts that Windrow writes, in process and on Spark, and what either puts beside them."""
_OWN_FOLDERS = {"_spark_metadata", "_checkpoint", "_temporary"}
"""What streaming jobs on Spark keep beside their parts, of no use without them."""


class FolderSink(contextlib.ExitStack):
    """Writes batches as numbered parts into one folder: part-00000.parquet and so on.

    To be entered: then the folder is this run's alone. An answer that replaces an older one is seen
    once it is complete, as the block is left; others part by part, as they are written.
    """

    def __init__(self, sink: JobSink) -> None:
        super().__init__()
        self._sink = sink
        self.parts = 0

    def __enter__(self) -> Self:
        self.folder = self.enter_context(opened(self._sink))
        return super().__enter__()

    def write(self, table: pa.Table) -> None:
        """Adds one part; a reader never sees half of it."""
        self.folder.mkdir(exist_ok=True)
        target = self.folder / f"part-{self.parts:05d}.{self._sink.format}"
        unfinished = target.with_name(f".{target.name}.unfinished")
        try:
            _WRITERS[self._sink.format](table, unfinished)
            unfinished.rename(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        self.parts += 1


@contextlib.contextmanager
def opened(sink: JobSink) -> Iterator[Path]:
    """Where to write the files of an answer, the sink's folder held meanwhile.

    That is the folder itself, or, where the answer replaces an older one, one whose files take the
    place of the older as the block is left without an error.
    """
    was_there = Path(sink.path).is_dir()
    make_folder(sink.path)
    try:
        with held(sink.path):
            check_free(sink)
            if not sink.overwrite:
                yield Path(sink.path)
                return
            with replacing(sink.path) as new:
                yield new
    except BaseException:
        if not was_there:
            with contextlib.suppress(OSError):  # it holds parts
                Path(sink.path).rmdir()
        raise


def check_free(sink: JobSink) -> None:
    """Refuses a sink that holds files, where it is to take a whole answer and replaces none."""
    if any(Path(sink.path).iterdir()) and not sink.overwrite:
        raise JobError.sink_exists(sink.path)


def make_folder(path: str) -> None:
    """Makes a folder that is to be written to, refused where there can be none."""
    folder = Path(path)
    if folder.is_file():
        raise JobError.sink_not_writable(path, "it is a file, not a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # of a path that no system takes, a ValueError
        problem = getattr(error, "strerror", None) or str(error)
        raise JobError.sink_not_writable(path, problem) from error


def show_recall(console: Terminal, recall: Recall | None) -> None:
    """Says below the rows of a query that sheds which part of the answer they are."""
    if recall is not None:
        console.say(f"the query sheds: {recall}")


def write_recall(folder: Path, recall: Recall | None) -> None:
    """Says it beside the files of such a query, in a folder on this machine."""
    if recall is not None:
        folder.mkdir(exist_ok=True)
        file = folder / RECALL_FILE
        file.write_text(json.dumps(recall.as_dict()) + "\n", encoding="utf-8")


def check_columns(format_: str, schema: pa.Schema) -> None:
    """Refuses columns that a format cannot hold."""
    for column in schema:
        if format_ == "csv" and pa.types.is_nested(column.type):
            raise JobError(
                "sink-type",
                f"csv has no place for the column {column.name!r}, which is {column.type}",
                hint='write  format = "parquet"  or "json", or cast the column to STRING',
            )


def _write_csv(table: pa.Table, file: Path) -> None:
    check_columns("csv", table.schema)
    pa.csv.write_csv(table, file)


def _write_json(table: pa.Table, file: Path) -> None:
    file.write_bytes(json_lines(table))


_WRITERS = {"parquet": pa.parquet.write_table, "csv": _write_csv, "json": _write_json}


class RowSample:
    """Keeps the first rows of the answer and shows them at the end, with the number of all."""

    def __init__(self, console: Terminal) -> None:
        self.console = console
        self.kept: list[pa.Table] = []
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        """Takes in one part of the answer."""
        missing = MOST_ROWS_SHOWN - min(self.rows, MOST_ROWS_SHOWN)
        if missing:
            self.kept.append(table.slice(0, missing))
        self.rows += table.num_rows

    def show(self, schema: pa.Schema, recall: Recall | None = None) -> None:
        """Prints the sample, and the recall of a query that sheds."""
        sample = pa.concat_tables(self.kept) if self.kept else schema.empty_table()
        self.console.print(readable(sample, total=self.rows))
        show_recall(self.console, recall)


@contextlib.contextmanager
def held(path: str) -> Iterator[None]:
    """Keeps other runs from writing to a folder; what an earlier one left behind is put in order."""
    try:
        import fcntl
    except ModuleNotFoundError:  # a system without such locks: two runs at once are the user's care
        _put_in_order(Path(path))
        yield
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobError(
                "sink-in-use",
                f"another run is writing to the sink {path!r}",
                hint="wait until it has ended, or give this job a sink of its own",
            ) from None
        except OSError:  # a file system that knows no locks
            pass
        _put_in_order(Path(path))
        yield
    finally:
        os.close(folder)


def foreign(path: str) -> list[str]:
    """What lies in a folder and was not written by Windrow, by name."""
    return sorted(entry.name for entry in Path(path).iterdir() if not _is_own(entry))


@contextlib.contextmanager
def replacing(path: str) -> Iterator[Path]:
    """A new folder whose files take the place of the answer in `path`, held, if all goes well."""
    folder = Path(path)
    new = folder / f"{NEW}{os.getpid()}"
    # An interrupt may come between any two steps of Python's, those that leave this block included.
    remove = partial(shutil.rmtree, new, ignore_errors=True)
    atexit.register(remove)
    try:
        yield new
        new.mkdir(exist_ok=True)
        names = [entry.name for entry in new.iterdir()]
        (new / LIST).write_text(json.dumps(names), encoding="utf-8")
        with _undisturbed():
            new.rename(folder / SWAP)
            _end_swap(folder)
    finally:
        remove()
        atexit.unregister(remove)


def _put_in_order(folder: Path) -> None:
    """Ends a swap that was begun, and removes an answer that was not finished."""
    with _undisturbed():
        if (folder / SWAP).is_dir():
            _end_swap(folder)
        for unfinished in folder.glob(f"{NEW}*"):
            shutil.rmtree(unfinished)


def _end_swap(folder: Path) -> None:
    swap = folder / SWAP
    listed = swap / LIST
    # The list goes last: where it is gone, all parts have come to their places.
    if listed.is_file():
        names = set(json.loads(listed.read_text(encoding="utf-8")))
        for entry in list(folder.iterdir()):
            if _is_own(entry) and entry.name not in names:
                _remove(entry)
        for name in sorted(names):
            if (swap / name).exists():
                (swap / name).replace(folder / name)
        listed.unlink()
    shutil.rmtree(swap)


def _is_own(entry: Path) -> bool:
    if entry.is_dir() and not entry.is_symlink():
        return entry.name in _OWN_FOLDERS or _is_hidden(entry)
    return _OWN_FILE.fullmatch(entry.name) is not None


def _is_hidden(entry: Path) -> bool:
    return entry.name == SWAP or entry.name.startswith(NEW)


def _remove(entry: Path) -> None:
    if _is_hidden(entry):
        return
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Lets Ctrl-C wait until the few renames of a swap are done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)
    if asked:
        raise KeyboardInterrupt
