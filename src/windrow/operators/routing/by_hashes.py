"""Rows by the hashes of their keys: joins with equalities, and what has group keys."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from windrow.operators.columns.changes import ChangeBatch, counted
from windrow.operators.columns.key_columns import can_equal, key_words
from windrow.operators.routing.partition import Buckets, Rows, spread, with_strays
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.shapes import TwoStreamJoin
from windrow.physical.partitioning.buckets import HashKeys, HashShares


def by_keys(
    node: PhysicalNode,
    hashed: HashKeys,
    port: int,  # noqa: ARG001
    batch: ChangeBatch,
) -> tuple[Rows, Buckets]:
    """The one bucket of all keys together."""
    keys = [batch.columns.column(name) for name in hashed.columns]
    if hashed.otherwise:
        others = [batch.columns.column(name) for name in hashed.otherwise]
        keys = [pc.coalesce(*both) for both in zip(keys, others, strict=True)]
    homes = spread(key_words(keys, nulls_match=True).words, hashed.buckets)
    if node.estimates:
        return _with_marks(batch, homes, hashed.buckets)
    return np.arange(len(batch)), homes


def _with_marks(batch: ChangeBatch, homes: Buckets, buckets: int) -> tuple[Rows, Buckets]:
    """Rows in their homes; in every bucket those that tell all groups of results that may miss."""
    from windrow.operators.load_shedding.draws import is_mark  # noqa: PLC0415

    marks = is_mark(batch.columns)
    counts = np.where(marks, buckets, 1)
    rows = np.repeat(np.arange(len(batch)), counts)
    step = counted(counts)
    return rows, np.where(marks[rows], step, homes[rows]).astype(np.int32)


def by_shares(
    node: MultiJoin | TwoStreamJoin, shares: HashShares, port: int, batch: ChangeBatch
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
