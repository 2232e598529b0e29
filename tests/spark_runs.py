"""Streams as files, and streaming queries run to their end: what the Spark tests share."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from cases import Case
from sessions import session

import windrow
from windrow.operators.columns.arrow_types import spark_schema

FIRST_WRITTEN = 1_700_000_000


@dataclass
class FileStream:
    """A folder that a streaming query reads, one file per micro-batch."""

    folder: Path
    schema: pa.Schema
    files: int = 0

    def write(self, *tables: pa.Table) -> None:
        """Adds a file per table, each newer than the one before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for table in tables:
            path = self.folder / f"{self.files:05d}.parquet"
            pq.write_table(table.cast(self.schema), path)
            os.utime(path, (FIRST_WRITTEN + self.files, FIRST_WRITTEN + self.files))
            self.files += 1

    def read(self, spark: Any, ddl: str, *, is_streaming: bool) -> Any:
        """The folder as a DataFrame."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not is_streaming:
            return spark.read.schema(ddl).parquet(str(self.folder))
        reader = spark.readStream.schema(ddl).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder))


@dataclass
class Run:
    """One streaming query with its checkpoint, and its output in files: they outlive a run."""

    folder: Path
    reports: list[Any] = field(default_factory=list)

    def finish(self, df: Any) -> None:
        """Runs the query over everything there is, and stops."""
        running = self.start(df)
        try:
            running.awaitTermination()
        finally:
            self.reports += running.recentProgress
            running.stop()

    def start(self, df: Any) -> Any:
        """Starts the query over everything there is."""
        writer = df.writeStream.format("parquet").option("path", str(self.folder / "out"))
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        return writer.trigger(availableNow=True).start()

    def rows(self, spark: Any) -> pa.Table:
        """All that the query has written."""
        return spark.read.parquet(str(self.folder / "out")).toArrow()

    def tuples_per_task(self, spark: Any) -> list[int]:
        """Rows that each task has stored, read from the manifests in the checkpoint."""
        state = spark.read.format("statestore").option("stateVarName", "manifest")
        manifests = state.load(str(self.folder / "checkpoint")).selectExpr(
            "CAST(get_json_object(value.json, '$.stored') AS INT) AS stored", "partition_id"
        )
        per_task = manifests.groupBy("partition_id").sum("stored").collect()
        return [row["sum(stored)"] for row in per_task if row["sum(stored)"]]

    def forget_last_commit(self, checkpoint: str = "checkpoint") -> None:
        """Leaves the checkpoint as a crash just before the last commit would have."""
        commits = self.folder / checkpoint / "commits"
        last = max((p for p in commits.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))
        last.unlink()
        (commits / f".{last.name}.crc").unlink(missing_ok=True)

    def forget_last_batch(self, checkpoint: str = "checkpoint") -> int:
        """Leaves the checkpoint as a crash just before the last micro-batch would have; gives its number."""
        offsets = self.folder / checkpoint / "offsets"
        last = max(int(path.name) for path in offsets.iterdir() if path.name.isdigit())
        self.forget_last_commit(checkpoint)
        for name in (str(last), f".{last}.crc"):
            (offsets / name).unlink(missing_ok=True)
        return last


class SingleRun(Run):
    """A streaming query that never goes on: its output is kept by Spark, at less cost than files."""

    def start(self, df: Any) -> Any:
        """Starts the query over everything there is."""
        writer = df.writeStream.format("memory").queryName(self._name)
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        return writer.trigger(availableNow=True).start()

    def rows(self, spark: Any) -> pa.Table:
        """All that the query has written."""
        return spark.table(self._name).toArrow()

    @cached_property
    def _name(self) -> str:
        return f"answer_{next(_NUMBERS)}"


_NUMBERS = count()


def session_of(spark: Any, case: Case, folder: Path, *, is_streaming: bool) -> windrow.Session:
    """A session over the streams of a case, as files."""
    frames = {}
    for stream in case.streams:
        files = FileStream(folder / stream.name, stream.schema)
        if not files.folder.exists():
            files.write(*_in_two(stream.tables()))
        ddl = spark_schema(stream.schema).ddl()
        frames[stream.name] = files.read(spark, ddl, is_streaming=is_streaming)
    tables = {name: spark.createDataFrame(table) for name, table in case.tables.items()}
    return session(frames, time="ts", lateness=case.lateness, tables=tables, spark=spark)


def _in_two(tables: list[pa.Table]) -> list[pa.Table]:
    """The batches of a stream as two at most: state lives on, at half the cost of all of them."""
    half = (len(tables) + 1) // 2
    return [pa.concat_tables(part) for part in (tables[:half], tables[half:]) if part]


SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
DDL = "ts bigint, k string, v bigint"
FAR = 1000


def table(rows: list[tuple[int | None, str, int]]) -> pa.Table:
    """Rows (ts, k, v) of a stream."""
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table(dict(zip(SCHEMA.names, map(list, columns), strict=True)), schema=SCHEMA)


def draw(seed: int, batches: int, rows: int = 12, ticks: int = 10) -> list[pa.Table]:
    """Random rows, each batch in the ticks after the one before."""
    chance = random.Random(seed)
    return [
        table(
            [
                (
                    number * ticks + chance.randrange(ticks),
                    chance.choice("abcd"),
                    chance.randrange(9),
                )
                for _ in range(rows)
            ]
        )
        for number in range(batches)
    ]


def closed(tables: list[pa.Table]) -> list[pa.Table]:
    """With one more row, far away, in the last batch, the watermark then passes all the others."""
    *before, last = tables
    return [*before, pa.concat_tables([last, table([(FAR, "end", 0)])])]


class Streams:
    """Streams as files, a file per micro-batch, for Spark and in process."""

    def __init__(self, folder: Path, tables: dict[str, list[pa.Table]]) -> None:
        self.tables = tables
        self.files = {name: FileStream(folder / name, SCHEMA) for name in tables}

    @property
    def batches(self) -> int:
        """How many micro-batches there are."""
        return max(map(len, self.tables.values()))

    def write(self, batch: int) -> None:
        """Lets one more micro-batch arrive."""
        for name, files in self.files.items():
            if batch < len(self.tables[name]):
                files.write(self.tables[name][batch])

    def write_all(self) -> None:
        """Lets everything arrive."""
        for batch in range(self.batches):
            self.write(batch)

    def on_spark(self, spark: Any, *, is_streaming: bool = True, lateness: int = 0) -> Any:
        """A session over the files."""
        return session(
            {
                name: files.read(spark, DDL, is_streaming=is_streaming)
                for name, files in self.files.items()
            },
            time="ts",
            lateness=lateness,
            spark=spark,
        )

    def in_process(self, *, lateness: int = 0) -> Any:
        """A session over the same rows, batch by batch, without Spark."""
        return session(self.tables, time="ts", lateness=lateness)
