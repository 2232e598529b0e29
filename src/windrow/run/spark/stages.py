"""One or more stateful nodes as a stage on Spark: what its workers must know, picklable.

Its buckets have labels, numbers that Spark spreads evenly over its tasks. It sends a row to partition
pmod(murmur3(bucket), partitions). Bucket numbers 0, 1, 2, .. would fall where the hash throws them:
four buckets on four partitions leave some task two and some none. So every bucket gets a label, the
least unused number whose partition is the one we want:

    bucket      0    1    2    3    4    5 ..
    partition   0    1    2    3    0    1 ..      (4 partitions)
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from windrow.operators.engine.base import Counters
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.options import Options
from windrow.physical.partitioning.buckets import Partitioning
from windrow.physical.partitioning.shared_stages import stages
from windrow.physical.query import PhysicalQuery, Planner
from windrow.registry import load
from windrow.run.spark.bucket_plan import NO_PLAN, Choice
from windrow.run.spark.state import Identity, about, fingerprint
from windrow.schema import END, SIGN, TIME, Field, Schema

if TYPE_CHECKING:
    from windrow.run.spark.shed_bucket_demand import ShedDemand

GUARD = -1
"""Label of the row that every micro-batch sends to one place, to check whose checkpoint it is."""

TOLD = -1
"""In place of a port: the blob tells how many rows there are, of a join that sheds."""

MOST_BUCKETS = 512
"""More buckets than this cost more in upkeep than they bring."""

_SEED = 42
_MASK = 0xFFFFFFFF


def murmur3(value: int) -> int:
    """Spark's hash of an INT: Murmur3 of 32 bits, seed 42, as a signed number."""
    k = _times(_rotate(_times(value & _MASK, 0xCC9E2D51), 15), 0x1B873593)
    h = (_times(_rotate(_SEED ^ k, 13), 5) + 0xE6546B64) & _MASK
    h ^= 4
    h = _times(h ^ (h >> 16), 0x85EBCA6B)
    h = _times(h ^ (h >> 13), 0xC2B2AE35)
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h


def partition_of(label: int, partitions: int) -> int:
    """The shuffle partition that Spark sends a label to."""
    return murmur3(label) % partitions


@lru_cache(maxsize=64)
def labels(buckets: int, partitions: int) -> tuple[int, ...]:
    """One label per bucket, bucket b on partition b % partitions."""
    waiting: dict[int, list[int]] = {}
    for bucket in reversed(range(buckets)):
        waiting.setdefault(bucket % partitions, []).append(bucket)
    found = [0] * buckets
    label = 0
    while waiting:
        home = partition_of(label, partitions)
        if home in waiting:
            found[waiting[home].pop()] = label
            if not waiting[home]:
                del waiting[home]
        label += 1
    return tuple(found)


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK


def _times(value: int, factor: int) -> int:
    return (value * factor) & _MASK


LETTER = "__letter"
"""The column that carries a row as it arrived, where late rows are kept."""

COUNTERS = tuple(entry.name for entry in fields(Counters))

PACKED = Schema.of(bucket="int", port="int", first_tick="bigint", is_copy="boolean", blob="binary")
"""Rows on their way to a stage: one per bucket, port and slice of time, the payload a blob."""

FIGURES = (
    *COUNTERS,
    "rows_read",
    "stored_change",
    "intermediate_change",
    "bytes_change",
    "plan_changes",
)
"""What a stage reports: its counters; in a batch run, the rows that streams have brought it; while
streaming, by how much the levels among the counters have changed; how often a worker changed the
plan of a bucket."""

PLAN = "plan"
"""Beside figures, the number of the plan that a bucket ran by."""

OPERATOR = "operator"
"""Beside figures, which of the stage's operators they are of, from the bottom up, from 0 on."""

PORT, PORT_LATE, PORT_NULL, PORT_GAP = "port", "port_late", "port_null_time", "port_gap"
"""Beside no other figures, those of one port of the lowest operator: late rows, rows without a time,
and how far the earliest was below the watermark, in ticks."""

BLOB_ROWS = "blob_rows"
"""Beside a blob, how many rows it has."""

BESIDE = (*FIGURES, PLAN, OPERATOR, PORT, PORT_LATE, PORT_NULL, PORT_GAP, BLOB_ROWS)
"""All the numbers beside a blob, in order."""

PRODUCED = Schema.of(blob="binary", figures="array<bigint>")
"""Rows on their way out: a blob of results, or figures.

The figures are one column: a worker makes a column of pandas and one of Arrow of each that there is,
and of forty that takes longer than a micro-batch of few rows takes to join.
"""

NOTHING = {**dict.fromkeys(BESIDE, 0), PLAN: NO_PLAN}
"""The numbers beside a blob where nothing is to be said."""


def beside(figures: Mapping[str, int]) -> list[int]:
    """The numbers beside a blob, of which these are known."""
    return list({**NOTHING, **figures}.values())


@dataclass(frozen=True)
class StagePlan:
    """One stage of a query.

    Attributes:
        sql: the query's text, for messages.
        number: the place of its lowest operator among the query's, from the bottom up, from 0 on.
        node: what its lowest operator computes, in one bucket where memory or service rate are
            divided among them, of merged rows where those of an aggregate can be.
        partitioning: how rows find their buckets.
        partitions: how many shuffle partitions the buckets are spread over.
        options: the query's, of which workers need the memory, and what happens to late rows.
        memory_parts: into how many equal parts the query's memory is divided: its buckets.
        sees_all_streams: whether all streams of the query feed it, so that what these promise is
            the query's watermark.
        reads: per port, whether its rows count as read: those of a stream, under the first of its
            aliases.
        letters: per port, the type of the column that carries each row as it arrived, so that a
            late one can be kept whole; None where late rows are not kept.
        choice: what of the plan is left to workers; None where it stays as `node` says.
        above: the nodes that share the stage with it (`physical.partitioning.shared_stages`).
        demand: how a join that sheds is divided among its buckets, where there are several.
        question: the fingerprint of the whole query.
    """

    sql: str
    number: int
    node: PhysicalNode
    partitioning: Partitioning
    partitions: int
    options: Options
    memory_parts: int
    sees_all_streams: bool
    reads: tuple[bool, ...]
    letters: tuple[str | None, ...]
    choice: Choice | None = None
    above: tuple[PhysicalNode, ...] = ()
    demand: ShedDemand | None = None
    question: str = ""

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """The label of each bucket, by which Spark spreads it."""
        return labels(self.partitioning.buckets, self.partitions)

    @property
    def top(self) -> PhysicalNode:
        """The node whose results are the stage's."""
        return self.above[-1] if self.above else self.node

    @property
    def ports(self) -> int:
        """How many inputs it has."""
        return len(self.node.inputs)

    def packed_schema(self, port: int) -> Schema:
        """The columns of the rows that are packed for a port."""
        schema = row_schema(self.node.inputs[port])
        letter = self.letters[port]
        return schema if letter is None else Schema((*schema.fields, Field(LETTER, letter)))

    @cached_property
    def identity(self) -> Identity:
        """What a checkpoint must agree with."""
        return Identity(
            fingerprint=fingerprint(self.top),
            about=about(self.node, *self.above),
            buckets=self.partitioning.buckets,
            partitions=self.partitions,
            question=self.question,
        )


@dataclass(frozen=True)
class Spread:
    """Over how many buckets, and these over how many shuffle partitions, a stage is spread."""

    buckets: int
    partitions: int


def plan_stage(
    query: PhysicalQuery,
    nodes: tuple[PhysicalNode, ...],
    number: int,
    spread: Spread,
    letter_types: Mapping[str, str] = MappingProxyType({}),
    leftmost: int = 0,
    planner: Planner | None = None,
) -> StagePlan:
    """A stage of a query.

    Args:
        query: the whole query.
        nodes: its stateful nodes, from the bottom up.
        number: the place of the lowest among all of the query's.
        spread: how widely its rows are spread.
        letter_types: the row type of each stream by name, where late rows are kept.
        leftmost: which of the query's scans, from left to right, is the stage's first.
        planner: chooses plans in workers; None: they stay.
    """
    node, *above = nodes
    ports = zip(node.inputs, node.fed_by_streams, strict=True)
    partitioning = node.partitioning(spread.buckets)
    names = planner.names(node) if planner is not None else ()
    return StagePlan(
        sql=query.sql,
        number=number,
        node=node.in_bucket(partitioning.buckets),
        partitioning=partitioning,
        partitions=spread.partitions,
        options=query.options,
        memory_parts=sum(
            stage.nodes[0].partitioning(spread.buckets).buckets
            for stage in stages(query.root, spread.buckets)
        ),
        sees_all_streams=_streams(node) == _streams(query.root),
        reads=tuple(_reads(query, node, leftmost)),
        letters=tuple(
            letter_types.get(port.scans[0].stream) if is_stream else None
            for port, is_stream in ports
        ),
        choice=Choice(planner, names, uuid.uuid4().hex) if planner is not None and names else None,
        above=tuple(above),
        demand=load(node.demand)(node, partitioning.buckets) if node.demand else None,
        question=fingerprint(query.root),
    )


def first_scans(root: PhysicalNode) -> list[bool]:
    """Per scan of a plan, from left to right, whether it is the first of its stream."""
    streams = [scan.stream for scan in root.scans]
    return [streams.index(stream) == number for number, stream in enumerate(streams)]


def _reads(query: PhysicalQuery, node: PhysicalNode, leftmost: int) -> Iterator[bool]:
    is_first = first_scans(query.root)[leftmost:]
    scan = 0
    for port, is_stream in zip(node.inputs, node.fed_by_streams, strict=True):
        stop = scan + len(port.scans)
        yield is_stream and all(is_first[scan:stop])
        scan = stop


def _streams(node: PhysicalNode) -> set[str]:
    return {scan.stream for scan in node.scans}


def stateful_nodes(node: PhysicalNode) -> list[PhysicalNode]:
    """The stateful nodes of a plan from the bottom up: the order in which figures are numbered."""
    below = [found for child in node.inputs for found in stateful_nodes(child)]
    return [*below, node] if node.is_stateful else below


def row_schema(node: PhysicalNode) -> Schema:
    """The columns of a node's rows as a DataFrame: its own, then time, end and sign."""
    types = {TIME: "bigint", END: "bigint", SIGN: "tinyint"}
    extra = tuple(Field(name, types[name]) for name in (TIME, *node.row_marks))
    return Schema(node.schema.fields + extra)
