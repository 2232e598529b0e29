"""What source and sink of Kafka share: the client, how it is set, and its errors as ours."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from windrow.errors import BindError, ResourceError, WindrowError
from windrow.io.protocol import Unavailable

if TYPE_CHECKING:
    from windrow.io.kafka import Kafka

ANSWER_S = 10.0
"""How long an answer of the broker is waited for."""

PASSING = {
    # What the client cannot reach, or is in the middle of.
    "_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_RESOLVE", "_STATE", "_WAIT_COORD",
    "_PREV_IN_PROGRESS", "_CONFLICT", "_PURGE_QUEUE",
    # What Kafka's protocol calls retriable: brokers that start, stop, or hand partitions over, and know
    # less or more of that than the client does. The client marks its own calls alone as retriable.
    "INVALID_MSG", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "REQUEST_TIMED_OUT",
    "BROKER_NOT_AVAILABLE", "REPLICA_NOT_AVAILABLE", "NETWORK_EXCEPTION", "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NOT_CONTROLLER", "CONCURRENT_TRANSACTIONS",
    "KAFKA_STORAGE_ERROR", "FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH",
    "LISTENER_NOT_FOUND", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "OFFSET_NOT_AVAILABLE",
    "PREFERRED_LEADER_NOT_AVAILABLE", "ELIGIBLE_LEADERS_NOT_AVAILABLE", "UNSTABLE_OFFSET_COMMIT",
    "THROTTLING_QUOTA_EXCEEDED", "UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID",
}  # fmt: skip
"""Errors that pass, by the client's names for them."""

LOG = logging.getLogger("windrow.kafka")
LOG.addHandler(logging.NullHandler())  # what the client says on the way is for those who ask for it


def confluent_kafka() -> Any:
    """The client's module.

    Raises:
        ResourceError: it is not installed.
    """
    try:
        import confluent_kafka  # noqa: PLC0415
        import confluent_kafka.admin  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ResourceError(
            "kafka-missing",
            "Kafka is read and written by confluent-kafka, which is not installed",
            hint="pip install 'windrow[kafka]'",
        ) from error
    return confluent_kafka


class Clients:
    """Makes the clients of a source or a sink, and hears what they say beside their answers.

    That a login is refused fails no call: each waits for a connection in vain, and the error callback
    alone tells why.

    Args:
        about: the topic.
    """

    def __init__(self, about: Kafka) -> None:
        self._about = about
        self._refused: Any = None
        self._last = ""
        self._lock = threading.Lock()
        self.is_down = False

    def made(self, kind: Any, settings: Mapping[str, Any]) -> Any:
        """A client; of the settings, what users give was put in by whoever asks.

        Raises:
            BindError: the client does not take them.
        """
        kafka = confluent_kafka()
        about = self._about
        told = {
            "bootstrap.servers": about.servers,
            "client.id": "windrow",
            "logger": LOG,
            **settings,
            "error_cb": self._heard,
        }
        theirs = about.settings.get("error_cb")
        if callable(theirs):
            told["error_cb"] = lambda error: [hear(error) for hear in (self._heard, theirs)]
        elif theirs is not None:
            raise bad_settings("error_cb is called with an error, and cannot be called")
        try:
            return kind(told)
        except kafka.KafkaException as error:
            raise bad_settings(error.args[0].str().strip()) from error
        except (TypeError, ValueError, AttributeError) as error:
            raise bad_settings(str(error)) from error

    def partitions(self, client: Any, seconds: float) -> list[int]:
        """The partitions that the topic has now, asked of a client other than a consumer.

        Raises:
            WindrowError: the topic is not there, or nobody answers within the seconds, or the login is
                refused, which is told as soon as it is known.
        """
        kafka = confluent_kafka()
        until, wait_s = time.monotonic() + seconds, 0.5
        while True:
            left = until - time.monotonic()
            try:
                told = client.list_topics(self._about.topic, timeout=max(0.1, min(wait_s, left)))
                break
            except kafka.KafkaException as error:
                client.poll(0)  # has the callbacks called
                found = self.in_our_words(error.args[0])
                if not isinstance(found, Unavailable) or left <= wait_s:
                    raise found from error
                wait_s *= 2
        with self._lock:
            self._refused, self._last, self.is_down = None, "", False
        topic = told.topics[self._about.topic]
        if topic.error is not None:
            raise self.in_our_words(topic.error)
        return sorted(topic.partitions)

    def in_our_words(self, error: Any) -> WindrowError:
        """An error of a client as ours; one that passes has a cause, maybe, that was heard before."""
        about = self._about
        found = in_our_words(error, about.servers, about.topic)
        if isinstance(found, Unavailable):
            with self._lock:
                if self._refused is not None:
                    return in_our_words(self._refused, about.servers, about.topic)
                if self._last and self._last != error.str():
                    return away(about.servers, f"{error.str()}; {self._last}")
        return found

    def _heard(self, error: Any) -> None:
        known = confluent_kafka().KafkaError
        with self._lock:
            if error.code() in {known._AUTHENTICATION, known.SASL_AUTHENTICATION_FAILED}:
                self._refused = error
            elif error.code() == known._ALL_BROKERS_DOWN:
                self.is_down = True
            else:
                self._last = error.str()


def bad_settings(why: str) -> BindError:
    """The error of settings that the client does not take."""
    return BindError(
        "bad-kafka-option",
        "the client of Kafka does not take its settings",
        reason=why,
        hint="settings of kafka are librdkafka's, by its names: settings={'security.protocol': 'SSL', ..}",
    )


def in_our_words(error: Any, servers: str, topic: str) -> WindrowError:
    """An error of the client, said as ours: one that may pass is `Unavailable`."""
    kafka = confluent_kafka()
    known = kafka.KafkaError
    code = error.code()
    if code in {known.UNKNOWN_TOPIC_OR_PART, known._UNKNOWN_TOPIC, known._UNKNOWN_PARTITION}:
        return BindError(
            "unknown-topic",
            f"Kafka at {servers} has no topic {topic!r}",
            reason=error.str(),
            hint="create the topic first: Windrow creates none",
        )
    if code in {known.TOPIC_EXCEPTION, known.INVALID_TRANSACTION_TIMEOUT}:
        is_topic = code == known.TOPIC_EXCEPTION
        return BindError(
            "bad-kafka-option",
            f"Kafka at {servers} takes no topic of the name {topic!r}"
            if is_topic
            else f"Kafka at {servers} does not allow a transaction_timeout this long",
            reason=error.str(),
            hint="see topic="
            if is_topic
            else "its limit is transaction.max.timeout.ms: 15 minutes",
        )
    if code in {known._AUTHENTICATION, known.SASL_AUTHENTICATION_FAILED}:
        return ResourceError(
            "kafka-refused",
            f"Kafka at {servers} does not know this client: authentication failed",
            reason=error.str(),
            hint="correct settings: 'security.protocol', 'sasl.mechanism', 'sasl.username',"
            " 'sasl.password'",
        )
    refused = {
        known.TOPIC_AUTHORIZATION_FAILED, known.GROUP_AUTHORIZATION_FAILED,
        known.CLUSTER_AUTHORIZATION_FAILED,
        known.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }  # fmt: skip
    if code in refused:
        return ResourceError(
            "kafka-refused",
            f"Kafka at {servers} does not allow this client to use {topic!r}",
            reason=error.str(),
            hint="give what it asks for: settings={'sasl.username': .., ..}",
        )
    if error.retriable() or error.name() in PASSING:
        return away(servers, error.str())
    return ResourceError(
        "kafka-failed",
        f"Kafka at {servers} could not do what {topic!r} needs",
        reason=f"{error.name()}: {error.str()}",
        hint="look at the broker's log; the run goes on from its checkpoint when it is started again",
    )


def away(servers: str, why: str) -> Unavailable:
    """The error of a broker that does not answer."""
    return Unavailable(
        "kafka-away",
        f"Kafka at {servers} does not answer",
        reason=why,
        hint="start the broker, or correct servers=",
    )
