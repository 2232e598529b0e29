"""Packed rows inside a worker, streaming or batch: which port a blob is for, and what it holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.operators.changes import ChangeBatch, concat
from windrow.operators.chunks import decode
from windrow.schema import MIN_TICK


@dataclass(frozen=True)
class Blob:
    """Encoded rows of one port.

    Copies are rows that have their home in another bucket: one row of a join may be needed in
    several.
    """

    port: int
    is_copy: bool
    data: bytes | pa.Buffer


def by_port(
    blobs: Iterable[Blob], ports: int, watermark: int
) -> tuple[list[ChangeBatch | None], list[int]]:
    """One batch, or None, per port, and how many of its rows are copies.

    Late copies are left out: a late row is counted where it is at home.
    """
    found: list[list[ChangeBatch]] = [[] for _ in range(ports)]
    copies = [0] * ports
    for blob in blobs:
        batch = decode(blob.data)
        if blob.is_copy:
            batch = _in_time(batch, watermark)
            copies[blob.port] += len(batch)
        found[blob.port].append(batch)
    return [concat(batches) if batches else None for batches in found], copies


def _in_time(batch: ChangeBatch, watermark: int) -> ChangeBatch:
    """The rows that are not late; a row without a time is at MIN_TICK, and late."""
    is_kept = batch.times >= max(watermark, MIN_TICK + 1)
    return batch if is_kept.all() else batch.take(np.flatnonzero(is_kept))
