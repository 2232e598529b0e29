"""Late rows kept aside: Parquet files named by stream, batch and bucket.

A replayed micro-batch writes the same files again under the same names, so that every late row is
there exactly once. A file is written under another name and moved into place when whole.

    <folder>/<stream alias>/batch-0000000042-bucket-0003.parquet
        the stream's columns, `_stream`, `_event_time`
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet

from windrow.operators.changes import ChangeBatch, concat
from windrow.operators.instants import instants
from windrow.physical.specs import ScanStream, inputs, scans
from windrow.run.spark.stages import LETTER, StagePlan
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
        folder = (self._plan.dead_letters or "").rstrip("/")
        files, base = open_folder(f"{folder}/{scan.alias}")
        part, whole = f"{base}/.{self._name}.part", f"{base}/{self._name}"
        with files.open_output_stream(part) as out:
            pa.parquet.write_table(letters(scan, rows), out)
        files.move(part, whole)


def letters(scan: ScanStream, rows: ChangeBatch) -> pa.Table:
    """Late rows as they arrived, with their stream and their event time."""
    arrived = rows.columns.column(LETTER)
    names = [field.name for field in arrived.type]
    times = instants(rows.times, scan.time_type)
    has_time = pa.array(rows.times > MIN_TICK)
    return pa.table(
        [
            *arrived.flatten(),
            pa.array([scan.stream] * len(rows)),
            pc.if_else(has_time, times, pa.scalar(None, times.type)),
        ],
        names=[*names, "_stream", "_event_time"],
    )


def open_folder(folder: str) -> tuple[pa.fs.FileSystem, str]:
    """The file system of a folder given as a path or a URI, and the folder there, made."""
    if "://" not in folder:
        folder = Path(folder).absolute().as_uri()
    files, base = pa.fs.FileSystem.from_uri(folder)
    files.create_dir(base, recursive=True)
    return files, base
