"""A stateful spec as a stage on Spark: what its workers must know, frozen and picklable."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

from windrow.operators.base import Counters
from windrow.operators.changes import END, SIGN, TIME
from windrow.physical.partitioning import Partitioning, partitioning_of
from windrow.physical.specs import (
    BewJoin,
    MatwinBestmatch,
    PhysicalQuery,
    RangeRows,
    ScanStream,
    SlidingAggregate,
    Spec,
    Stateful,
    inputs,
    scans,
)
from windrow.run.spark.buckets import labels
from windrow.run.spark.fingerprint import about, fingerprint
from windrow.run.spark.state import Identity
from windrow.schema import Field, Schema

COUNTERS = tuple(entry.name for entry in fields(Counters))

PACKED = "bucket INT, port INT, first_tick BIGINT, is_copy BOOLEAN, blob BINARY"
"""Rows on their way to a stage: one per bucket, port and slice of time, the payload a blob."""

PRODUCED = ", ".join(["blob BINARY", *(f"{name} BIGINT" for name in COUNTERS)])
"""Rows on their way out: a blob of results, or counters."""


@dataclass(frozen=True)
class StagePlan:
    """One stage of a query.

    Attributes:
        number: its place among the query's stages, from the bottom up, from 0 on.
        spec: what it computes.
        partitioning: how rows find their buckets.
        partitions: how many shuffle partitions the buckets are spread over.
        time_type: the type of event time, the same for all streams of a query.
        on_late: what happens to late rows.
        dead_letters: folder for late rows that are kept.
    """

    number: int
    spec: Stateful
    partitioning: Partitioning
    partitions: int
    time_type: str
    on_late: str
    dead_letters: str | None

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """The label of each bucket, by which Spark spreads it."""
        return labels(self.partitioning.buckets, self.partitions)

    @property
    def ports(self) -> int:
        """How many inputs it has."""
        return len(inputs(self.spec))

    @property
    def metrics(self) -> str:
        """The name of its counters in Spark's progress."""
        return f"windrow_{self.number}"

    @cached_property
    def identity(self) -> Identity:
        """What a checkpoint must agree with."""
        return Identity(
            fingerprint=fingerprint(self.spec),
            about=about(self.spec),
            buckets=self.partitioning.buckets,
            partitions=self.partitions,
        )


def plan_stage(
    query: PhysicalQuery, spec: Stateful, number: int, buckets: int, partitions: int
) -> StagePlan:
    """The stage of one stateful spec of a query."""
    return StagePlan(
        number=number,
        spec=spec,
        partitioning=partitioning_of(spec, buckets),
        partitions=partitions,
        time_type=scans(spec)[0].time_type,
        on_late=query.options.on_late,
        dead_letters=query.options.dead_letters,
    )


def stateful_specs(spec: Spec) -> list[Stateful]:
    """The stateful specs of a plan from the bottom up: the order in which stages are numbered."""
    below = [found for child in inputs(spec) for found in stateful_specs(child)]
    return [*below, spec] if isinstance(spec, Stateful) else below


def marks(spec: Spec) -> tuple[str, ...]:
    """Which of end and sign the rows of a spec carry beside their time."""
    if isinstance(spec, ScanStream):
        return ()
    if isinstance(spec, SlidingAggregate):
        return (SIGN,)
    below = {mark for child in inputs(spec) for mark in marks(child)}
    if isinstance(spec, RangeRows):
        below.add(END)
    if isinstance(spec, BewJoin | MatwinBestmatch):
        below.discard(SIGN)
    return tuple(mark for mark in (END, SIGN) if mark in below)


def row_schema(spec: Spec) -> Schema:
    """The columns of a spec's rows as a DataFrame: its own, then time, end and sign."""
    types = {TIME: "bigint", END: "bigint", SIGN: "tinyint"}
    extra = tuple(Field(name, types[name]) for name in (TIME, *marks(spec)))
    return Schema(spec.schema.fields + extra)
