"""Topics as tests fill and read them, by the plain client."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
from confluent_kafka import Consumer, IsolationLevel, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from servers.kafka import KafkaBroker
from windrow.io.formats.json_text import object_texts

WAIT_S = 60.0
"""How long a test waits for what the broker does by itself."""


def await_broker(is_so: Callable[[], object], what: str) -> None:
    """Waits until something is so; says what it waited for where that takes too long."""
    until = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < until, f"waited {WAIT_S:.0f} s in vain for {what}"
        threading.Event().wait(0.01)


def ends(broker: KafkaBroker, topic: str, partitions: int, isolation: IsolationLevel) -> list[int]:
    """The end of each partition: of what was written, or of what is decided."""
    admin = AdminClient({"bootstrap.servers": broker.servers})
    places = [TopicPartition(topic, own) for own in range(partitions)]
    asked = dict.fromkeys(places, OffsetSpec.latest())
    told = admin.list_offsets(asked, isolation_level=isolation, request_timeout=30)
    return [told[own].result(30).offset for own in places]


def await_markers(broker: KafkaBroker, topic: str, partitions: int = 1) -> None:
    """Waits until every transaction of a topic is over in every partition.

    The broker answers a commit when it has decided, and writes its markers then: a reader right behind it
    may meet the end of what is decided before the rows. Only for topics without an open transaction.
    """

    def are_over() -> bool:
        written, decided = (
            ends(broker, topic, partitions, own)
            for own in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)
        )
        return all(reached >= end for reached, end in zip(decided, written, strict=True))

    await_broker(are_over, f"the markers of transactions in {topic}")


def produce(
    broker: KafkaBroker,
    topic: str,
    values: Iterable[bytes | None],
    partitions: int = 1,
    keys: Sequence[bytes | None] | None = None,
) -> None:
    """Messages, to the partitions in turn; all are there when it returns."""
    settings = {"enable.idempotence": True, "queue.buffering.max.messages": 0}  # however many
    producer = Producer({"bootstrap.servers": broker.servers, **settings})
    refused: list[object] = []

    def note(error: object, _: Message) -> None:
        if error is not None:
            refused.append(error)

    for number, value in enumerate(values):
        key = None if keys is None else keys[number]
        producer.produce(topic, value, key, partition=number % partitions, on_delivery=note)
    assert producer.flush(WAIT_S) == 0, f"the broker has not taken all messages for {topic}"
    assert not refused


def produce_in_transaction(
    broker: KafkaBroker,
    topic: str,
    values: Iterable[bytes],
    *,
    is_committed: bool,
    partition: int = 0,
) -> None:
    """Messages in a transaction, which leaves a marker behind them; it is there when this returns."""
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
    await_markers(broker, topic, partition + 1)


def json_values(table: pa.Table) -> list[bytes]:
    """Rows as JSON."""
    return [
        text.encode() for batch in table.to_batches() for text in object_texts(batch).to_pylist()
    ]


def committed_messages(broker: KafkaBroker, topic: str, partitions: int = 1) -> list[Message]:
    """All messages that a reader sees who sees what is committed alone; nothing may be open."""
    await_markers(broker, topic, partitions)
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
