"""Rows to slices of event time: window joins without an equality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.operators.columns.arrow_types import moved
from windrow.operators.columns.changes import ChangeBatch, counted
from windrow.operators.routing.partition import Buckets, Flags, Rows
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.partitioning.buckets import Slices


def by_slices(
    node: PhysicalNode,  # noqa: ARG001
    slices: Slices,
    port: int,
    batch: ChangeBatch,
) -> tuple[Rows, Buckets]:
    """The bucket of an anchor row's slice; those of all slices that another row can reach."""
    times = batch.times
    if port == slices.anchor:
        homes = (times // slices.width) % slices.buckets
        return np.arange(len(times)), homes.astype(np.int32)
    first = moved(times, -slices.before[port]) // slices.width
    last = moved(times, slices.after[port]) // slices.width
    # Neighboring slices are in different buckets: as many of them as there are buckets are all.
    # (A period that the bounds leave empty still has one home, where the row is counted.)
    counts = np.clip(last - first + 1, 1, slices.buckets)
    rows = np.repeat(np.arange(len(times)), counts)
    step = counted(counts)
    return rows, ((first[rows] + step) % slices.buckets).astype(np.int32)


@dataclass(frozen=True)
class OwnSlices:
    """What a bucket of a full outer join answers for: the rows that have their home in it.

    Copies of other buckets' rows are there to be met.
    """

    slices: Slices
    bucket: int

    @classmethod
    def of(cls, node: PhysicalNode, slices: Slices, bucket: int) -> OwnSlices:  # noqa: ARG003
        """What a bucket answers for, whatever the join."""
        return cls(slices, bucket)

    def holds(self, times: Rows) -> Flags:
        """Which rows are at home here, by their times."""
        homes: Flags = (times // self.slices.width) % self.slices.buckets == self.bucket
        return homes
