"""A physical query as one DataFrame: Spark SQL below, between and above the stages.

**One stage**, from the bottom up:

    rows         scan, filter, project, range: Spark SQL
    pack         mapInArrow, one per port, then their union
    shuffle      by bucket
    the stage    transformWithStateInPandas; in a batch run mapInArrow over sorted blobs
    counters     observe
    unpack       mapInArrow

**In a batch worker** a stage takes every bucket of its task from the first tick to the last. The
rows come ordered by bucket and first tick, so that the first tick of the bucket's next blob is a
watermark: nothing below it follows.

    blobs            [3 ........ 20]
                         [7 ........... 31]
                                    [25 ... 40]
    watermark after      7          25         end of time
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from importlib.util import find_spec
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from windrow.errors import PlanError, ResourceError, UnsupportedError
from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.chunks import encode
from windrow.operators.engine.driver import MicroBatch, Setting
from windrow.operators.engine.memory import memory_of_bucket
from windrow.operators.engine.row_drivers import ChangelogOutput
from windrow.operators.engine.scheduler import Scheduler, stage_scheduler
from windrow.operators.feeds.net_changes import CHANGE_TYPES
from windrow.operators.routing.partition import own_rows
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.physical.partitioning.shared_stages import shared_stage
from windrow.physical.query import PhysicalQuery
from windrow.plan.exprs import quote_spark
from windrow.registry import load
from windrow.run.spark.bucket_labels import MOST_BUCKETS
from windrow.run.spark.bucket_plan import NO_PLAN, Remembered, chosen_in_batch
from windrow.run.spark.failures import told_first
from windrow.run.spark.frames import type_text
from windrow.run.spark.late_row_payload import (
    NAME,
    DeadLetters,
    multiplied,
    stream_of,
    ways,
    with_letters,
)
from windrow.run.spark.launch import ROCKSDB
from windrow.run.spark.packing import (
    Blob,
    by_port,
    counter,
    finisher,
    packer,
    set_aside_modules,
    unpacker,
)
from windrow.run.spark.progress import STEPS_BY, BatchFigures, run_names
from windrow.run.spark.relations import Scanned
from windrow.run.spark.shed_bucket_demand import ShedDemand
from windrow.run.spark.shed_pane_counts import COUNTED
from windrow.run.spark.stages import (
    BESIDE,
    FIGURES,
    LETTER,
    OPERATOR,
    PACKED,
    PLAN,
    PORT,
    PORT_GAP,
    PORT_LATE,
    PORT_NULL,
    PRODUCED,
    Spread,
    StagePlan,
    plan_stage,
    row_schema,
    stateful_nodes,
)
from windrow.run.spark.ticks import time_sql
from windrow.schema import CHANGE_TYPE, EVENT_TIME, MAX_TICK, MIN_TICK, SIGN, TIME, Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from windrow.physical.query import Planner
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
    setting = Setting(plan.on_late, letters.take, memory, own)
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
            yield _row(encode(results), {})
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
    row = {"blob": blob, **dict.fromkeys(BESIDE, 0), PLAN: NO_PLAN, **figures}
    return pa.RecordBatch.from_pylist([row], schema=_PRODUCED)


PROVIDER_SETTING = "spark.sql.streaming.stateStore.providerClass"
POLICY_SETTING = "spark.sql.streaming.multipleWatermarkPolicy"
PARTITIONS_SETTING = "spark.sql.shuffle.partitions"
WORKER_PACKAGES = {"google.protobuf": "protobuf", "grpc": "grpcio"}


def dataframe(
    spark: SparkSession,
    physical: PhysicalQuery,
    frames: Mapping[str, DataFrame],
    figures: BatchFigures | None = None,
    planner: Planner | None = None,
) -> DataFrame:
    """The answer of a query over DataFrames, batch or streaming.

    Args:
        spark: the session, classic or Connect.
        physical: the query.
        frames: the DataFrame of each stream, by the name it was registered under.
        figures: where a batch run counts; a streaming one counts in Spark's progress.
        planner: chooses the plans of window joins in workers; None: they stay.

    Raises:
        ResourceError: a setting of the session stands in the way of a streaming query.
        UnsupportedError: some streams are streaming DataFrames and some are not.
    """
    kinds = {scan.stream: frames[scan.stream].isStreaming for scan in physical.root.scans}
    if len(set(kinds.values())) > 1:
        streaming, bounded = (
            ", ".join(name for name, own in kinds.items() if own is kind) for kind in (True, False)
        )
        raise UnsupportedError(
            "mixed-streaming-and-batch",
            f"{streaming} streaming, {bounded} not: a query takes one kind or the other",
            hint=f"read {bounded} with spark.readStream too",
        )
    is_streaming = any(kinds.values())
    if is_streaming and stateful_nodes(physical.root):
        check_settings(spark)
    counting = None if is_streaming else figures or BatchFigures(physical)
    builder = Builder(spark, physical, frames, counting, planner)
    rows = builder.relation(physical.root)
    if not ChangelogOutput.of(physical).does_nothing:
        schema = row_schema(physical.root)
        rows = _plain(schema, rows).mapInArrow(finisher(physical), schema.ddl())
    answer = rows.selectExpr(*_answer(physical))
    return builder.observe(answer, "answer", F.count(F.lit(1)).alias("rows"))


def check_settings(spark: SparkSession) -> None:
    """Refuses a session in which a stateful stage cannot run, with the setting to write."""
    missing = [package for module, package in WORKER_PACKAGES.items() if not _is_there(module)]
    if missing:
        raise ResourceError(
            "worker-packages",
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            reason="Spark's stateful workers in Python need it",
            hint="pip install 'windrow[spark]', here and wherever workers run",
        )
    provider = spark.conf.get(PROVIDER_SETTING)
    if provider != ROCKSDB:
        raise ResourceError(
            "state-store-provider",
            "the session's state store cannot hold the state of a streaming query",
            reason=f"it is {provider}; Spark's transformWithState needs RocksDB",
            hint=f'spark.conf.set("{PROVIDER_SETTING}", "{ROCKSDB}")',
        )
    policy = spark.conf.get(POLICY_SETTING)
    if policy != "min":
        raise ResourceError(
            "watermark-policy",
            f"the session's watermark of several streams is their {policy}",
            reason="rows of the slower streams would be late",
            hint=f'spark.conf.set("{POLICY_SETTING}", "min")',
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even what it is a part of
        return False


class Builder:
    """Turns nodes into DataFrames, numbering scans and operators from the bottom up."""

    def __init__(
        self,
        spark: SparkSession,
        physical: PhysicalQuery,
        frames: Mapping[str, DataFrame],
        figures: BatchFigures | None,
        planner: Planner | None,
    ) -> None:
        self._physical = physical
        self._planner = planner
        self._frames = frames
        self._figures = figures
        self._named = run_names(physical)
        self._is_streaming = is_streaming = figures is None
        partitions = int(spark.conf.get(PARTITIONS_SETTING) or 1)
        buckets = physical.options.buckets or min(partitions, MOST_BUCKETS)
        # A streaming shuffle has as many partitions as the session says; a batch one needs no
        # more than there are buckets.
        self._spread = Spread(buckets, partitions if is_streaming else min(partitions, buckets))
        self._letter_types = _letter_types(physical, frames)
        self._multiplied = multiplied(physical.root) if self._letter_types else set()
        self._ways = ways(physical.root)
        self._has_state = physical.root.has_state
        self._scans = 0
        self._operators = 0

    def relation(self, node: PhysicalNode) -> DataFrame:
        """The rows of a node."""
        if node.is_stateful:
            return self._stage(shared_stage(node, self._spread.buckets).nodes)
        rows: DataFrame = load(node.relation)(node, self)
        return rows

    def scanned(self, node: ScanStream) -> Scanned:
        """The DataFrame of the next scan, in the order in which they are made."""
        self._scans += 1
        metric = self._named(f"scan_{self._scans - 1}")
        return Scanned(self._frame(node), metric, self._is_streaming and self._has_state)

    def table(self, name: str) -> DataFrame:
        """The DataFrame of a table."""
        return self._frames[name]

    @property
    def broadcasts_tables(self) -> bool:
        """Whether rows that are joined with tables stay in order: the first of several has the letter."""
        return bool(self._multiplied)

    def beside(self, node: PhysicalNode) -> tuple[str, ...]:
        """The columns that rows carry beside their own, time first; none where they are a table's."""
        if not node.scans:
            return ()
        keeps_row = bool(self._letter_types) and not node.has_state
        return (TIME, *node.row_marks, *([LETTER] if keeps_row else []))

    def observe(self, rows: DataFrame, what: str, *columns: Column) -> DataFrame:
        """The same rows, counted on their way."""
        if self._figures is not None:
            return self._figures.observe(rows, what, *columns)
        return rows.observe(self._named(what), *columns)

    def _frame(self, scan: ScanStream) -> DataFrame:
        """The rows of the scan that was numbered last, with letters where late rows are kept."""
        frame = self._frames[scan.stream]
        if not self._letter_types:
            return frame
        before = self._ways[: self._scans - 1]
        earlier = [way for way in before if stream_of(way).stream == scan.stream]
        return with_letters(frame, earlier, is_named=scan.stream in self._multiplied)

    def _stage(self, nodes: tuple[PhysicalNode, ...]) -> DataFrame:
        below = [self.relation(child) for child in nodes[0].inputs]
        leftmost = self._scans - len(nodes[0].scans)
        plan = plan_stage(
            self._physical,
            nodes,
            self._operators,
            self._spread,
            self._letter_types,
            leftmost,
            self._planner,
        )
        self._operators += len(nodes)
        if not self._is_streaming and plan.demand is not None:
            plan = replace(plan, demand=_counted(plan, plan.demand, below))
        packed = _united(
            _plain(plan.packed_schema(port), rows).mapInArrow(
                packer(plan, port, is_streaming=self._is_streaming), PACKED.ddl()
            )
            for port, rows in enumerate(below)
        )
        produced = _streaming(plan, packed) if self._is_streaming else _batch(plan, packed)
        for operator in range(len(nodes)):
            what = f"stage_{plan.number + operator}"
            produced = self.observe(produced, what, *_sums(plan, operator))
        return produced.select("blob").mapInArrow(unpacker(plan.top), row_schema(plan.top).ddl())


def _sums(plan: StagePlan, operator: int) -> list[Column]:
    """The figures of one operator of a stage, over all its buckets."""
    is_own = F.col(OPERATOR) == operator
    sums = [F.sum(F.when(is_own, F.col(name))).alias(name) for name in FIGURES]
    if operator == 0:
        sums.extend(_late_sums(plan))
    names = plan.choice.names if plan.choice is not None and operator == 0 else ()
    for number, name in enumerate(names):
        is_run = F.when(F.col(PLAN) == number, 1).otherwise(0)
        sums.append(F.sum(is_run).alias(f"{STEPS_BY}{name}"))
    return sums


def _late_sums(plan: StagePlan) -> Iterator[Column]:
    """Per port that streams feed, its late rows over all buckets, and the longest way behind."""
    for port, is_stream in enumerate(plan.node.fed_by_streams):
        if is_stream:
            is_own = F.col(PORT) == port
            for name in (PORT_LATE, PORT_NULL):
                yield F.sum(F.when(is_own, F.col(name))).alias(f"{name}_{port}")
            yield F.max(F.when(is_own, F.col(PORT_GAP))).alias(f"{PORT_GAP}_{port}")


def _plain(schema: Schema, rows: DataFrame) -> DataFrame:
    """Rows as workers take them."""
    arrow_schema(schema)  # a type that workers could not take is refused here
    # mapInArrow takes no names with dots; workers know the columns by their places.
    return rows.selectExpr(*(f"{quote_spark(n)} AS c{i}" for i, n in enumerate(schema.names)))


def _united(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.unionByName(right), frames)


def _counted(plan: StagePlan, demand: ShedDemand, below: list[DataFrame]) -> ShedDemand:
    """What buckets of a join that sheds will be sent: its rows are counted before it runs."""
    spans = _united(
        _plain(plan.packed_schema(port), rows).mapInArrow(counter(plan, port), COUNTED.ddl())
        for port, rows in enumerate(below)
    )
    rows = spans.groupBy("bucket", "port", "start", "stop").agg(F.sum("rows").alias("rows"))
    return demand.counted(rows.toArrow())


def _letter_types(physical: PhysicalQuery, frames: Mapping[str, DataFrame]) -> dict[str, str]:
    """The row type of each stream, where late rows are kept; else nothing."""
    if physical.options.on_late != "keep":
        return {}
    if physical.options.dead_letters is None:
        raise PlanError(
            "no-dead-letters",
            "late rows are to be kept, but there is no folder for them",
            hint="name one with the option dead_letters, a path or a URI that all workers reach",
        )
    for node in stateful_nodes(physical.root):
        for port, is_stream in zip(node.inputs, node.fed_by_streams, strict=True):
            if is_stream and len(port.scans) > 1:
                streams = " and ".join(scan.stream for scan in port.scans)
                raise UnsupportedError(
                    "unsupported-late-rows-of-union",
                    f"late rows of the UNION ALL of {streams} cannot be kept on Spark",
                    reason="they are kept as they arrived, and rows of different streams have different"
                    " columns",
                    hint="set on_late to 'count' or 'fail', or run the query in process",
                )
    names = {scan.stream for scan in physical.root.scans}
    named = multiplied(physical.root)
    name = StructField(NAME, StringType())
    types = {n: frames[n].schema.fields + [name] * (n in named) for n in names}
    return {name: type_text(StructType(fields)) for name, fields in types.items()}


def _streaming(plan: StagePlan, packed: DataFrame) -> DataFrame:
    from windrow.run.spark.bucket_worker import BucketWorker  # noqa: PLC0415  # loads pandas
    from windrow.run.spark.processor import StageProcessor  # noqa: PLC0415  # loads PySpark's part

    return packed.groupBy("bucket").transformWithStateInPandas(
        StageProcessor(BucketWorker(plan)), PRODUCED.ddl(), "Append", "EventTime"
    )


def _batch(plan: StagePlan, packed: DataFrame) -> DataFrame:
    spread = packed.repartition(plan.partitions, "bucket")
    return spread.sortWithinPartitions("bucket", "first_tick").mapInArrow(
        batch_runner(plan), PRODUCED.ddl()
    )


def _answer(physical: PhysicalQuery) -> list[str]:
    """The columns that the user sees."""
    own = [quote_spark(name) for name in physical.root.schema.names]
    if not physical.is_changelog:
        return own
    cases = " ".join(f"WHEN {sign} THEN '{kind}'" for sign, kind in CHANGE_TYPES.items())
    return [
        *own,
        f"CASE {SIGN} {cases} END AS {CHANGE_TYPE}",
        f"{time_sql(TIME, physical.time_type)} AS {EVENT_TIME}",
    ]
