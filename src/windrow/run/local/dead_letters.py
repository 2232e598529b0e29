"""Late rows, and what could not be read as rows, kept in a folder by a run that survives.

    dead-letters/sales/late-RUN-0000000007.parquet      late rows of the stream sales, of epoch 7
    dead-letters/sales/aside-RUN-0000000007.parquet     what is no row: where it was, why, what it holds

Files are written before the checkpoint of their epoch, and durable by then. Those of an epoch that is
computed again are removed as the run goes on: each letter is there once. A file has the name of its run
(that of its checkpoint, so a run without one has a new name each time it is begun): several runs may share
a folder, and none touches what another has kept.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from windrow.io.file_systems import (
    is_local,
    located,
    move_file,
    names_in,
    on_files,
    remove_file,
    write_file,
)
from windrow.io.protocol import Aside
from windrow.run.aside import aside_table
from windrow.run.local.chunk_files import sync_folder


class Letters:
    """A folder of dead letters, as one run writes to it.

    Args:
        folder: a path or an address.
        run: the name of the run; "" for one that nothing goes on from.
    """

    def __init__(self, folder: str, run: str) -> None:
        self._folder = str(folder)
        self._run = run or uuid.uuid4().hex
        self._system, self._root = located(self._folder, {})
        self._own = re.compile(rf"\.?(?:late|aside)-{re.escape(self._run)}-(\d{{10,}})\.\w+")

    def open(self, epoch: int) -> None:
        """Makes ready to go on after an epoch: what was kept of later ones goes, they come again.

        Raises:
            ResourceError: the folder cannot be written; `Unavailable` if that may pass.
        """
        with on_files(self._folder, "be written"):
            self._make(self._root)
            probe = f"{self._root}/.{self._run}.probe"
            write_file(self._system, probe, lambda _: None)
            remove_file(self._system, probe)
            below = self._system.get_file_info(pafs.FileSelector(self._root))
            for folder in (own.path for own in below if own.type == pafs.FileType.Directory):
                for name in names_in(self._system, folder):
                    named = self._own.fullmatch(name)
                    if named is not None and (name.startswith(".") or int(named[1]) > epoch + 1):
                        remove_file(self._system, f"{folder}/{name}")

    def write(
        self,
        epoch: int,
        late: Mapping[str, Sequence[pa.RecordBatch]],
        aside: Mapping[str, Sequence[Aside]],
    ) -> None:
        """Keeps what was late, and what was no row, in an epoch; durably when this returns.

        It may be called again with the same: the files are the same.

        Raises:
            ResourceError: the folder cannot be written; `Unavailable` if that may pass.
        """
        for stream, rows in late.items():
            self._put(stream, "late", epoch, pa.Table.from_batches(rows))
        for stream, found in aside.items():
            if found:
                self._put(stream, "aside", epoch, aside_table(found))

    def _put(self, stream: str, kind: str, epoch: int, table: pa.Table) -> None:
        folder = f"{self._root}/{stream}"
        name = f"{kind}-{self._run}-{epoch + 1:010d}"
        with on_files(self._folder, "be written"):
            self._make(folder)
            unfinished = f"{folder}/.{name}.unfinished"
            write_file(self._system, unfinished, lambda file: pq.write_table(table, file))
            move_file(self._system, unfinished, f"{folder}/{name}.parquet")

    def _make(self, folder: str) -> None:
        """Makes a folder that outlives a failure of the machine, if it is not there."""
        if self._system.get_file_info(folder).type == pafs.FileType.Directory:
            return
        self._system.create_dir(folder, recursive=True)
        if is_local(self._system):
            sync_folder(Path(folder).parent)
