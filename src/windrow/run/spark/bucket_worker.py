"""A stage in a streaming worker: one bucket, one micro-batch, once.

    take   the bucket has rows: restore, push, advance, save
    wake   it has none, but the watermark moved: advance if something is due

After either, the bucket's one timer stands a millisecond beyond the watermark, so that it is asked
again as soon as the watermark moves, rows or not. A bucket that had rows has moved its timer on
before Spark looks for expired ones: it is not asked twice in a batch.

Spark hands the watermark of the batches before this one; it holds for the whole batch, which begins
with it (the late rule) and is advanced to it at its end. An inner window join only forgets when it
is advanced, or gives what the next batch would: where all streams of the query feed it, it goes on
to the watermark that its own rows promise (`_settled`), so that what is stored is the window, not
the window and the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd
from pyspark import TaskContext

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import encode
from windrow.operators.engine.base import Counters
from windrow.operators.engine.driver import MicroBatch, Setting
from windrow.operators.engine.memory import memory_of_bucket
from windrow.operators.engine.scheduler import Scheduler, stage_scheduler
from windrow.operators.routing.partition import own_rows
from windrow.run.spark.bucket_plan import Chosen, chosen_streaming
from windrow.run.spark.chunk_cache import BucketChunks, Owner, worker_cache
from windrow.run.spark.failures import told_first
from windrow.run.spark.garbage import set_aside_modules
from windrow.run.spark.late_row_payload import DeadLetters
from windrow.run.spark.packing import Blob, by_port
from windrow.run.spark.stages import (
    BLOB_ROWS,
    GUARD,
    OPERATOR,
    PLAN,
    PORT,
    PORT_GAP,
    PORT_LATE,
    PORT_NULL,
    TOLD,
    StagePlan,
    beside,
)
from windrow.run.spark.state import BucketState, Manifest, apart, together
from windrow.run.spark.ticks import promised_ticks, watermark_ticks
from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from windrow.run.spark.processor import Declared
    from windrow.run.spark.shed_bucket_demand import ShedTurn


class BucketWorker:
    """Runs the operators of a stage with the state that Spark keeps for each bucket."""

    def __init__(self, plan: StagePlan) -> None:
        self.plan = plan

    def open(self, handle: StatefulProcessorHandle, declared: Declared) -> None:
        """Begins a task, whose buckets then come one after the other."""
        self._handle = handle
        self._state = BucketState(declared, self.plan.identity)
        self.cache = worker_cache()

    def take(self, label: int, rows: Iterator[pd.DataFrame], millis: int) -> Iterator[pd.DataFrame]:
        """Takes the blobs of the bucket with that label, the watermark standing at `millis`."""
        with told_first(self.plan.sql):
            manifest = self._state.manifest()
            if label == GUARD:
                if manifest is None:
                    self._state.write_manifest(Manifest(self.plan.identity))
                return
            yield from self._step(label, manifest, rows, millis)

    def wake(self, label: int, millis: int) -> Iterator[pd.DataFrame]:
        """Advances a bucket that got no rows."""
        with told_first(self.plan.sql):
            manifest = self._state.manifest()
            assert manifest is not None, "a timer without state"
            if watermark_ticks(millis, self.plan.node.time_type) >= manifest.due:
                yield from self._step(label, manifest, iter(()), millis)
                return
            self._handle.registerTimer(millis + 1)
            self._state.write_manifest(replace(manifest, timer=millis + 1))
            yield _frame(counted(manifest.held(1 + len(self.plan.above)), manifest))

    def close(self) -> None:
        """Ends the task; the cache outlives it."""
        set_aside_modules()

    def _step(
        self, label: int, manifest: Manifest | None, rows: Iterator[pd.DataFrame], millis: int
    ) -> Iterator[pd.DataFrame]:
        """One micro-batch of one bucket."""
        plan = self.plan
        watermark = watermark_ticks(millis, plan.node.time_type)
        bucket = plan.labels.index(label)
        batch = int(_property("streaming.sql.batchId") or 0)
        letters = DeadLetters(plan, f"batch-{batch:010d}", bucket)
        memory = memory_of_bucket(plan.options, plan.memory_parts, bucket)
        owner = Owner(_property("sql.streaming.queryId"), plan.identity.fingerprint, bucket)
        near = self.cache.turn_of(owner, batch, memory.most_bytes if memory is not None else None)
        own = own_rows(plan.node, plan.partitioning, bucket)
        held = apart(self._state.snapshot(manifest, near)) if manifest is not None else []
        before = manifest.newest if manifest is not None else []
        blobs = list(_blobs(rows))
        own_blobs = (blob for blob in blobs if blob.port != TOLD)
        batches, copies = by_port(own_blobs, plan.ports, watermark)
        chosen = chosen_streaming(owner, plan, held[0] if held else None, batches, before)
        shed = self._shed(manifest, blobs, watermark)
        newest = _newest(batches, before, shed.newest if shed is not None else {})
        settled = max(watermark, self._settled(newest))
        setting = Setting(plan.options.on_late, letters.take, memory, own)
        scheduler = stage_scheduler((chosen.node, *plan.above), setting)
        lowest = scheduler.operators[-1]
        left = near.taken()
        if held:
            for driver, state in zip(reversed(scheduler.operators), held, strict=True):
                driver.restore(state)
            if left is not None:
                lowest.operator.take_up(left)
        needs = shed.follow(lowest.operator, settled) if shed is not None else []
        work = MicroBatch({}, watermark, watermark, handed=batches)
        produced: list[Produced] = []
        for results in scheduler.run(work, settled):
            # The last one waits for the figures: each frame costs, however small.
            if produced:
                yield _frame(produced)
            produced = [(encode(results), {BLOB_ROWS: len(results)})]
        letters.write()
        self._save(scheduler, manifest, newest, needs, millis, near)
        near.leave(lowest.operator.leave())
        self.cache.settle()
        lowest.counters.rows_in -= sum(copies)
        counters = [driver.counters for driver in reversed(scheduler.operators)]
        produced += counted(counters, manifest, chosen)
        for port, late in lowest.late.at.items():
            figures = {PORT_LATE: late.rows, PORT_NULL: late.null_time, PORT_GAP: late.gap}
            produced.append((None, {PORT: port, **figures}))
        yield _frame(produced)

    def _shed(self, manifest: Manifest | None, blobs: list[Blob], begun: int) -> ShedTurn | None:
        """What map tasks tell of all buckets, where the stage's join sheds."""
        if self.plan.demand is None:
            return None
        told = (bytes(blob.data) for blob in blobs if blob.port == TOLD)
        return self.plan.demand.turn(manifest.needs if manifest is not None else (), told, begun)

    def _settled(self, newest: list[int]) -> int:
        """A watermark that the query will have after this batch, by what this bucket knows.

        The streams' newest times are those it knows or later, so that what every stream promises
        after these holds for the query. MIN_TICK where nothing is known: a stream that feeds
        another stage, or that promises by punctuations alone, may hold the query's watermark back.
        """
        plan = self.plan
        if not (plan.node.only_forgets_ahead and plan.sees_all_streams):
            return MIN_TICK
        if not all(plan.node.fed_by_streams):
            return MIN_TICK
        streams = [port.scans[0] for port in plan.node.inputs]
        return min(
            promised_ticks(time, stream.lateness, stream.time_type)
            if stream.lateness is not None
            else MIN_TICK
            for time, stream in zip(newest, streams, strict=True)
        )

    def _save(
        self,
        scheduler: Scheduler,
        old: Manifest | None,
        newest: list[int],
        needs: list[list[int]],
        millis: int,
        near: BucketChunks,
    ) -> None:
        drivers = scheduler.operators[::-1]
        snapshot = together([driver.snapshot() for driver in drivers])
        buffers = self._state.write_chunks(snapshot, old, near)
        timer = millis + 1
        if old is None or old.timer != timer:
            if old is not None and old.timer > 0:
                self._handle.deleteTimer(old.timer)
            self._handle.registerTimer(timer)
        lowest, *above = (driver.counters for driver in drivers)
        self._state.write_manifest(
            Manifest(
                identity=self.plan.identity,
                kind=snapshot.kind,
                buffers=buffers,
                numbers=snapshot.numbers,
                newest=newest,
                needs=needs,
                due=scheduler.due(),
                timer=timer,
                stored=lowest.stored,
                intermediate=lowest.intermediate,
                state_bytes=lowest.state_bytes,
                held_above=[[one.stored, one.intermediate, one.state_bytes] for one in above],
                version=snapshot.version,
            )
        )


Produced: TypeAlias = "tuple[bytes | None, Mapping[str, int]]"
"""A blob of results or none, and figures."""


def _frame(produced: Sequence[Produced]) -> pd.DataFrame:
    """What a bucket gives, as Spark takes it."""
    blobs, figures = zip(*produced, strict=True)
    return pd.DataFrame(
        {
            "blob": pd.Series(blobs, dtype=object),
            "figures": pd.Series(list(map(beside, figures)), dtype=object),
        }
    )


def counted(
    counters: Sequence[Counters], before: Manifest | None, chosen: Chosen | None = None
) -> list[Produced]:
    """Figures without a blob, of each operator.

    `before` is what the bucket held when the batch began, `chosen` how its lowest operator ran.
    """
    nothing = [Counters() for _ in counters]
    held = before.held(len(counters)) if before is not None else nothing
    figures = [
        now.as_dict()
        | {
            "stored_change": now.stored - then.stored,
            "intermediate_change": now.intermediate - then.intermediate,
            "bytes_change": now.state_bytes - then.state_bytes,
            OPERATOR: number,
        }
        for number, (now, then) in enumerate(zip(counters, held, strict=True))
    ]
    if chosen is not None:
        figures[0] |= {"plan_changes": int(chosen.is_change), PLAN: chosen.plan}
    return [(None, own) for own in figures]


def _newest(
    batches: list[ChangeBatch | None], before: list[int], told: Mapping[int, int]
) -> list[int]:
    """Per port, the newest time seen or told of; rows without a time stand at MIN_TICK."""
    known = before or [MIN_TICK] * len(batches)
    known = [max(time, told.get(port, MIN_TICK)) for port, time in enumerate(known)]
    return [
        time if batch is None or not len(batch) else max(time, int(batch.times.max()))
        for time, batch in zip(known, batches, strict=True)
    ]


def _blobs(rows: Iterator[pd.DataFrame]) -> Iterator[Blob]:
    for frame in rows:
        for port, is_copy, data in zip(frame["port"], frame["is_copy"], frame["blob"], strict=True):
            yield Blob(int(port), bool(is_copy), data)


def _property(name: str) -> str:
    """What Spark says of the micro-batch that this task belongs to; "" outside of one."""
    context = TaskContext.get()
    return (context.getLocalProperty(name) if context is not None else None) or ""
