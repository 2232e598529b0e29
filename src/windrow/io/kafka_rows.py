"""Messages as rows: values by their format, and what else a message has in columns beside them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from windrow.errors import BindError
from windrow.io.ddl import parse_ddl
from windrow.io.formats.decoded import Decoded, Decoder
from windrow.io.kafka_client import confluent_kafka
from windrow.io.protocol import Aside
from windrow.operators.columns.arrow_types import arrow_schema

if TYPE_CHECKING:
    from windrow.io.kafka import Kafka

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_ADDED = {
    "_key": pa.string(),
    "_key_bytes": pa.binary(),
    "_headers": _HEADERS,
    "_partition": pa.int32(),
    "_offset": pa.int64(),
    "_timestamp": pa.timestamp("us", "UTC"),
}
TIMES_MS = range(-62_135_596_800_000, 253_402_300_800_000)
"""The years 1 to 9999. Producers may write any number as the timestamp of a message."""

_NOT_ROWS = {"json": "aside", "avro": "aside", "raw": "null", "debezium": "skip"}


@dataclass(frozen=True)
class Fetched:
    """Messages of a partition, in order.

    The client's own objects are let go of where nothing but values is asked for: a few hundred at a
    time, they stay within the processor's cache, and take a third of the time.

    Attributes:
        offsets: where they were; they grow, and may leave gaps.
        values: what they hold.
        messages: the client's objects; None where they were let go of.
        gone: the keys of those without a value, by their offsets.
    """

    offsets: Sequence[int]
    values: list[bytes | None]
    messages: list[Any] | None = None
    gone: Mapping[int, bytes | None] = field(default_factory=dict)

    @classmethod
    def of(cls, messages: list[Any], *, is_kept: bool) -> Fetched:
        """Messages as the client gives them."""
        kind = confluent_kafka().Message
        first, last = messages[0].offset(), messages[-1].offset()
        whole = last - first == len(messages) - 1
        offsets = range(first, last + 1) if whole else list(map(kind.offset, messages))
        values = list(map(kind.value, messages))
        gone = {}
        if None in values:
            gone = {own.offset(): own.key() for own in messages if own.value() is None}
        return cls(offsets, values, messages if is_kept else None, gone)

    def between(self, start: int, end: int) -> Fetched:
        """Those from an offset on, before another."""
        if start <= self.offsets[0] and self.offsets[-1] < end:
            return self
        part = slice(bisect_left(self.offsets, start), bisect_left(self.offsets, end))
        messages = None if self.messages is None else self.messages[part]
        return Fetched(self.offsets[part], self.values[part], messages, self.gone)

    def __len__(self) -> int:
        return len(self.values)


def together(runs: Sequence[Fetched]) -> Fetched:
    """Several that follow one another as one."""
    if len(runs) == 1:
        return runs[0]
    messages = None
    if all(run.messages is not None for run in runs):
        messages = [own for run in runs for own in run.messages or ()]
    return Fetched(
        [at for run in runs for at in run.offsets],
        [own for run in runs for own in run.values],
        messages,
        {at: key for run in runs for at, key in run.gone.items()},
    )


class MessageRows:
    """Makes rows of messages, and keeps aside what is none.

    Attributes:
        columns: those of the rows.
    """

    def __init__(self, about: Kafka) -> None:
        self._about = about
        self._decoder = _decoder(about)
        self._tombstones = about.tombstones or _NOT_ROWS[about.format]
        self._aside: list[Aside] = []
        taken = set(self._decoder.columns.names) & set(about.with_columns)
        if taken:
            raise BindError(
                "bad-kafka-option",
                f"with_columns names {', '.join(sorted(taken))}, which values have already",
                hint="leave it out of one of the two",
            )
        added = [(name, _ADDED[name]) for name in about.with_columns]
        self.columns = pa.schema([*self._decoder.columns, *added])

    def take_aside(self) -> Sequence[Aside]:
        """What was no row since this was last asked."""
        aside, self._aside = self._aside, []
        return aside

    @property
    def needs_messages(self) -> bool:
        """Whether rows have more of a message than its value."""
        return bool(self._about.with_columns)

    def of(self, partition: str, fetched: Fetched) -> pa.RecordBatch:
        """The rows of messages of a partition."""
        values, messages = fetched.values, fetched.messages or []
        numbers = None
        if None in values and self._about.format != "raw":
            numbers = np.array([n for n, own in enumerate(values) if own is not None], np.int64)
            found = self._decoder.decode([own for own in values if own is not None])
            found = Decoded(
                found.rows,
                numbers[found.messages],
                [(int(numbers[number]), why) for number, why in found.bad],
            )
            found = self._with_tombstones(found, values)
        elif values:
            found = self._decoder.decode(cast("list[bytes]", values))
        else:
            found = Decoded(pa.RecordBatch.from_pylist([], schema=self._decoder.columns), _none())
        if "_key" in self._about.with_columns:
            keys = list(map(confluent_kafka().Message.key, messages))
            bad = [n for n, key in enumerate(keys) if key is not None and not _is_text(key)]
            found = _without(found, bad, "its key is not a text in UTF-8")
        if "_timestamp" in self._about.with_columns:
            bad = [n for n, own in enumerate(messages) if own.timestamp()[1] not in TIMES_MS]
            found = _without(found, bad, "its timestamp is not in the years 1 to 9999")
        self._aside += [
            Aside(partition, at, why, values[number] or fetched.gone.get(at) or b"")
            for number, why in sorted(found.bad)
            for at in [fetched.offsets[number]]
        ]
        if not self._about.with_columns:
            return found.rows
        return self._with_columns(found, messages)

    def _with_tombstones(self, found: Decoded, values: Sequence[bytes | None]) -> Decoded:
        """What becomes of messages without a value."""
        empty = np.array([n for n, own in enumerate(values) if own is None], np.int64)
        if self._tombstones == "skip":
            return found
        if self._tombstones == "aside":
            why = "it has no value: a tombstone, which says that a key is gone; its content here is the key"
            return Decoded(
                found.rows, found.messages, [*found.bad, *((int(n), why) for n in empty)]
            )
        columns = self._decoder.columns
        nulls = pa.RecordBatch.from_arrays(
            [pa.nulls(len(empty), own.type) for own in columns], schema=columns
        )
        numbers = np.concatenate([found.messages, empty])
        order = np.argsort(numbers, kind="stable")
        rows = pa.concat_batches([found.rows, nulls]).take(pa.array(order))
        return Decoded(rows, numbers[order], found.bad)

    def _with_columns(self, found: Decoded, messages: Sequence[Any]) -> pa.RecordBatch:
        message = confluent_kafka().Message
        numbers = pa.array(found.messages)
        arrays = list(found.rows.columns)
        for name in self._about.with_columns:
            if name in {"_key", "_key_bytes"}:
                keys = pa.array(list(map(message.key, messages)), pa.binary())
                arrays.append(keys.take(numbers).cast(_ADDED[name]))
            elif name == "_headers":
                told = [own.headers() for own in messages]
                listed = [
                    None if own is None else [{"key": key, "value": value} for key, value in own]
                    for own in told
                ]
                arrays.append(pa.array(listed, _HEADERS).take(numbers))
            elif name == "_timestamp":
                kinds = [own.timestamp() for own in messages]
                stamps = pa.array(
                    [at if kind and at in TIMES_MS else None for kind, at in kinds], pa.int64()
                )
                instants = stamps.cast(pa.timestamp("ms", "UTC")).cast(_ADDED[name])
                arrays.append(instants.take(numbers))
            else:
                asked = message.partition if name == "_partition" else message.offset
                arrays.append(pa.array(list(map(asked, messages)), _ADDED[name]).take(numbers))
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)


def _without(found: Decoded, bad: Sequence[int], why: str) -> Decoded:
    """The rows but for those of some messages, of which it is said what is wrong."""
    if not bad:
        return found
    is_good = ~np.isin(found.messages, list(bad))
    known = {number for number, _ in found.bad}
    return Decoded(
        found.rows.filter(pa.array(is_good)),
        found.messages[is_good],
        [*found.bad, *((number, why) for number in bad if number not in known)],
    )


def _is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def _none() -> Any:
    return np.empty(0, np.int64)


def _has_intervals(arrow: pa.DataType) -> bool:
    parts = [arrow.field(n).type for n in range(arrow.num_fields)]
    return pa.types.is_duration(arrow) or any(map(_has_intervals, parts))


def _decoder(about: Kafka) -> Decoder:
    """What reads the values of a topic."""
    if about.format == "raw":
        from windrow.io.formats.decoded import RawValues  # noqa: PLC0415

        return RawValues()
    if about.format == "avro":
        from windrow.io.formats.avro_values import AvroValues  # noqa: PLC0415

        columns = arrow_schema(parse_ddl(about.schema)) if about.schema else None
        return AvroValues(columns, about.avro_schema, about.registry, f"{about.topic}-value")
    if not about.schema:
        raise BindError(
            "no-schema",
            f"nothing says which columns the messages of {about.topic!r} have",
            reason="JSON does not tell types",
            hint="schema='id BIGINT, store STRING, ts TIMESTAMP'",
        )
    columns = arrow_schema(parse_ddl(about.schema))
    for column in columns:
        if _has_intervals(column.type):
            raise BindError(
                "unsupported-type",
                f"the column {column.name!r} of the type {column.type} is not read from JSON",
                reason="JSON has no standard way to write intervals",
                hint="give it as BIGINT or STRING, and make an interval of it in the query",
            )
    if about.format == "debezium":
        from windrow.io.formats.debezium import DebeziumValues  # noqa: PLC0415

        return DebeziumValues(columns, about.timestamps)
    from windrow.io.formats.json_values import JsonValues  # noqa: PLC0415

    return JsonValues(columns, about.timestamps)
