"""Late rows kept aside: Parquet files named by stream, batch and bucket.

A replayed micro-batch writes the same files again under the same names, so that every late row is
there exactly once. A file is written under another name and moved into place when whole.

    <folder>/<stream alias>/batch-0000000042-bucket-0003.parquet
        the columns that the query reads, `_stream`, `_event_time`
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet

from windrow.errors import ResourceError
from windrow.operators.changes import ChangeBatch, concat
from windrow.operators.instants import instants
from windrow.physical.specs import ScanStream, inputs, scans
from windrow.run.spark.stages import StagePlan
from windrow.schema import MIN_TICK


class DeadLetters:
    """Collects the late rows of one bucket in one micro-batch, then writes them."""

    def __init__(self, plan: StagePlan, batch: str, bucket: int) -> None:
        self._plan = plan
        self._name = f"{batch}-bucket-{bucket:04d}.parquet"
        self._kept: dict[int, list[ChangeBatch]] = defaultdict(list)

    def take(self, port: int, rows: ChangeBatch) -> None:
        """Takes the late rows of one port."""
        self._kept[port].append(rows)

    def write(self) -> None:
        """Writes what was taken, a file per port."""
        for port, kept in self._kept.items():
            (scan,) = scans(inputs(self._plan.spec)[port])
            self._write(scan, concat(kept))
        self._kept.clear()

    def _write(self, scan: ScanStream, rows: ChangeBatch) -> None:
        folder = self._plan.dead_letters
        if folder is None:
            raise ResourceError(
                "no-dead-letters", "late rows are to be kept, but no folder is given for them"
            )
        files, base = open_folder(f"{folder.rstrip('/')}/{scan.alias}")
        part, whole = f"{base}/.{self._name}.part", f"{base}/{self._name}"
        with files.open_output_stream(part) as out:
            pa.parquet.write_table(letters(scan, rows), out)
        files.move(part, whole)


def letters(scan: ScanStream, rows: ChangeBatch) -> pa.Table:
    """Late rows as the user reads them."""
    columns = dict(
        zip(
            (name.removeprefix(f"{scan.alias}.") for name in rows.columns.schema.names),
            rows.columns.columns,
            strict=True,
        )
    )
    times = instants(rows.times, scan.time_type)
    has_time = pa.array(rows.times > MIN_TICK)
    columns["_stream"] = pa.array([scan.stream] * len(rows))
    columns["_event_time"] = pa.compute.if_else(has_time, times, pa.scalar(None, times.type))
    return pa.table(columns)


def open_folder(folder: str) -> tuple[pa.fs.FileSystem, str]:
    """The file system of a folder given as a path or a URI, and the folder there, made."""
    if "://" not in folder:
        folder = Path(folder).absolute().as_uri()
    files, base = pa.fs.FileSystem.from_uri(folder)
    files.create_dir(base, recursive=True)
    return files, base
