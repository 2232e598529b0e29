"""Which bucket, or buckets, each row of a batch goes to: `physical/partitioning/buckets.py` over arrays.

Routing reads values alone, so that a replayed batch goes the way it went before. Rows that can
meet no other (a NULL in a join key, no position in a cell) are still sent to one bucket, where the
operator counts them; their event times spread them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow.compute as pc

from windrow.errors import InternalError
from windrow.operators.columns.arrow_types import moved
from windrow.operators.columns.changes import ChangeBatch, counted
from windrow.operators.columns.key_columns import can_equal, key_words
from windrow.operators.load_shedding.marks import is_mark
from windrow.operators.routing.cell_routes import OwnCells, by_cells
from windrow.operators.routing.shares import Buckets, Flags, Rows, spread, with_strays
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.matwin_bestmatch import MatwinBestmatch
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.shapes import PairJoin
from windrow.physical.partitioning.buckets import (
    HashKeys,
    HashShares,
    Partitioning,
    Single,
    Slices,
)
from windrow.physical.partitioning.cells import Cells
from windrow.schema import MIN_TICK


def route(
    node: PhysicalNode, partitioning: Partitioning, port: int, batch: ChangeBatch, buckets: int
) -> tuple[Rows, Buckets]:
    """Rows of a batch, and the bucket of each; a row that is copied appears once per bucket.

    Every row appears at least once. A row without an event time goes to bucket 0.

    There must be as many buckets as the partitioning uses, or more.
    """
    if partitioning.buckets > buckets:
        raise InternalError(
            "too-few-buckets",
            f"a stage cut into {partitioning.buckets} buckets was given {buckets}",
        )
    if not len(batch) or isinstance(partitioning, Single):
        return np.arange(len(batch)), np.zeros(len(batch), np.int32)
    if isinstance(partitioning, HashKeys):
        keys = [batch.columns.column(name) for name in partitioning.columns]
        if partitioning.otherwise:
            others = [batch.columns.column(name) for name in partitioning.otherwise]
            keys = [pc.coalesce(*both) for both in zip(keys, others, strict=True)]
        homes = spread(key_words(keys, nulls_match=True).words, partitioning.buckets)
        return _timed(batch, *_with_marks(node, batch, homes, partitioning.buckets))
    if isinstance(partitioning, HashShares):
        assert isinstance(node, MultiJoin | PairJoin)
        return _timed(batch, *_by_shares(node, partitioning, port, batch))
    if isinstance(partitioning, Slices):
        return _timed(batch, *_by_slices(partitioning, port, batch.times))
    assert isinstance(node, MatwinBestmatch)
    return _timed(batch, *by_cells(node, partitioning, port, batch))


def _with_marks(
    node: PhysicalNode, batch: ChangeBatch, homes: Buckets, buckets: int
) -> tuple[Rows, Buckets]:
    """Rows in their homes; in every bucket those that tell all groups of results that may miss."""
    rows = np.arange(len(batch))
    if not node.estimated_from:
        return rows, homes
    marks = is_mark(batch.columns)
    counts = np.where(marks, buckets, 1)
    rows = np.repeat(rows, counts)
    step = counted(counts)
    return rows, np.where(marks[rows], step, homes[rows]).astype(np.int32)


def _timed(batch: ChangeBatch, rows: Rows, buckets: Buckets) -> tuple[Rows, Buckets]:
    """The same, with each row without an event time once, in bucket 0."""
    without = batch.times == MIN_TICK
    if not without.any():
        return rows, buckets
    timed = ~without[rows]
    strays = np.flatnonzero(without)
    return (
        np.concatenate([rows[timed], strays]),
        np.concatenate([buckets[timed], np.zeros(len(strays), np.int32)]),
    )


def _by_shares(
    node: MultiJoin | PairJoin, shares: HashShares, port: int, batch: ChangeBatch
) -> tuple[Rows, Buckets]:
    """The one bucket of rows that have a key in every dimension; else all along the others.

    bucket = (coordinate[0] * shares[1] + coordinate[1]) * shares[2] + ...
    """
    homes = np.zeros((len(batch), 1), np.int32)  # one column per copy
    can_match = np.ones(len(batch), np.bool_)
    for group, share in zip(shares.classes, shares.shares, strict=True):
        columns = [node.classes[key].columns[port] for key in group]
        if columns[0] is None:  # all classes of a dimension are over the same inputs
            along = np.arange(share, dtype=np.int32)
            homes = (homes[:, :, None] * np.int32(share) + along).reshape(len(batch), -1)
            continue
        keys = [batch.columns.column(name) for name in columns]
        own = spread(key_words(keys, nulls_match=True).words, share)
        homes = homes * np.int32(share) + own[:, None]
        can_match &= can_equal(len(batch), keys, [node.classes[key].null_safe for key in group])
    rows = np.repeat(np.arange(len(batch)), homes.shape[1])
    return with_strays(batch, rows, homes.reshape(-1), can_match, shares.buckets)


def _by_slices(slices: Slices, port: int, times: Rows) -> tuple[Rows, Buckets]:
    """The bucket of an anchor row's slice; those of all slices that another row can reach."""
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

    def holds(self, times: Rows) -> Flags:
        """Which rows are at home here, by their times."""
        homes: Flags = (times // self.slices.width) % self.slices.buckets == self.bucket
        return homes


Own: TypeAlias = OwnSlices | OwnCells


def own_rows(node: PhysicalNode, partitioning: Partitioning, bucket: int) -> Own | None:
    """What a bucket answers for; None where it answers for all that it finds."""
    if isinstance(partitioning, Slices) and partitioning.anchor is None:
        return OwnSlices(partitioning, bucket)
    if isinstance(partitioning, Cells) and partitioning.anchor is None:
        assert isinstance(node, MatwinBestmatch)
        return OwnCells(node, partitioning, bucket)
    return None
