"""Cases run in process: their streams registered, in the batches of the case or in others."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pyarrow as pa
from sessions import session

import windrow
from cases.base import Case


def session_of(
    case: Case, *, whole: bool = False, hints: Any = None, cut_by: Random | None = None
) -> windrow.Session:
    """A session with the streams of a case; `cut_by` draws other batches than the case has."""
    data = {}
    for stream in case.streams:
        tables = stream.tables()
        batches = [batch for table in tables for batch in table.to_batches()]
        if cut_by is not None:
            batches = cut_again(batches, cut_by)
        data[stream.name] = (
            pa.concat_tables(tables)
            if whole
            else pa.RecordBatchReader.from_batches(stream.schema, batches)
        )
    return session(data, time="ts", lateness=case.lateness, tables=case.tables, **(hints or {}))


def cut_again(batches: list[pa.RecordBatch], random: Random) -> list[pa.RecordBatch]:
    """The same rows in the same order, in other batches."""
    if not batches:
        return []
    rows = pa.concat_batches(batches)
    cuts = sorted(random.randrange(rows.num_rows + 1) for _ in range(random.randrange(4)))
    return [rows.slice(a, b - a) for a, b in itertools.pairwise([0, *cuts, rows.num_rows])]
