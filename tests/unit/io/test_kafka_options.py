"""What a user says of a topic and no client takes is told as the user's to mend, before a broker is asked."""

from __future__ import annotations

import confluent_kafka
import pyarrow as pa
import pytest

import windrow
from windrow.errors import BindError
from windrow.io import Answer
from windrow.io.kafka_client import Clients, in_our_words
from windrow.io.protocol import Unavailable


def place(**said: object):
    return windrow.kafka(**{"topic": "t", "schema": "n BIGINT", "servers": "127.0.0.1:9", **said})


def told(call) -> str:
    with pytest.raises(BindError) as caught:
        call()
    assert caught.value.condition == "bad-kafka-option"
    return str(caught.value)


def test_one_name_is_no_list_of_letters():
    assert place(keys="store").keys == ("store",)
    assert place(with_columns="_key").source().columns().names == ["n", "_key"]
    assert place(keys=["a", "b"], with_columns=()).keys == ("a", "b")
    assert place(keys="").keys == ()
    for given in (5, None, [1]):
        assert "are not column names" in told(lambda given=given: place(keys=given))


@pytest.mark.parametrize("topic", ["", "a b", "a/b", ".", "..", "x" * 250, "t\n"])
def test_a_name_that_no_topic_has(topic):
    for call in (place(topic=topic).source, place(topic=topic).sink):
        assert "is not a name of a topic" in told(call)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"compression": "lz5"}, "compression of kafka does not know 'lz5'"),
        ({"transaction_timeout": "soon"}, "transaction_timeout='soon' of kafka is not a time for"),
        ({"transaction_timeout": "5 milliseconds"}, "is not a time for an epoch"),
        ({"transaction_timeout": "-5 seconds"}, "is not a time for an epoch"),
        ({"transaction_timeout": "400 days"}, "is not a time for an epoch"),
        ({"transaction_timeout": None}, "is not a time for an epoch"),
        ({"servers": " "}, "does not say where the brokers"),
        ({"settings": 5}, "are no names and values"),
    ],
)
def test_what_is_refused_when_a_sink_is_made(said, why):
    assert why in told(place(**said).sink)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"error_cb": 5}, "error_cb is called with an error"),
        ({"stats_cb": 5}, "callable"),
        ({"nothing.such": 1}, 'No such configuration property: "nothing.such"'),
        ({5: 5}, 'No such configuration property: "5"'),
        ({"socket.timeout.ms": "abc"}, "socket.timeout.ms"),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, "sasl.username"),
    ],
)
def test_settings_that_the_client_does_not_take(settings, why):
    said = place(settings=settings)
    source = said.source()
    for call in (
        source.start,
        lambda: source.latest({"0": 0}),
        lambda: said.sink().open("r", Answer(source.columns())),
    ):
        text = told(call)
        assert "the client of Kafka does not take its settings" in text
        assert why in text


@pytest.mark.parametrize("kind", ["INTERVAL", "ARRAY<INTERVAL>", "STRUCT<a: INTERVAL>"])
@pytest.mark.parametrize("format_", ["json", "debezium"])
def test_intervals_are_not_read_from_json(kind, format_):
    with pytest.raises(BindError, match=r"\[unsupported-type\]: the column 'd'"):
        place(schema=f"n BIGINT, d {kind}", format=format_).source()


def test_keys_that_a_later_row_may_share_are_refused_before_the_run_begins():
    """(a, 2) lives on when (a, 1) goes: a tombstone for a would be wrong."""
    w = windrow.Session()
    w.stream("s", pa.table({"k": ["a", "a"], "v": [1, 2], "ts": [1, 5]}), time="ts")
    query = "SELECT k, v FROM s [RANGE 10] EMIT CHANGES"
    with pytest.raises(BindError, match=r"\[keys-not-unique\]: rows of the answer may agree in k"):
        w.run(query, to=place(schema="", keys="k"))


def test_a_users_callback_hears_errors_too():
    heard = []

    class Client:
        def __init__(self, settings) -> None:
            self.settings = settings

    class Error:
        def code(self):
            return 0

        def str(self):
            return "something"

    said = place(settings={"error_cb": heard.append})
    clients = Clients(said)
    error = Error()
    clients.made(Client, said.settings).settings["error_cb"](error)
    assert heard == [error]


RETRIABLE = [
    2, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 56, 70, 71, 72, 74, 75, 78, 80, 83, 88, 89, 100, 103,
]  # fmt: skip
"""The codes that Kafka's protocol calls retriable, but for that of a topic that is not there."""

FINAL = [1, 10, 29, 35, 42, 47, 87]


@pytest.mark.parametrize("code", RETRIABLE)
def test_an_error_that_kafka_calls_retriable_is_waited_out(code):
    error = confluent_kafka.KafkaError(code)
    assert isinstance(in_our_words(error, "127.0.0.1:9", "t"), Unavailable)


@pytest.mark.parametrize("code", FINAL)
def test_an_error_that_does_not_pass_is_told_at_once(code):
    error = confluent_kafka.KafkaError(code)
    assert not isinstance(in_our_words(error, "127.0.0.1:9", "t"), Unavailable)
