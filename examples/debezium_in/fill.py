"""Changes of a table `orders`, as Debezium sends them to Kafka; topics are made where there are none.

    python fill.py localhost:9092

With Debezium before a database of your own you need none of this: it fills the topic.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

BEGIN_MS = 1_767_268_800_000  # 2026-01-01 12:00 UTC
CUSTOMERS = ("ann", "bob", "cem", "dee")


def envelopes(first: int, count: int) -> Iterator[tuple[int, dict[str, object]]]:
    """Each order is placed; every third is then changed, and every fourth canceled."""
    for number in range(first, first + count):
        row = {"id": number, "customer": CUSTOMERS[number % len(CUSTOMERS)], "amount": 10 + number}
        more = {**row, "amount": 15 + number}
        at = BEGIN_MS + 3_000 * number
        yield number, envelope("c", None, row, at)
        if number % 3 == 0:
            yield number, envelope("u", row, more, at + 1_000)
        if number % 4 == 0:
            yield number, envelope("d", more if number % 3 == 0 else row, None, at + 2_000)


def envelope(op: str, before: object, after: object, at_ms: int) -> dict[str, object]:
    return {"before": before, "after": after, "op": op, "source": {"ts_ms": at_ms}}


def make_topics(servers: str, topics: list[NewTopic]) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics(topics).values():
        error = made.exception(30)
        if error is not None and error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise error


def main() -> None:
    asked = argparse.ArgumentParser(description="Changes of a table, as Debezium sends them.")
    asked.add_argument("servers", help="the broker, as localhost:9092")
    asked.add_argument("--orders", type=int, default=100)
    asked.add_argument("--first", type=int, default=0, help="the number of the first order")
    asked.add_argument("--topics", nargs=2, default=["shop.public.orders", "customers"])
    chosen = asked.parse_args()

    changes, totals = chosen.topics
    # A compacted topic keeps the newest message of each key: the table as it is now.
    compacted = NewTopic(totals, num_partitions=1, config={"cleanup.policy": "compact"})
    make_topics(chosen.servers, [NewTopic(changes, num_partitions=2), compacted])
    producer = Producer({"bootstrap.servers": chosen.servers, "enable.idempotence": True})
    for number, told in envelopes(chosen.first, chosen.orders):
        key = json.dumps({"id": number})
        producer.produce(changes, json.dumps(told), key)
        if told["op"] == "d":
            producer.produce(changes, None, key)  # a tombstone, as Debezium sends one
    if producer.flush(60):
        raise SystemExit(f"{chosen.servers} has not taken all messages")
    print(f"the changes of {chosen.orders} orders")


if __name__ == "__main__":
    main()
