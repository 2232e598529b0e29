"""Checkpoints of a run in process, in a folder: durable, atomic, incremental.

    checkpoint/
      lock                  held by the process that runs; one that died does not hold it. Has the name
                            of the run as soon as the database is made
      checkpoints.sqlite    about        the layout, and the name of the run
                            checkpoints  an epoch, and where the query stood after it, as JSON
                            chunks       where the chunks lie that the operators' state is made of
                            merged       chunks that are kept as a list of others (`kept_chunks.py`)
      chunks-00000007.bin   chunks, which never change (`chunk_files.py`)

A step writes the rows that are new, waits until the disk has them, and then makes one transaction of
the rest: a process that is killed, or finds the disk full, leaves the checkpoint before it. So a step
costs what the batch brought, not what the windows hold. Each text carries its digest, and a chunk its
checksum: what was damaged is refused.

A folder is made in this order, and a process may be killed at any point of it:

    lock, empty     the database, with its tables     lock, with the name of the run     chunks, checkpoints
    |---------------- begins anew ------------------|--- a database that is gone is damage ----------------

Kept are the newest checkpoint, and the one to go on from should the sink not have its epoch:

    epoch          5        6        7                the sink has 6
    checkpoint              x        x                of 5 nothing is left
                            ^ restart                 and 7 is computed again
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from windrow.errors import PlanError, ResourceError
from windrow.io.protocol import NO_EPOCH, Json, Unavailable
from windrow.operators.columns.chunks import Chunk, ChunkSlice, order_of
from windrow.operators.engine.base import Snapshot
from windrow.run.late_rows import StreamFigures
from windrow.run.local.checkpoint import Checkpoint
from windrow.run.local.chunk_files import ChunkFiles, Spot, sync_folder
from windrow.run.local.feeds import Position
from windrow.run.local.kept_chunks import KeptChunks, Step
from windrow.run.response import Response

LAYOUT = 2
"""Of the folder. Raise it with any change that an older reader would misread; what is inside a checkpoint
has a version of its own. Layout 1 had no table `merged`, and is given one."""

FILE = "checkpoints.sqlite"
LOCK = "lock"

_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE checkpoints (epoch INTEGER PRIMARY KEY, text TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE chunks (
    number INTEGER PRIMARY KEY, file INTEGER NOT NULL, at INTEGER NOT NULL, length INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);
"""
_MERGED = (
    "CREATE TABLE merged (number INTEGER PRIMARY KEY, text TEXT NOT NULL, digest TEXT NOT NULL)"
)


@dataclass(frozen=True)
class Stored:
    """A checkpoint of a run, as it is kept.

    Attributes:
        epoch: after which it was made.
        written: the last epoch until then that had rows, which the sink must have: what came since
            has brought none.
        offsets: how far each source was read.
        checkpoint: where the query stood.
    """

    epoch: int
    written: int
    offsets: Mapping[str, Json]
    checkpoint: Checkpoint


class CheckpointStore:
    """The checkpoints in a folder, held by this process until it is closed.

    Attributes:
        run: the name of the run that they are of; made with the folder, and kept.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._references: dict[int, frozenset[int]] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ResourceError(
                "checkpoint-not-writable",
                f"no checkpoint can be kept in {str(folder)!r}",
                reason=error.strerror or str(error),
                hint="name a folder that can be written",
            ) from error
        try:
            self._hold()
            self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the folder, for whoever is next."""
        self._files.close()
        self._database.close()
        os.close(self._lock)

    def read(self, written: int | None) -> Stored | None:
        """Where to go on; None where nothing is kept yet.

        Args:
            written: the last epoch that the sink has; None of one that does not remember.

        Raises:
            ResourceError: the sink has other epochs than any checkpoint tells of, or what is kept is
                damaged.
        """
        rows = self._database.execute(
            "SELECT epoch, text, digest FROM checkpoints ORDER BY epoch DESC"
        ).fetchall()
        texts = [
            (epoch, self._checked(f"epoch {epoch}", text, digest)) for epoch, text, digest in rows
        ]
        for epoch, told in texts:
            if written is None or told["written"] == written:
                return Stored(epoch, told["written"], told["offsets"], self._checkpoint(told))
        if not texts and written in {None, NO_EPOCH}:
            return None
        kept = ", ".join(str(told["written"]) for _, told in texts) or "none"
        raise ResourceError(
            "sink-of-another-time",
            f"the sink has the epochs of this run up to {written}, and {str(self.folder)!r} has"
            f" checkpoints of: {kept}",
            reason="one of the two was restored, emptied, or belongs to something else; going on"
            " would lose or repeat rows of the answer",
            hint="restore the other one as well, or begin anew with an empty checkpoint and sink",
        )

    def write(self, stored: Stored, confirmed: int) -> None:
        """Keeps a checkpoint, durably when this returns.

        Args:
            stored: the checkpoint.
            confirmed: the epoch of an earlier one, to go on from should the sink not have this one's;
                all others go.

        Raises:
            Unavailable: the disk is full, or cannot be written now; the checkpoint before stands.
        """
        step, chunks = Step(), self._chunks
        told = _told(stored, lambda chunk: chunks.number(chunk, step))
        kept = {
            confirmed: self._references.get(confirmed, frozenset()),
            stored.epoch: _numbers_in(told),
        }
        before = frozenset[int]().union(*self._references.values())
        with _on_disk(self.folder):
            chunks.write(step, before, kept[confirmed] | kept[stored.epoch])
            recipes = ((number, json.dumps(own)) for number, own in step.recipes())
            text = json.dumps(told, separators=(",", ":"))
            with self._transaction() as database:
                database.executemany(
                    "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?)",
                    [(number, *astuple(spot)) for number, spot in step.spots.items()],
                )
                database.executemany(
                    "INSERT INTO merged VALUES (?, ?, ?)",
                    [(number, own, _digest(own)) for number, own in recipes],
                )
                database.execute(
                    "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)",
                    (stored.epoch, text, _digest(text)),
                )
                database.execute(
                    "DELETE FROM checkpoints WHERE epoch NOT IN (?, ?)", (confirmed, stored.epoch)
                )
                for table, gone in (("chunks", step.gone), ("merged", step.gone_merged)):
                    database.executemany(
                        f"DELETE FROM {table} WHERE number = ?",
                        [(number,) for number in gone],
                    )
        self._references = kept
        chunks.took(step)

    def _hold(self) -> None:
        try:
            import fcntl  # noqa: PLC0415  # not on every system
        except ModuleNotFoundError:
            return  # SQLite's own lock, below, has to do
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use(self.folder) from None
        except OSError:
            return  # a file system without such locks

    def _open(self) -> None:
        file = self.folder / FILE
        was_begun = os.fstat(self._lock).st_size > 0 or any(self.folder.glob("chunks-*.bin"))
        if was_begun and not (file.exists() and file.stat().st_size):
            raise _damaged(self.folder, f"{FILE} is {'empty' if file.exists() else 'gone'}")
        self._database = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        try:
            with _on_disk(self.folder):
                for setting in (
                    "locking_mode = EXCLUSIVE",
                    "journal_mode = WAL",
                    "synchronous = FULL",
                ):
                    self._database.execute(f"PRAGMA {setting}")
                if not self._has_tables():
                    self._make(was_begun=was_begun)
                self._look()
                self._sign()
        except BaseException:
            self._database.close()
            raise

    def _has_tables(self) -> bool:
        found = self._database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'about'")
        return bool(found.fetchone()[0])

    def _make(self, *, was_begun: bool) -> None:
        if was_begun:
            raise _damaged(self.folder, f"{FILE} has lost its tables")
        about = {"layout": str(LAYOUT), "run": uuid.uuid4().hex}
        with self._transaction() as database:
            for statement in (*_TABLES.split(";"), _MERGED):
                database.execute(statement)
            database.executemany("INSERT INTO about VALUES (?, ?)", about.items())

    def _look(self) -> None:
        about = dict(self._database.execute("SELECT name, value FROM about"))
        if about.get("layout") == "1":
            about["layout"] = str(LAYOUT)
            with self._transaction() as database:
                database.execute(_MERGED)
                database.execute("UPDATE about SET value = ? WHERE name = 'layout'", (LAYOUT,))
        if about.get("layout") != str(LAYOUT):
            raise ResourceError(
                "unknown-state-version",
                f"the checkpoint in {str(self.folder)!r} has layout {about.get('layout')}",
                reason=f"this version of Windrow reads layout {LAYOUT}",
                hint="resume with the version of Windrow that made it, or begin anew in an empty"
                " folder",
            )
        self.run = about["run"]
        spots = {
            number: Spot(*spot) for number, *spot in self._database.execute("SELECT * FROM chunks")
        }
        self._files = ChunkFiles(self.folder, spots, lambda why: _damaged(self.folder, why))
        merged = {
            number: tuple(
                (own, since) for own, since in self._checked(f"chunk {number}", text, digest)
            )
            for number, text, digest in self._database.execute("SELECT * FROM merged")
        }
        self._chunks = KeptChunks(self._files, merged, lambda why: _damaged(self.folder, why))
        self._references = {
            epoch: _numbers_in(self._checked(f"epoch {epoch}", text, digest))
            for epoch, text, digest in self._database.execute("SELECT * FROM checkpoints")
        }

    def _sign(self) -> None:
        """Writes the name of the run into the lock: from now on the database is there to be missed."""
        if os.fstat(self._lock).st_size:
            return
        sync_folder(self.folder)
        os.write(self._lock, self.run.encode())
        os.fsync(self._lock)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    def _checked(self, what: str, text: str, digest: str) -> Any:
        if _digest(text) != digest:
            raise _damaged(self.folder, f"the text of {what} is not what was written")
        return json.loads(text)

    def _checkpoint(self, told: Mapping[str, Any]) -> Checkpoint:
        raw = dict(told["checkpoint"])
        raw["positions"] = {
            name: Position(**{**own, "last": tuple(own["last"])})
            for name, own in raw["positions"].items()
        }
        raw["streams"] = {name: StreamFigures(**own) for name, own in raw["streams"].items()}
        raw["response"] = Response(**raw["response"])
        if raw["clocks"] is not None:
            raw["clocks"] = tuple(tuple(own) for own in raw["clocks"])
        raw["operators"] = tuple(raw["operators"])
        raw["counters"] = tuple(raw["counters"])
        raw["snapshots"] = tuple(self._snapshot(own) for own in told["snapshots"])
        raw["pending"] = tuple(_batches(told["pending"]))
        return Checkpoint(**raw)

    def _snapshot(self, own: Mapping[str, Any]) -> Snapshot:
        buffers = {
            name: tuple(
                ChunkSlice(self._chunks.read(number, order), skip, b64decode(gone))
                for number, order, skip, gone in slices
            )
            for name, slices in own["buffers"].items()
        }
        return Snapshot(own["kind"], buffers, own["numbers"], own["version"])


def _told(stored: Stored, number: Callable[[Chunk], int]) -> dict[str, Any]:
    """A checkpoint as JSON, its chunks by their numbers."""
    checkpoint = stored.checkpoint
    plain = {
        own.name: getattr(checkpoint, own.name)
        for own in fields(checkpoint)
        if own.name not in {"snapshots", "pending"}
    }
    plain["positions"] = {name: asdict(own) for name, own in checkpoint.positions.items()}
    plain["streams"] = {name: asdict(own) for name, own in (checkpoint.streams or {}).items()}
    plain["response"] = asdict(checkpoint.response)
    plain["counters"] = [dict(own) for own in checkpoint.counters]
    plain["columns"] = dict(checkpoint.columns)
    return {
        "epoch": stored.epoch,
        "written": stored.written,
        "offsets": dict(stored.offsets),
        "checkpoint": plain,
        "snapshots": [
            {
                "kind": own.kind,
                "numbers": dict(own.numbers),
                "version": own.version,
                "buffers": {
                    name: [_slice(part, number) for part in slices]
                    for name, slices in own.buffers.items()
                },
            }
            for own in checkpoint.snapshots
        ],
        "pending": b64encode(_ipc(checkpoint.pending)).decode() if checkpoint.pending else "",
    }


def _slice(part: ChunkSlice, number: Callable[[Chunk], int]) -> list[Json]:
    gone = b64encode(part.gone).decode()
    return [number(part.chunk), order_of(part.chunk), part.skip, gone]


def _numbers_in(told: Mapping[str, Any]) -> frozenset[int]:
    """The numbers of the chunks that a checkpoint refers to."""
    return frozenset(
        number
        for own in told["snapshots"]
        for slices in own["buffers"].values()
        for number, *_ in slices
    )


def _ipc(batches: Iterable[pa.RecordBatch]) -> bytes:
    first, *rest = batches
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, first.schema) as writer:
        for batch in (first, *rest):
            writer.write_batch(batch)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _batches(text: str) -> list[pa.RecordBatch]:
    if not text:
        return []
    with pa.ipc.open_stream(b64decode(text)) as reader:
        return list(reader)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@contextmanager
def _on_disk(folder: Path) -> Iterator[None]:
    """What SQLite says of the disk, said as ours."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        said = str(error)
        if "locked" in said:
            raise _in_use(folder) from None
        if isinstance(error, sqlite3.OperationalError | OSError):
            raise Unavailable(
                "checkpoint-not-writable",
                f"the checkpoint in {str(folder)!r} cannot be written now",
                reason=said,
                hint="make room on the disk; the checkpoint before stands, and nothing is lost",
            ) from error
        raise _damaged(folder, said) from error


def _in_use(folder: Path) -> PlanError:
    return PlanError(
        "checkpoint-in-use",
        f"another process runs with the checkpoint in {str(folder)!r}",
        reason="two runs from one checkpoint would give the answer twice",
        hint="stop that one first, or give this run a folder of its own",
    )


def _damaged(folder: Path, why: str) -> ResourceError:
    return ResourceError(
        "damaged-checkpoint",
        f"the checkpoint in {str(folder)!r} is damaged",
        reason=why,
        hint="put a copy of the folder in its place, or begin anew in an empty one",
    )
