"""A streaming worker without Spark: rows are packed, stepped through a stage, and unpacked."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
from plans import plans_of
from sessions import session
from unit.run.spark.fake_handle import FakeHandle

from windrow.operators.columns.arrow_types import arrow_schema
from windrow.physical.query import PhysicalQuery
from windrow.plan.nodes.query import Query
from windrow.run.spark.bucket_worker import BucketWorker
from windrow.run.spark.packing import packer, unpacker
from windrow.run.spark.processor import StageProcessor
from windrow.run.spark.stages import BESIDE, StagePlan
from windrow.run.spark.ticks import BIGINT_REACH, SHIFT_DAYS
from windrow.schema import MAX_TICK, MIN_TICK

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("v", pa.int64())])


DAY_MS = 86_400_000


def shifted_millis(ticks: int, time_type: str) -> int:
    """The least watermark of Spark's that `watermark_ticks` gives these ticks, or more, for."""
    if ticks in {MIN_TICK, MAX_TICK}:
        return 1 if ticks == MIN_TICK else MAX_TICK
    if time_type == "bigint":
        return ticks + BIGINT_REACH
    millis = ticks * DAY_MS if time_type == "date" else -(-ticks // 1000)
    return millis + SHIFT_DAYS * DAY_MS


class Watermark:
    def __init__(self, millis: int) -> None:
        self.millis = millis

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return self.millis


class Worker:
    """All buckets of one stage, one micro-batch at a time, as Spark would call them."""

    def __init__(self, plan: StagePlan) -> None:
        self.plan = plan
        self.handle = FakeHandle()
        self.processor = StageProcessor(BucketWorker(plan))
        self.processor.init(self.handle)

    @property
    def planner(self) -> Any:
        """The planner, as it came to the worker."""
        return self.processor.worker.plan.choice.planner

    def batch(self, tick: int, *ports: list[tuple[int | None, int, int]]) -> list[tuple]:
        """The rows that come out of a micro-batch which begins at the watermark `tick`."""
        millis = 0 if tick == MIN_TICK else shifted_millis(tick, "bigint")
        frames = []
        for bucket, rows in self.packed(*ports).groupby("bucket"):
            self.handle.key = bucket
            call = self.processor.handleInputRows((bucket,), iter([rows]), Watermark(millis))
            frames += list(call)
        for bucket, timer in self.handle.expired(millis):
            self.handle.key = bucket
            frames += list(self.processor.handleExpiredTimer((bucket,), Watermark(millis), timer))
            self.handle.timers.discard((bucket, timer))
        figures = [own for frame in frames for own in frame["figures"]]
        reported = pd.DataFrame(figures, columns=BESIDE)
        self.figures = reported.sum().to_dict()
        self.by_operator = (
            [
                reported[reported["operator"] == number].sum().to_dict()
                for number in range(1 + len(self.plan.above))
            ]
            if frames
            else []
        )
        names = self.plan.choice.names if self.plan.choice else ()
        self.plans = [names[int(at)] for at in reported["plan"] if at >= 0]
        return self.unpacked(frames)

    def packed(self, *ports: list[tuple[int | None, int, int]]) -> pd.DataFrame:
        found = []
        for port, rows in enumerate(ports):
            batch = self.rows(port, rows)
            found += list(packer(self.plan, port, is_streaming=True)(iter([batch])))
        return pa.Table.from_batches(found).to_pandas() if found else pd.DataFrame({"bucket": []})

    def rows(self, port: int, rows: list[tuple[int | None, int, int]]) -> pa.RecordBatch:
        times = [MIN_TICK if t is None else t for t, _, _ in rows]
        values = {
            "ts": [t for t, _, _ in rows],
            "k": [k for _, k, _ in rows],
            "v": [v for _, _, v in rows],
            "__time": times,
            "__end": [t + 6 for t in times],
        }
        values["__letter"] = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
        schema = arrow_schema(self.plan.packed_schema(port))
        columns = [pa.array(values[f.name.split(".")[-1]], f.type) for f in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def unpacked(self, frames: list[pd.DataFrame]) -> list[tuple]:
        blobs = [blob for frame in frames for blob in frame["blob"] if blob is not None]
        batch = pa.record_batch({"blob": pa.array(blobs, pa.binary())})
        rows = unpacker(self.plan.top)(iter([batch]))
        found = [tuple(row.values()) for part in rows for row in part.to_pylist()]
        return sorted(found, key=lambda row: [(value is None, value) for value in row])


def planned(sql: str, **options: str) -> PhysicalQuery:
    return compiled(sql, **options)[1]


def compiled(sql: str, **options: str) -> tuple[Query, PhysicalQuery]:
    w = session({name: SCHEMA.empty_table() for name in ("a", "b")}, time="ts", lateness=2)
    return plans_of(w, sql, options)
