"""Rows of an answer as messages: keys and values, as JSON.

A changelog becomes, by choice,

    upsert      per key and epoch, the row that is there now, or a tombstone: what a compacted topic keeps
    debezium    envelopes of what changed: before, after, op
    rows        the rows as they are, with _change_type and _event_time

The first two are net per epoch: changes that cancel each other are not told. Texts of keys and values say
which rows are the same, so that it holds for columns of any type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import BindError, DataError, nearest
from windrow.io.formats.json_text import json_texts, object_texts
from windrow.io.protocol import Answer

Texts = Sequence[bytes | None]

_GONE = ("delete", "update_preimage")


class AnswerMessages:
    """Makes messages of the rows of an answer.

    Args:
        answer: what the rows are.
        keys: the columns of a message's key, where the user says so.
        changes: how a changelog is written.
        topic: for messages.
    """

    def __init__(self, answer: Answer, keys: Sequence[str], changes: str, topic: str) -> None:
        self._columns = answer.columns.names
        self._topic = topic
        self._way = changes if answer.is_changelog else "rows"
        told = tuple(keys) or (() if self._way == "rows" else answer.keys or ())
        for key in told:
            if key not in self._columns:
                raise BindError(
                    "unknown-key",
                    f"the answer has no column {key!r}, which keys of kafka names",
                    hint=f"one of {nearest(key, self._columns)}",
                )
        if self._way == "upsert" and not told:
            raise BindError(
                "no-keys",
                f"no keys say which messages of {topic!r} replace each other",
                reason="a changelog is written as upserts, which go by their key",
                hint="GROUP BY columns that the answer has; or changes='rows' or 'debezium'",
            )
        if self._way != "rows" and keys and not _tell_apart(told, answer):
            raise BindError(
                "keys-not-unique",
                f"rows of the answer may agree in {', '.join(told)}, the keys of {topic!r}",
                reason="a message would replace another row's, or delete it, unnoticed",
                hint=_instead(answer.keys),
            )
        self._keys = told

    def of(self, batches: Iterable[pa.RecordBatch]) -> tuple[Texts | None, Texts]:
        """The keys, or None where messages have none, and the values."""
        rows = pa.Table.from_batches(batches).combine_chunks().to_batches()
        if not rows:
            return None, []
        if self._way == "rows":
            keys = _bytes(object_texts(rows[0].select(self._keys))) if self._keys else None
            return keys, _bytes(object_texts(rows[0]))
        net = self._net(rows[0])
        return self._upserts(net) if self._way == "upsert" else self._envelopes(net)

    def _net(self, rows: pa.RecordBatch) -> pa.Table:
        """What is new and what is gone in an epoch: a key, a value, how often (-1: gone), and when."""
        keys = self._keys or self._columns
        table = pa.table(
            {
                "key": object_texts(rows.select(keys)),
                "value": object_texts(rows.select(self._columns)),
                "sign": pc.if_else(
                    pc.is_in(rows.column(len(self._columns)), pa.array(_GONE)), -1, 1
                ),
                "at": _event_times(rows.column(len(self._columns) + 1)),
                "row": np.arange(rows.num_rows),
            }
        )
        net = table.group_by(["key", "value"], use_threads=False).aggregate(
            [("sign", "sum"), ("at", "max"), ("row", "max")]
        )
        return net.filter(pc.not_equal(net["sign_sum"], 0)).sort_by("row_max")

    def _by_key(self, net: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The rows that are there now and were not, and those that are gone."""
        there, gone = (net.filter(pc.equal(net["sign_sum"], sign)) for sign in (1, -1))
        is_unique = len(there) + len(gone) == len(net)
        if not is_unique or any(len(pc.unique(own["key"])) != len(own) for own in (there, gone)):
            raise DataError(
                "keys-not-unique",
                f"rows of the answer agree in {', '.join(self._keys)}, the keys of {self._topic!r}",
                reason="one of them would replace the other",
                hint="name columns as keys in which no two rows of the answer agree",
            )
        return there, gone

    def _upserts(self, net: pa.Table) -> tuple[Texts, Texts]:
        there, gone = self._by_key(net)
        left = gone.filter(pc.invert(pc.is_in(gone["key"], there["key"].combine_chunks())))
        keys = [*_bytes(left["key"]), *_bytes(there["key"])]
        return keys, [*([None] * len(left)), *_bytes(there["value"])]

    def _envelopes(self, net: pa.Table) -> tuple[Texts | None, Texts]:
        if self._keys:
            there, gone = self._by_key(net)
            both = gone.select(["key", "value", "at_max"]).join(
                there.select(["key", "value", "at_max"]),
                "key", join_type="full outer", right_suffix="_after", use_threads=False,
            )  # fmt: skip
            at = pc.max_element_wise(both["at_max"], both["at_max_after"])
            texts = _envelopes(both["value"], both["value_after"], at)
            return _bytes(both["key"]), _bytes(texts)
        copies = np.abs(net["sign_sum"].to_numpy())
        rows = net.take(pa.array(np.repeat(np.arange(len(net)), copies)))
        is_there = pc.greater(rows["sign_sum"], 0)
        nothing = pa.scalar(None, pa.string())
        before = pc.if_else(is_there, nothing, rows["value"])
        after = pc.if_else(is_there, rows["value"], nothing)
        return None, _bytes(_envelopes(before, after, rows["at_max"]))


def _tell_apart(keys: Sequence[str], answer: Answer) -> bool:
    """Whether the query sees to it that no two rows of the answer agree in the keys.

    The sink cannot: it has not the rows of the answer, only those that change.
    """
    return answer.keys is not None and set(answer.keys) <= set(keys)


def _instead(known: Sequence[str] | None) -> str:
    if known:
        return f"keys with all of {', '.join(known)}; or changes='rows'"
    return "GROUP BY these columns; or changes='rows', or 'debezium' without keys"


def _envelopes(before: pa.ChunkedArray, after: pa.ChunkedArray, at: pa.ChunkedArray) -> pa.Array:
    op = pc.if_else(before.is_null(), "c", pc.if_else(after.is_null(), "d", "u"))
    micros = json_texts(at.combine_chunks())
    millis = json_texts(pc.divide(at, 1000).combine_chunks())
    return pc.binary_join_element_wise(
        '{"before":', pc.fill_null(before, "null"), ',"after":', pc.fill_null(after, "null"),
        ',"op":"', op, '","source":{"connector":"windrow","ts_us":', micros, ',"ts_ms":', millis,
        '},"ts_ms":', millis, "}", "",
    )  # fmt: skip


def _event_times(column: pa.Array) -> pa.Array:
    """When changes became true, in microseconds; a time that is a number, as it is."""
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    return column.cast(pa.timestamp("us", getattr(column.type, "tz", None))).cast(pa.int64())


def _bytes(texts: pa.Array | pa.ChunkedArray) -> list[bytes]:
    found: list[bytes] = texts.cast(pa.binary()).to_pylist()
    return found
