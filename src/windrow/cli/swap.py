"""An answer that takes the place of an older one in its folder, once it is complete.

New parts are written to a hidden folder inside the sink's: nobody who reads the sink sees them.

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

from windrow.cli.errors import JobError

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
