"""Topics as tests fill and read them, by the plain client."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence

import pyarrow as pa
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from servers.kafka import KafkaBroker
from windrow.io.formats.json_text import object_texts


def produce(
    broker: KafkaBroker,
    topic: str,
    values: Iterable[bytes | None],
    partitions: int = 1,
    keys: Sequence[bytes | None] | None = None,
) -> None:
    """Messages, to the partitions in turn."""
    settings = {"queue.buffering.max.messages": 0}  # as many as there are
    producer = Producer({"bootstrap.servers": broker.servers, **settings})
    for number, value in enumerate(values):
        key = None if keys is None else keys[number]
        producer.produce(topic, value, key, partition=number % partitions)
    assert producer.flush(30) == 0


def produce_in_transaction(
    broker: KafkaBroker,
    topic: str,
    values: Iterable[bytes],
    *,
    is_committed: bool,
    partition: int = 0,
) -> None:
    """Messages in a transaction, which leaves a marker behind them."""
    producer = Producer(
        {"bootstrap.servers": broker.servers, "transactional.id": uuid.uuid4().hex, "log_level": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=partition)
    producer.flush(30)
    if is_committed:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)


def json_values(table: pa.Table) -> list[bytes]:
    """Rows as JSON."""
    return [
        text.encode() for batch in table.to_batches() for text in object_texts(batch).to_pylist()
    ]


def committed_messages(broker: KafkaBroker, topic: str, partitions: int = 1) -> list[Message]:
    """All messages that a reader sees who sees what is committed alone."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.servers,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, own, 0) for own in range(partitions)])
    found, ended = [], set()
    while len(ended) < partitions:
        message = consumer.poll(30)
        assert message is not None, "the broker does not answer"
        if message.error() is not None:
            ended.add(message.partition())
        else:
            found.append(message)
    consumer.close()
    return found


def committed_rows(broker: KafkaBroker, topic: str, partitions: int = 1) -> list[dict]:
    """The values of these messages."""
    return [json.loads(own.value()) for own in committed_messages(broker, topic, partitions)]
