"""Debezium's envelopes as changes: a row goes, a row comes, or one takes the place of another.

    {"before": null,     "after": {..},  "op": "c"}        insert            (r, of a snapshot, too)
    {"before": {..},     "after": {..},  "op": "u"}        update_preimage, update_postimage
    {"before": {..},     "after": null,  "op": "d"}        delete

An envelope may stand under `payload`, beside its schema. The time of a change is that of the database
(`source.ts_us`, or `source.ts_ms`), or else that of Debezium (`ts_ms`).

The row before a change has to be whole, as a delete takes back an equal row. Where the database logs
no more of it than its key, Debezium puts NULL, or nothing, in the place of the other columns, and no
message tells this from a row that has NULL there: the query then finds no row to delete, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.io.formats.decoded import Decoded, one_batch
from windrow.io.formats.json_values import ISO, JsonValues

CHANGE, CHANGED_AT = "_change", "_changed_at"
KINDS = ("insert", "delete", "update_preimage", "update_postimage")

_INSERT, _DELETE, _PREIMAGE, _POSTIMAGE = range(4)
_GOES, _COMES = ("u", "d"), ("c", "r", "u")
_OPS = {*_GOES, *_COMES}
_MOST_MS = (2**63 - 1) // 1000
_TIMES = [("ts_us", pa.int64()), ("ts_ms", pa.int64())]


class DebeziumValues:
    """Makes changes of envelopes.

    Args:
        columns: those of the table whose changes they are.
        timestamps: how the table's TIMESTAMPs are written, as `JsonValues` has it.
    """

    def __init__(self, columns: pa.Schema, timestamps: str = ISO) -> None:
        row = pa.struct(list(columns))
        envelope = [
            ("before", row), ("after", row), ("op", pa.string()), ("source", pa.struct(_TIMES)), *_TIMES,
        ]  # fmt: skip
        self._row = columns
        self._json = JsonValues(
            pa.schema([*envelope, ("payload", pa.struct(envelope))]), timestamps
        )
        self.columns = pa.schema(
            [*columns, (CHANGE, pa.string()), (CHANGED_AT, pa.timestamp("us", "UTC"))]
        )

    def decode(self, values: Sequence[bytes]) -> Decoded:
        """The changes of envelopes."""
        found = self._json.decode(values)
        rows, messages = found.rows, found.messages
        payload = rows.column("payload")
        plain = rows.select([name for name in rows.schema.names if name != "payload"])
        bad = list(found.bad)
        parts = []
        is_wrapped = payload.is_valid().to_numpy(zero_copy_only=False)
        if is_wrapped.any():
            inner = pa.RecordBatch.from_struct_array(payload)
            parts.append(self._changes(inner.filter(is_wrapped), messages[is_wrapped], bad))
            parts.append(self._changes(plain.filter(~is_wrapped), messages[~is_wrapped], bad))
        else:
            parts.append(self._changes(plain, messages, bad))
        changes = one_batch([pa.Table.from_batches([own.rows]) for own in parts], self.columns)
        numbers = np.concatenate([own.messages for own in parts])
        if len(parts) > 1:
            order = np.argsort(numbers, kind="stable")
            changes, numbers = changes.take(pa.array(order)), numbers[order]
        return Decoded(changes, numbers, sorted(bad))

    def _changes(self, rows: pa.RecordBatch, messages: Any, bad: list[tuple[int, str]]) -> Decoded:
        """The changes of parsed envelopes; those that are none are added to `bad`."""
        before, after = rows.column("before"), rows.column("after")
        op = pc.fill_null(rows.column("op"), "").to_numpy(zero_copy_only=False).astype(str)
        goes, comes = np.isin(op, _GOES), np.isin(op, _COMES)
        has_before = before.is_valid().to_numpy(zero_copy_only=False)
        has_after = after.is_valid().to_numpy(zero_copy_only=False)
        is_none, lost = ~(goes | comes), goes & ~has_before
        empty = comes & ~has_after
        times, has_no_time = _times(rows)
        is_bad = is_none | lost | empty | has_no_time
        bad += [
            (int(messages[own]), _why(op[own], is_lost=bool(lost[own]), is_empty=bool(empty[own])))
            for own in np.flatnonzero(is_bad)
        ]
        goes, comes = goes & ~is_bad, comes & ~is_bad
        gone, come = np.flatnonzero(goes), np.flatnonzero(comes)
        is_come = np.repeat([0, 1], [len(gone), len(come)])
        order = np.lexsort((is_come, np.concatenate([gone, come])))
        both = np.concatenate([gone, come])[order]
        kinds = np.concatenate(
            [
                np.where(op[gone] == "u", _PREIMAGE, _DELETE),
                np.where(op[come] == "u", _POSTIMAGE, _INSERT),
            ]
        )[order]
        images = pa.concat_arrays([before.take(pa.array(gone)), after.take(pa.array(come))])
        fields = images.take(pa.array(order)).flatten()
        change = pa.array(KINDS).take(pa.array(kinds))
        arrays = [*fields, change, times.take(pa.array(both))]
        return Decoded(pa.RecordBatch.from_arrays(arrays, schema=self.columns), messages[both])


def _times(rows: pa.RecordBatch) -> tuple[pa.Array, NDArray[np.bool_]]:
    """When changes were, and whether a number of milliseconds is none of microseconds."""
    micros, millis = rows.column("source").flatten()
    known = pc.coalesce(micros, millis, rows.column("ts_us"), rows.column("ts_ms"))
    is_millis = pc.or_(
        pc.and_(micros.is_null(), millis.is_valid()),
        pc.and_(pc.and_(micros.is_null(), millis.is_null()), rows.column("ts_us").is_null()),
    )
    is_far = pc.and_(is_millis, pc.or_(pc.greater(known, _MOST_MS), pc.less(known, -_MOST_MS)))
    is_far = pc.fill_null(is_far, False)
    near = pc.if_else(is_far, pa.scalar(None, pa.int64()), known)
    times = pc.if_else(is_millis, pc.multiply(near, 1000), near)
    return times.cast(pa.timestamp("us", "UTC")), is_far.to_numpy(zero_copy_only=False)


def _why(op: str, *, is_lost: bool, is_empty: bool) -> str:
    if is_lost:
        return (
            f"the op {op!r} has no row before it: have the database log whole rows"
            " (PostgreSQL: REPLICA IDENTITY FULL)"
        )
    if is_empty:
        return f"the op {op!r} has no row after it"
    if op in _OPS:
        return "its time in milliseconds is further from 1970 than can be counted"
    return f"the op {op!r} is not a change of a row" if op else "it has no op"
