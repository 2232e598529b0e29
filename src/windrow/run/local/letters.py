"""Late rows, and what could not be read as rows, kept in a folder by a run that survives.

    dead-letters/sales/late-0000000007.parquet      late rows of the stream sales, of epoch 7
    dead-letters/sales/aside-0000000007.parquet     what is no row: where it was, why, what it holds

Files are written before the checkpoint of their epoch. Those of an epoch that is computed again are
removed as the run goes on: each letter is there once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.io.protocol import Aside
from windrow.run.aside import aside_table

_NAME = re.compile(r"(?:late|aside)-(\d{10})\.parquet")


class Letters:
    """A folder of dead letters."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def write(
        self,
        epoch: int,
        late: Mapping[str, Sequence[pa.RecordBatch]],
        aside: Mapping[str, Sequence[Aside]],
    ) -> None:
        """Keeps what was late, and what was no row, in an epoch."""
        for stream, rows in late.items():
            self._put(stream, f"late-{epoch + 1:010d}", pa.Table.from_batches(rows))
        for stream, found in aside.items():
            if found:
                self._put(stream, f"aside-{epoch + 1:010d}", aside_table(found))

    def forget_after(self, epoch: int) -> None:
        """Removes what was kept of later epochs, which are computed again."""
        for file in self._folder.glob("*/*.parquet"):
            named = _NAME.fullmatch(file.name)
            if named is not None and int(named[1]) > epoch + 1:
                file.unlink()

    def _put(self, stream: str, name: str, table: pa.Table) -> None:
        folder = self._folder / stream
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".{name}.unfinished"
        pq.write_table(table, unfinished)
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.rename(folder / f"{name}.parquet")
