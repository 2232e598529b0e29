"""What source and sink of Kafka share: the client, how it is set, and its errors as ours."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from windrow.errors import BindError, ResourceError, WindrowError
from windrow.io.protocol import Unavailable

ANSWER_S = 10.0
"""How long an answer of the broker is waited for."""

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


def client_settings(servers: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of every client; what users give decides."""
    return {"bootstrap.servers": servers, "client.id": "windrow", "logger": LOG, **given}


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
            hint="make the topic first: Windrow makes none",
        )
    refused = {
        known._AUTHENTICATION, known.SASL_AUTHENTICATION_FAILED, known.TOPIC_AUTHORIZATION_FAILED,
        known.GROUP_AUTHORIZATION_FAILED, known.CLUSTER_AUTHORIZATION_FAILED,
        known.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }  # fmt: skip
    if code in refused:
        return ResourceError(
            "kafka-refused",
            f"Kafka at {servers} does not let this client use {topic!r}",
            reason=error.str(),
            hint="give what it asks for: settings={'sasl.username': .., ..}",
        )
    passing = {
        known._TRANSPORT, known._ALL_BROKERS_DOWN, known._TIMED_OUT, known._RESOLVE, known._STATE,
        known._WAIT_COORD, known._PREV_IN_PROGRESS, known._CONFLICT, known._PURGE_QUEUE,
        known.NOT_LEADER_FOR_PARTITION, known.LEADER_NOT_AVAILABLE, known.COORDINATOR_NOT_AVAILABLE,
        known.NOT_COORDINATOR, known.COORDINATOR_LOAD_IN_PROGRESS, known.REQUEST_TIMED_OUT,
        known.BROKER_NOT_AVAILABLE, known.NETWORK_EXCEPTION, known.CONCURRENT_TRANSACTIONS,
    }  # fmt: skip
    if code in passing or error.retriable():
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
        hint="start the broker, or mend servers=",
    )
