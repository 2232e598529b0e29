"""Late rows kept aside: Parquet files named by stream, batch, question, input and bucket.

A replayed micro-batch writes the same files again under the same names, so that every late row is
there exactly once; of a stream's aliases only one brings the row as it arrived (`letters.py`). A
file is written under another name and moved into place when whole.

    <folder>/<stream>/batch-0000000042-1f0e77ab-stage-0-input-1-bucket-0003.parquet
        the stream's columns, `_stream`, `_event_time`
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet

from windrow.operators.changes import ChangeBatch, concat
from windrow.operators.instants import instants
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.run.spark.letters import NAME
from windrow.run.spark.stages import LETTER, StagePlan
from windrow.schema import MIN_TICK


class DeadLetters:
    """Collects the late rows of one bucket in one micro-batch, then writes them."""

    def __init__(self, plan: StagePlan, batch: str, bucket: int) -> None:
        self._plan = plan
        self._batch = batch
        self._bucket = bucket
        self._kept: dict[int, list[ChangeBatch]] = defaultdict(list)

    def take(self, port: int, rows: ChangeBatch) -> None:
        """Takes the late rows of one port."""
        self._kept[port].append(rows)

    def write(self) -> None:
        """Writes what was taken, a file per port."""
        for port, kept in self._kept.items():
            (scan,) = self._plan.spec.inputs[port].scans
            table = as_arrived(scan, concat(kept))
            if table.num_rows:
                self._write(scan.stream, port, table)
        self._kept.clear()

    def _write(self, stream: str, port: int, table: pa.Table) -> None:
        folder = (self._plan.dead_letters or "").rstrip("/")
        files, base = open_folder(f"{folder}/{stream}")
        # Several questions may keep their late rows in one folder.
        question = self._plan.identity.fingerprint[:8]
        place = f"stage-{self._plan.number}-input-{port}-bucket-{self._bucket:04d}"
        name = f"{self._batch}-{question}-{place}.parquet"
        with files.open_output_stream(f"{base}/.{name}.part") as out:
            pa.parquet.write_table(table, out)
        files.move(f"{base}/.{name}.part", f"{base}/{name}")


def as_arrived(scan: ScanStream, rows: ChangeBatch) -> pa.Table:
    """Late rows as they arrived, with their stream and their event time.

    Rows without their letter are kept under another alias of the stream.
    """
    has_letter = rows.columns.column(LETTER).is_valid().to_numpy(zero_copy_only=False)
    rows = rows.take(np.flatnonzero(has_letter))
    arrived = rows.columns.column(LETTER)
    names = [field.name for field in arrived.type if field.name != NAME]
    times = instants(rows.times, scan.time_type)
    has_time = pa.array(rows.times > MIN_TICK)
    return pa.table(
        [
            *(arrived.field(name) for name in names),
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
