"""A stage in a worker of a batch run: every bucket of its task, from the first tick to the last.

The rows come ordered by bucket and first tick, so that the first tick of the bucket's next blob is a
watermark: nothing below it follows.

    blobs            [3 ........ 20]
                         [7 ........... 31]
                                    [25 ... 40]
    watermark after      7          25         end of time
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.chunks import encode
from windrow.operators.engine.driver import MicroBatch, Setting
from windrow.operators.engine.memory import memory_of_bucket
from windrow.operators.engine.scheduler import Scheduler, stage_scheduler
from windrow.operators.routing.partition import own_rows
from windrow.run.spark.bucket_plan import Remembered, chosen_in_batch
from windrow.run.spark.failures import told_first
from windrow.run.spark.garbage import set_aside_modules
from windrow.run.spark.late_row_payload import DeadLetters
from windrow.run.spark.packing import Blob, by_port
from windrow.run.spark.stages import BLOB_ROWS, OPERATOR, PLAN, PRODUCED, StagePlan, beside
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from windrow.run.spark.packing import Mapper

STEP_BYTES = 8 << 20
"""Blobs are pushed together up to this size: many small steps would cost more than the rows."""

_PRODUCED = arrow_schema(PRODUCED)


def batch_runner(plan: StagePlan) -> Mapper:
    """The function that runs a stage over ordered, packed rows, for `mapInArrow`."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with told_first(plan.sql):
            for label, group in groupby(_packed_rows(batches), key=lambda row: row[0]):
                blobs = ((tick, blob) for _, tick, blob in group)
                yield from _run_bucket(plan, label, blobs)
        set_aside_modules()

    return run


def _run_bucket(
    plan: StagePlan, label: int, blobs: Iterator[tuple[int, Blob]]
) -> Iterator[pa.RecordBatch]:
    bucket = plan.labels.index(label)
    letters = DeadLetters(plan, "batch", bucket)
    memory = memory_of_bucket(plan.options, plan.memory_parts, bucket)
    own = own_rows(plan.node, plan.partitioning, bucket)
    setting = Setting(plan.options.on_late, letters.take, memory, own)
    scheduler: Scheduler | None = None
    choices = Remembered()
    rows_read = 0
    for step, watermark in _steps(blobs):
        batches, copies = by_port(step, plan.ports, MIN_TICK)
        chosen = chosen_in_batch(choices, bucket, plan, batches)
        is_new = scheduler is None or chosen.is_change
        node = chosen.node if plan.demand is None else plan.demand.node_of(chosen.node, bucket)
        if scheduler is None:
            scheduler = stage_scheduler((node, *plan.above), setting)
        elif chosen.is_change:
            scheduler.operators[-1].become(node)
        lowest = scheduler.operators[-1]
        if plan.demand is not None and is_new:
            plan.demand.follow_beforehand(lowest.operator, node, bucket)
        if plan.choice is not None:
            yield _row(None, {"plan_changes": int(chosen.is_change), PLAN: chosen.plan})
        for results in scheduler.run(MicroBatch({}, MIN_TICK, watermark, handed=batches)):
            yield _row(encode(results), {BLOB_ROWS: len(results)})
        lowest.counters.rows_in -= sum(copies)
        rows_read += sum(
            int(batch.tuples().sum()) - copied
            for batch, copied, is_read in zip(batches, copies, plan.reads, strict=True)
            if batch is not None and is_read
        )
    letters.write()
    assert scheduler is not None  # a bucket without a blob is not asked
    read = {"rows_read": rows_read}
    for number, driver in enumerate(reversed(scheduler.operators)):
        yield _row(None, {**driver.counters.as_dict(), **read, OPERATOR: number})
        read = {}


def _steps(blobs: Iterator[tuple[int, Blob]]) -> Iterator[tuple[list[Blob], int]]:
    """Blobs to push together, with the watermark that holds after them."""
    waiting: list[Blob] = []
    size = 0
    for tick, blob in blobs:
        if size >= STEP_BYTES:
            yield waiting, tick
            waiting, size = [], 0
        waiting.append(blob)
        size += len(blob.data)
    yield waiting, MAX_TICK


def _packed_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int, Blob]]:
    for batch in batches:
        plain = (
            batch.column(name).to_pylist() for name in ("bucket", "first_tick", "port", "is_copy")
        )
        for bucket, tick, port, is_copy, data in zip(*plain, batch.column("blob"), strict=True):
            yield bucket, tick, Blob(port, is_copy, data.as_buffer())


def _row(blob: bytes | None, figures: dict[str, int]) -> pa.RecordBatch:
    row = {"blob": blob, "figures": beside(figures)}
    return pa.RecordBatch.from_pylist([row], schema=_PRODUCED)
