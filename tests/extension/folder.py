"""A sink in one file: rows in a folder, for tasks and drivers that are different processes.

out/<name>.arrow              a share of an epoch, which nobody sees by itself
out/<run>-<epoch>.json        an epoch that is committed: the names of its shares
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from windrow.errors import BindError
from windrow.io import Answer, Json, Sink, Unavailable
from windrow.io.protocol import NO_EPOCH


class Folder(Sink):
    """Rows in a folder, shown once their epoch is committed.

    Args:
        folder: where they are.
        columns: those that have a place there; None: any.
        away: a file; while it is there, nothing can be written.
    """

    def __init__(
        self, folder: Path, columns: Sequence[str] | None = None, away: Path | None = None
    ) -> None:
        self.folder = folder
        self._columns = columns
        self._away = away
        self._run = ""

    def open(self, run: str, answer: Answer) -> int:
        if self._columns is not None and list(self._columns) != answer.columns.names:
            raise BindError(
                "no-place",
                f"{self.folder.name} has no place for {', '.join(answer.columns.names)}",
                hint=f"it has {', '.join(self._columns)}",
            )
        self._run = run or uuid.uuid4().hex
        self.folder.mkdir(parents=True, exist_ok=True)
        named = {name for file in self.folder.glob("*.json") for name in _shares(file)}
        for part in self.folder.glob("*.arrow"):
            if part.name not in named:
                part.unlink()
        return max(epochs(self.folder, run), default=NO_EPOCH)

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        assert self._run, "not open"
        name = f"{epoch}-{uuid.uuid4().hex}.arrow"
        rows = pa.Table.from_batches(batches)
        with (
            pa.OSFile(str(self.folder / name), "wb") as out,
            pa.ipc.new_file(out, rows.schema) as writer,
        ):
            writer.write_table(rows)
        if self._away is not None and self._away.exists():
            raise Unavailable("folder-away", "the folder is away", reason="it is", hint="wait")
        return name

    def commit(self, epoch: int, written: Sequence[Json]) -> None:
        assert self._run, "not open"
        file = self.folder / f"{self._run}-{epoch}.json"
        if not file.exists():
            unfinished = file.with_suffix(f".{uuid.uuid4().hex}")
            unfinished.write_text(json.dumps(list(written)))
            unfinished.rename(file)


def _shares(file: Path) -> list[str]:
    return json.loads(file.read_text())


def epochs(folder: Path, run: str = "*") -> list[int]:
    """The epochs that are committed, of a run or of all."""
    return sorted(int(file.stem.rpartition("-")[2]) for file in folder.glob(f"{run}-*.json"))


def shown(folder: Path) -> pa.Table:
    """The rows that are committed."""
    files = sorted(folder.glob("*.json"), key=lambda file: int(file.stem.rpartition("-")[2]))
    tables = [
        pa.ipc.open_file(str(folder / name)).read_all() for file in files for name in _shares(file)
    ]
    return pa.concat_tables(tables) if tables else pa.table({})
