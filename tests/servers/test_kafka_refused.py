"""What Kafka refuses of a client, and what its messages hold that is no row: each is told, with a real broker."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from contracts.source_contract import read_through

import windrow
from servers.kafka_topics import produce
from windrow.errors import BindError, ResourceError
from windrow.io import Answer, Unavailable

pytestmark = pytest.mark.services

N = pa.schema([("n", pa.int64())])


def of(broker, topic, **more: object):
    return windrow.kafka(topic, **{"servers": broker.servers, "schema": "n BIGINT", **more})


def with_login(broker, topic, password):
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": password,
    }
    return of(broker, topic, servers=broker.servers_with_login, settings=login)


def test_a_login_that_is_known_reads_and_writes(broker):
    topic = broker.topic()
    produce(broker, topic, [b'{"n": 7}'])
    place = with_login(broker, topic, "open")
    assert read_through(place.source()) == {"0": [{"n": 7}]}
    sink = place.sink()
    assert sink.open("r9", Answer(N)) == -1
    sink.close()


def test_a_login_that_is_refused_is_told_at_once(broker):
    topic = broker.topic()
    produce(broker, topic, [b'{"n": 7}'])
    place = with_login(broker, topic, "shut")
    source, sink = place.source(), place.sink()
    calls = (source.start, lambda: source.latest({"0": 0}), lambda: sink.open("r9", Answer(N)))
    for call in calls:
        with pytest.raises(ResourceError) as caught:
            call()
        assert not isinstance(caught.value, Unavailable)
        assert caught.value.condition == "kafka-refused"
        assert "does not know this client: authentication failed" in caught.value.sentence
        assert "Invalid username or password" in caught.value.reason


def test_what_the_broker_refuses_of_what_the_user_says_is_the_users_to_mend(broker):
    place = of(broker, broker.topic(), transaction_timeout="1 hour")
    with pytest.raises(
        BindError, match=r"\[bad-kafka-option\].*does not allow a transaction_timeout"
    ):
        place.sink().open("r10", Answer(N))


def test_a_letter_of_a_tombstone_keeps_its_key(broker):
    topic = broker.topic()
    produce(broker, topic, [None, b"{", None, b'{"n": 1}'], keys=[b"k1", b"k2", None, b"k3"])
    for added in ((), ("_key",)):
        source = of(broker, topic, with_columns=added).source()
        assert [own["n"] for own in read_through(source)["0"]] == [1]
        letters = [(own.offset, own.content) for own in source.take_aside()]
        assert letters == [(0, b"k1"), (1, b"{"), (2, b"")]


def test_a_message_whose_timestamp_is_no_time_goes_aside(broker):
    # A broker takes any number where the topic lets it.
    longest = str(2**63 - 1)
    topic = broker.topic(message_timestamp_after_max_ms=longest, retention_ms="-1")
    producer = Producer({"bootstrap.servers": broker.servers})
    for n, at in enumerate([1_500, 2**62, 253_402_300_799_999, 253_402_300_800_000]):
        producer.produce(topic, json.dumps({"n": n}).encode(), timestamp=at)
    producer.flush(30)
    source = of(broker, topic, with_columns="_timestamp").source()
    found = read_through(source)["0"]
    assert [(own["n"], own["_timestamp"].year) for own in found] == [(0, 1970), (2, 9999)]
    told = {(own.offset, own.why) for own in source.take_aside()}
    assert told == {(n, "its timestamp is not in the years 1 to 9999") for n in (1, 3)}
