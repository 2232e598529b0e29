"""The answer at an instant, from a changelog in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.operators.arrow_types import arrow_schema
from windrow.operators.change_kinds import signs_of
from windrow.operators.changes import select, take_columns
from windrow.operators.instants import ticks_of
from windrow.operators.key_directory import KeyDirectory
from windrow.plan.changelogs import (
    Instant,
    check_changelog,
    instant_ticks,
    more_deletes,
)
from windrow.run.local.sources import source_of
from windrow.schema import CHANGE_TYPE, EVENT_TIME, MIN_TICK


def state_at(changelog: Any, instant: Instant) -> pa.Table:
    """The rows whose inserts outnumber their deletes up to the instant, each as often as that.

    Rows come in the order of their first changes.
    """
    source = source_of("the changelog", changelog)
    last = instant_ticks(instant, check_changelog(source.schema))
    schema = arrow_schema(source.schema)
    batches = [
        _until(batch, last)
        for batch in source.batches(None, 0)
        if isinstance(batch, pa.RecordBatch)
    ]
    changes = pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema)
    names = [name for name in schema.names if name not in {CHANGE_TYPE, EVENT_TIME}]
    rows = select(changes, names)
    if not len(rows):
        return pa.Table.from_batches([rows])
    slots = KeyDirectory().slots_of(rows.columns)
    copies = np.zeros(int(slots.max()) + 1, np.int64)
    np.add.at(copies, slots, signs_of(changes.column(CHANGE_TYPE)))
    if copies.min() < 0:
        raise more_deletes()
    firsts = np.unique(slots, return_index=True)[1]
    kept = np.sort(firsts[copies > 0])
    return pa.Table.from_batches([take_columns(rows, np.repeat(kept, copies[slots[kept]]))])


def _until(changes: pa.RecordBatch, last: int) -> pa.RecordBatch:
    """The changes that have become true at an instant."""
    ticks = ticks_of(changes.column(EVENT_TIME))
    return changes.filter(pa.array((ticks <= last) & (ticks > MIN_TICK)))
