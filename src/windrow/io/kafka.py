"""Topics of Kafka as streams, and as places for answers.

windrow.kafka("orders", servers="localhost:9092", schema="id BIGINT, store STRING, ts TIMESTAMP")
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from windrow.errors import BindError
from windrow.io.protocol import Connector, Sink, Source
from windrow.plan.units import to_ticks

MessageFormat = Literal["json", "avro", "raw", "debezium"]
Changes = Literal["upsert", "debezium", "rows"]
Tombstones = Literal["aside", "skip", "null"]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]

ADDED = ("_key", "_key_bytes", "_headers", "_partition", "_offset", "_timestamp")

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_MOST_MS = 2**31 - 1


@dataclass(frozen=True)
class Kafka(Connector):
    """A topic, read as a stream or written an answer to.

    Args:
        topic: its name.
        servers: where brokers are, `host:port`, several with commas.
        format: of values: "json", "avro", "raw" or, to read changes, "debezium".
        schema: the columns of values, as Spark's DDL; Avro has its own.
        start: where a stream begins: "earliest", "latest", or an instant in ISO 8601.
        with_columns: what else becomes a column: _key, _key_bytes, _headers, _partition, _offset,
            _timestamp.
        timestamps: how JSON has TIMESTAMPs: "iso", or numbers of "s", "ms", "us", "ns" since 1970.
        tombstones: what happens to messages without a value: "aside" (the default), "skip" or "null".
        group: a consumer group to which offsets are committed, for tools that watch its lag.
        avro_schema: the schema that values were written with, as JSON, if there is no registry.
        registry: the address of a schema registry, for Avro.
        keys: columns of an answer that make the key of a message; by default those of its GROUP BY.
            A changelog written by key must have those among them.
        changes: how a changelog is written: "upsert", "debezium" or "rows".
        compression: of what is written: "none", "gzip", "snappy", "lz4" or "zstd".
        transaction_timeout: how long an epoch may be open before the broker gives it up.
        settings: of the client, by librdkafka's names: security, and whatever else.
    """

    name: ClassVar[str] = "kafka"

    topic: str
    servers: str = "localhost:9092"
    format: MessageFormat = "json"
    schema: str = ""
    start: str = "earliest"
    with_columns: Sequence[str] = ()
    timestamps: Literal["iso", "s", "ms", "us", "ns"] = "iso"
    tombstones: Literal[Tombstones, ""] = ""
    group: str = ""
    avro_schema: str = ""
    registry: str = ""
    keys: Sequence[str] = ()
    changes: Changes = "upsert"
    compression: Compression = "lz4"
    transaction_timeout: str = "1 minute"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for option in ("keys", "with_columns"):
            object.__setattr__(self, option, _names(option, getattr(self, option)))

    def source(self) -> Source:
        """The messages as rows."""
        from windrow.io.kafka_source import KafkaSource  # noqa: PLC0415

        self._check()
        one_of("format", self.format, get_args(MessageFormat))
        one_of("tombstones", self.tombstones or "aside", get_args(Tombstones))
        for column in self.with_columns:
            one_of("with_columns", column, ADDED)
        return KafkaSource(self)

    def sink(self) -> Sink:
        """Rows as messages, a transaction per epoch."""
        from windrow.io.kafka_sink import KafkaSink  # noqa: PLC0415

        self._check()
        one_of("format", self.format, ("json",))
        one_of("changes", self.changes, get_args(Changes))
        one_of("compression", self.compression, get_args(Compression))
        try:
            is_length = 1_000 <= to_ticks(self.transaction_timeout, "timestamp") / 1_000 <= _MOST_MS
        except BindError:
            is_length = False
        if not is_length:
            raise BindError(
                "bad-kafka-option",
                f"transaction_timeout={self.transaction_timeout!r} of kafka is not a time for an epoch",
                hint="from '1 second' to what the broker's transaction.max.timeout.ms says: '15"
                " minutes'",
            )
        return KafkaSink(self)

    def _check(self) -> None:
        """Refuses what no client takes, before one is made."""
        if not _TOPIC.fullmatch(self.topic) or self.topic in {".", ".."}:
            raise BindError(
                "bad-kafka-option",
                f"{self.topic!r} is not a name of a topic",
                hint="a name has letters, digits, dots, _ and -, 249 of them at most",
            )
        if not self.servers.strip():
            raise BindError(
                "bad-kafka-option",
                f"servers of kafka does not say where the brokers of {self.topic!r} are",
                hint="servers='host:9092'",
            )
        if not isinstance(self.settings, Mapping):
            raise BindError(
                "bad-kafka-option",
                f"settings={self.settings!r} of kafka are no names and values",
                hint="settings={'security.protocol': 'SSL', ..}",
            )


def one_of(option: str, given: str, known: Sequence[str]) -> None:
    """Refuses a word that an option does not know."""
    if given not in known:
        raise BindError(
            "bad-kafka-option",
            f"{option} of kafka does not know {given!r}",
            hint=f"one of {', '.join(known)}",
        )


def _names(option: str, given: object) -> tuple[str, ...]:
    """Names of columns; one text is one name."""
    if isinstance(given, str):
        return (given,) if given else ()
    listed = tuple(given) if isinstance(given, Sequence | set | frozenset) else None
    if listed is None or not all(isinstance(own, str) for own in listed):
        raise BindError(
            "bad-kafka-option",
            f"{option}={given!r} of kafka are not column names",
            hint=f"{option}=['..', '..']",
        )
    return listed
