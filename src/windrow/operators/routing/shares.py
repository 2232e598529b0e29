"""Words to buckets, and buckets for rows that can meet no other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.key_columns import Words, mixed_words

Rows = NDArray[np.int64]
Buckets = NDArray[np.int32]
Flags = NDArray[np.bool_]


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
