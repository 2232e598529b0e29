"""A physical query as one DataFrame: Spark SQL below, between and above the stages.

**One stage**, from the bottom up:

    rows         scan, filter, project, range: Spark SQL
    pack         mapInArrow, one per port, then their union
    shuffle      by bucket
    the stage    transformWithStateInPandas; in a batch run mapInArrow over sorted blobs
    counters     observe
    unpack       mapInArrow
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F  # noqa: N812

from windrow.errors import ResourceError, UnsupportedError
from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.signs import CHANGE_TYPES
from windrow.operators.engine.row_drivers import ChangelogOutput
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.options import check_needs
from windrow.physical.partitioning.shared_stages import shared_stage
from windrow.physical.query import PhysicalQuery, RowPath, port_obstacle, row_paths
from windrow.plan.exprs import quote_spark
from windrow.registry import load
from windrow.run.answer_rows import AnswerRows
from windrow.run.spark.batch_worker import batch_runner
from windrow.run.spark.frames import describe, quoted
from windrow.run.spark.late_row_payload import (
    NAME,
    multiplied,
    stream_of,
    ways,
    with_letters,
)
from windrow.run.spark.launch import ROCKSDB
from windrow.run.spark.outside_source import OutsideFrame
from windrow.run.spark.packing import (
    counter,
    finisher,
    packer,
    unpacker,
)
from windrow.run.spark.port_packing import PackedPort, Packing, packed_frame
from windrow.run.spark.progress import STEPS_BY, BatchFigures, run_names
from windrow.run.spark.relations import Scanned
from windrow.run.spark.shed_bucket_demand import ShedDemand
from windrow.run.spark.shed_pane_counts import COUNTED
from windrow.run.spark.stages import (
    BESIDE,
    BLOB_ROWS,
    FIGURES,
    LETTER,
    MOST_BUCKETS,
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
from windrow.schema import CHANGE_TYPE, EVENT_TIME, SIGN, TIME, Field, Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from windrow.physical.query import Planner


PROVIDER_SETTING = "spark.sql.streaming.stateStore.providerClass"
POLICY_SETTING = "spark.sql.streaming.multipleWatermarkPolicy"
PARTITIONS_SETTING = "spark.sql.shuffle.partitions"
WORKER_PACKAGES = {"google.protobuf": "protobuf", "grpc": "grpcio"}


def _is_streaming(physical: PhysicalQuery, frames: Mapping[str, DataFrame | OutsideFrame]) -> bool:
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
    return any(kinds.values())


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
    """Turns a query into DataFrames, batch or streaming, numbering scans and operators from the bottom up.

    Args:
        spark: the session, classic or Connect.
        physical: the query.
        frames: each stream and table, by the name it was registered under.
        figures: where a batch run counts; a streaming one counts in Spark's progress.
        planner: chooses the plans of window joins in workers; None: they stay.

    Raises:
        ResourceError: a setting of the session stands in the way of a streaming query.
        UnsupportedError: some streams are streaming DataFrames and some are not.
    """

    def __init__(
        self,
        spark: SparkSession,
        physical: PhysicalQuery,
        frames: Mapping[str, DataFrame | OutsideFrame],
        figures: BatchFigures | None = None,
        planner: Planner | None = None,
    ) -> None:
        self._spark = spark
        self._physical = physical
        self._planner = planner
        self._frames = frames
        self._is_streaming = is_streaming = _is_streaming(physical, frames)
        if is_streaming and stateful_nodes(physical.root):
            check_settings(spark)
        self._figures = None if is_streaming else figures or BatchFigures(physical)
        self._named = run_names(physical)
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

    def answer(self) -> DataFrame:
        """The answer of the query."""
        physical, rows = self._physical, self.relation(self._physical.root)
        if not ChangelogOutput.of(physical).does_nothing:
            schema = row_schema(physical.root)
            rows = _plain(schema, rows).mapInArrow(finisher(physical), schema.ddl())
        shown = rows.selectExpr(*_answer(physical))
        return self.observe(shown, "answer", F.count(F.lit(1)).alias("rows"))

    def answer_blobs(self) -> tuple[DataFrame, AnswerRows] | None:
        """The answer as blobs of its last stage, and what makes rows of them; None where Spark has to.

        Where nothing but what a worker can do lies above the last stage, who writes the answer unpacks
        it: the JVM never has its rows. A filter there would leave the JVM without their number.
        """
        (path, *others) = row_paths(self._physical.root)
        if others or not path.bottom.is_stateful or path.obstacle:
            return None
        if path.drops_rows or self._physical.needs_netting:
            return None
        produced = self.produced(path.bottom)
        produced = self.observe(produced, "answer", F.sum(_figure(BLOB_ROWS)).alias("rows"))
        blobs = produced.select("blob").where("blob IS NOT NULL")
        return blobs, AnswerRows.of(self._physical, path)

    def relation(self, node: PhysicalNode) -> DataFrame:
        """The rows of a node."""
        if node.is_stateful:
            blobs = self.produced(node).select("blob")
            return blobs.mapInArrow(unpacker(node), row_schema(node).ddl())
        rows: DataFrame = load(node.relation)(node, self)
        return rows

    def produced(self, node: PhysicalNode) -> DataFrame:
        """What the stage gives that a node with state is the top of: blobs of results, and figures."""
        return self._stage(shared_stage(node, self._spread.buckets).nodes)

    def scanned(self, node: ScanStream) -> Scanned:
        """The DataFrame of the next scan, in the order in which they are made."""
        self._scans += 1
        metric = self._named(f"scan_{self._scans - 1}")
        return Scanned(self._frame(node), metric, self._is_streaming and self._has_state)

    def table(self, name: str) -> DataFrame:
        """The DataFrame of a table."""
        return self._frames[name]  # type: ignore[return-value]  # tables are read when they are registered

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
        if isinstance(frame, OutsideFrame):
            frame = frame.rows
        if not self._letter_types:
            return frame
        before = self._ways[: self._scans - 1]
        earlier = [way for way in before if stream_of(way).stream == scan.stream]
        return with_letters(frame, earlier, is_named=scan.stream in self._multiplied)

    def _stage(self, nodes: tuple[PhysicalNode, ...]) -> DataFrame:
        leftmost = self._scans
        below = [self._below(child) for child in nodes[0].inputs]
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
            rows = [
                own for own in below if not isinstance(own, list)
            ]  # none is packed in its source
            plan = replace(plan, demand=_counted(plan, plan.demand, rows))
        packed = _united(self._packed(plan, below))
        produced = _streaming(plan, packed) if self._is_streaming else _batch(plan, packed)
        for operator in range(len(nodes)):
            what = f"stage_{plan.number + operator}"
            produced = self.observe(produced, what, *_sums(plan, operator))
        return produced

    def _below(self, port: PhysicalNode) -> DataFrame | list[NumberedPath]:
        """The rows of a port; where their sources can pack them, the paths by which they come."""
        if not self._packs(port):
            return self.relation(port)
        paths = [NumberedPath(path, self._scans + n) for n, path in enumerate(row_paths(port))]
        self._scans += len(paths)
        return paths

    def _packs(self, port: PhysicalNode) -> bool:
        """Whether the rows of a port are packed as they are read."""
        if not all(isinstance(self._frames[scan.stream], OutsideFrame) for scan in port.scans):
            return False
        if port_obstacle(port) or (not self._is_streaming and self._physical.root.sheds):
            return False
        if not self._letter_types:
            return True
        # Who has the letter of a row is decided by all paths before.
        return not any(
            scan.stream in self._multiplied
            or any(path.obstacle for path in self._earlier(scan, None))
            for scan in port.scans
        )

    def _earlier(self, scan: ScanStream, number: int | None) -> tuple[RowPath, ...]:
        """The paths of a stream to stages before that of a scan, by its number; None: all there are."""
        own = [way for way in self._ways[:number] if stream_of(way).stream == scan.stream]
        return tuple(RowPath(way[0], way[1:]) for way in own)

    def _packed(
        self, plan: StagePlan, below: Sequence[DataFrame | list[NumberedPath]]
    ) -> Iterator[DataFrame]:
        """The blobs for all ports of a stage; a stream that feeds several is read once."""
        by_stream: dict[str, list[tuple[int, NumberedPath]]] = defaultdict(list)
        for port, own in enumerate(below):
            if isinstance(own, list):
                for numbered in own:
                    by_stream[numbered.path.scan.stream].append((port, numbered))
            else:
                yield _plain(plan.packed_schema(port), own).mapInArrow(
                    packer(plan, port, is_streaming=self._is_streaming), PACKED.ddl()
                )
        for stream, ways_to in by_stream.items():
            outside = self._frames[stream]
            assert isinstance(outside, OutsideFrame)
            ports = tuple(
                PackedPort(
                    port,
                    own.path,
                    self._earlier(own.path.scan, own.scan) if self._letter_types else (),
                )
                for port, own in ways_to
            )
            metric = self._named(f"scan_{ways_to[0][1].scan}") if self._is_streaming else None
            yield packed_frame(self._spark, outside.stream.reading, Packing(plan, ports), metric)


class NumberedPath(NamedTuple):
    """The path of a scan's rows, and the number of the scan."""

    path: RowPath
    scan: int


def _sums(plan: StagePlan, operator: int) -> list[Column]:
    """The figures of one operator of a stage, over all its buckets."""
    is_own = _figure(OPERATOR) == operator
    sums = [F.sum(F.when(is_own, _figure(name))).alias(name) for name in FIGURES]
    if operator == 0:
        sums.extend(_late_sums(plan))
    names = plan.choice.names if plan.choice is not None and operator == 0 else ()
    for number, name in enumerate(names):
        is_run = F.when(_figure(PLAN) == number, 1).otherwise(0)
        sums.append(F.sum(is_run).alias(f"{STEPS_BY}{name}"))
    return sums


def _late_sums(plan: StagePlan) -> Iterator[Column]:
    """Per port that streams feed, its late rows over all buckets, and the longest way behind."""
    for port, is_stream in enumerate(plan.node.fed_by_streams):
        if is_stream:
            is_own = _figure(PORT) == port
            for name in (PORT_LATE, PORT_NULL):
                yield F.sum(F.when(is_own, _figure(name))).alias(f"{name}_{port}")
            yield F.max(F.when(is_own, _figure(PORT_GAP))).alias(f"{PORT_GAP}_{port}")


def _figure(name: str) -> Column:
    """A number beside a blob."""
    return F.get(F.col("figures"), F.lit(BESIDE.index(name)))


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


def _letter_types(
    physical: PhysicalQuery, frames: Mapping[str, DataFrame | OutsideFrame]
) -> dict[str, str]:
    """The row type of each stream, where late rows are kept; else nothing."""
    if physical.options.on_late != "keep":
        return {}
    check_needs(physical.options)
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
    types = {}
    for stream in names:
        frame = frames[stream]
        own = frame.columns if isinstance(frame, OutsideFrame) else describe(frame)[0]
        fields = [*own.fields, *([Field(NAME, "string")] if stream in named else [])]
        types[stream] = f"struct<{','.join(f'{quoted(f.name)}:{f.type}' for f in fields)}>"
    return types


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
