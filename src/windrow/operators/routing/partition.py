"""Which bucket, or buckets, each row of a batch goes to: `route`, `physical/partitioning` over arrays.

Routing reads values alone, so that a replayed batch goes the way it went before. Rows that can
meet no other (a NULL in a join key, no position in a cell) are still sent to one bucket, where the
operator counts them; their event times spread them.

A partitioning names its router, so that a worker loads what its own rows are routed by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InternalError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.key_columns import Words, mixed_words
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.partitioning.buckets import Partitioning
from windrow.registry import load
from windrow.schema import MIN_TICK

Rows: TypeAlias = NDArray[np.int64]
Buckets: TypeAlias = NDArray[np.int32]
Flags: TypeAlias = NDArray[np.bool_]


if TYPE_CHECKING:
    from windrow.operators.routing.by_cells import OwnCells
    from windrow.operators.routing.by_slices import OwnSlices

    Own: TypeAlias = OwnSlices | OwnCells


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
    if not len(batch) or not partitioning.router:
        return np.arange(len(batch)), np.zeros(len(batch), np.int32)
    rows, homes = load(partitioning.router)(node, partitioning, port, batch)
    return _timed(batch, rows, homes)


def own_rows(node: PhysicalNode, partitioning: Partitioning, bucket: int) -> Own | None:
    """What a bucket answers for; None where it answers for all that it finds."""
    if not partitioning.owner:
        return None
    own: Own = load(partitioning.owner)(node, partitioning, bucket)
    return own


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


def with_strays(
    batch: ChangeBatch, rows: Rows, buckets: Buckets, can_match: Flags, used: int
) -> tuple[Rows, Buckets]:
    """The same, with each row that can match nothing once, in a bucket by its time."""
    if can_match.all():
        return rows, buckets
    matching = can_match[rows]
    strays = np.flatnonzero(~can_match)
    homes = stray_homes(batch.times[strays], used)
    return (
        np.concatenate([rows[matching], strays]),
        np.concatenate([buckets[matching], homes]),
    )


def spread(words: Words, share: int) -> Buckets:
    """The words, spread evenly over `share` parts."""
    return (mixed_words(words) % np.uint64(share)).astype(np.int32)


def stray_homes(times: Rows, share: int) -> Buckets:
    """Where rows go that can match nothing: by their times."""
    return spread(np.ascontiguousarray(times).view(np.uint64), share)
