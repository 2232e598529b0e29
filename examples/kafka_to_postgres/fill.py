"""Orders and their payments, as a shop would send them to Kafka; topics are made where there are none.

    python fill.py localhost:9092 --orders 500
    python fill.py localhost:9092 --orders 500 --first 500     # more of them, later

An order comes every second, from `--begin` on; four of five are paid, some seconds later.
"""

from __future__ import annotations

import argparse
import json
from datetime import datetime, timedelta

from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

STORES = ("north", "south", "east")


def order(number: int, begin: datetime) -> dict[str, object]:
    at = begin + timedelta(seconds=number)
    return {"id": number, "store": STORES[number % len(STORES)], "ts": at.isoformat()}


def payment(number: int, begin: datetime) -> dict[str, object] | None:
    if number % 5 == 0:
        return None
    at = begin + timedelta(seconds=number + 0.5 + number % 7)
    return {"order_id": number, "amount": 10 + number % 90, "ts": at.isoformat()}


def make_topics(servers: str, names: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(name, num_partitions=3) for name in names]).values():
        error = made.exception(30)
        if error is not None and error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise error


def main() -> None:
    asked = argparse.ArgumentParser(description="Orders and payments for two topics of Kafka's.")
    asked.add_argument("servers", help="the broker, as localhost:9092")
    asked.add_argument("--orders", type=int, default=500)
    asked.add_argument("--first", type=int, default=0, help="the number of the first order")
    asked.add_argument("--begin", type=datetime.fromisoformat, default="2026-01-01T12:00:00+00:00")
    asked.add_argument("--topics", nargs=2, default=["orders", "payments"])
    chosen = asked.parse_args()

    make_topics(chosen.servers, chosen.topics)
    producer = Producer({"bootstrap.servers": chosen.servers, "enable.idempotence": True})
    for number in range(chosen.first, chosen.first + chosen.orders):
        # Each message by its order's number: what belongs together is in partitions of one number.
        for topic, row in zip(
            chosen.topics, (order(number, chosen.begin), payment(number, chosen.begin)), strict=True
        ):
            if row is not None:
                producer.produce(topic, json.dumps(row), str(number))
    if producer.flush(60):
        raise SystemExit(f"{chosen.servers} has not taken all messages")
    print(f"{chosen.orders} orders from number {chosen.first} on")


if __name__ == "__main__":
    main()
