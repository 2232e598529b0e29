"""The last epoch of a run, where the broker has forgotten it.

The number of the last epoch is an offset of the run's group, and offsets expire: a week after they were
committed, if the broker is set as it comes (offsets.retention.minutes). Two things stand against that.

    kept      while the run is open its number is committed again, every hour
    found     the last message of an epoch has a header, windrow-epoch: <run> <number>

So a run that was down for long is found in the tail of its topic, for as long as its messages are there.
What is found has to be certain: an epoch too few, and its rows would be there twice. In each partition a
header of the run's is looked for from the end on, or a message that is older than the newest header that
was found. Where the broker may have deleted something newer than that, nothing is certain. (A compacted
topic forgets tombstones after a day: an epoch of nothing else may be written again, which changes nothing
for who reads rows by their keys.)
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windrow.errors import ResourceError
from windrow.io.kafka_client import ANSWER_S, away, confluent_kafka
from windrow.io.protocol import NO_EPOCH

HEADER = "windrow-epoch"

REFRESH_S = 3600.0
"""How often the number is committed again where nothing else is."""

LOOK = (1_000, 100_000)
"""Messages that are looked at from the ends of a topic, of all partitions: at first, and at most."""


def header(run: str, epoch: int) -> list[tuple[str, bytes]]:
    """The headers of an epoch's last message; none for a run that nobody goes on with."""
    return [(HEADER, f"{run} {epoch}".encode())] if run else []


@dataclass
class Tail:
    """What was seen of a partition, from its end on.

    Attributes:
        begin: its first offset; what was before it the broker has deleted.
        end: the offset behind the last one that was looked at.
        seen_from: the first offset that was looked at.
        oldest: the timestamp of the first message that was seen, in milliseconds; None where none was.
        epoch: the last epoch of the run that was seen; None where none was.
        at: the timestamp of that.
    """

    begin: int
    end: int
    seen_from: int
    oldest: int | None = None
    epoch: int | None = None
    at: int = 0

    def is_settled(self, newest: int | None) -> bool:
        """Whether nothing of the run is further in front that is newer than a header found elsewhere."""
        if self.epoch is not None or self.seen_from == 0:
            return True
        return newest is not None and self.oldest is not None and self.oldest <= newest


def newest(tails: Sequence[Tail]) -> tuple[int, int | None]:
    """The last epoch that was seen anywhere, and when it was written."""
    found = [(own.epoch, own.at) for own in tails if own.epoch is not None]
    return max(found) if found else (NO_EPOCH, None)


def epoch_in_topic(
    consumer: Any, topic: str, partitions: Sequence[int], run: str, servers: str
) -> int:
    """The last epoch of a run by the messages that its topic has; `NO_EPOCH` where none tells of it.

    Args:
        consumer: reads what is committed, and tells where partitions end. What the run has left open is
            ended before.
        topic: what is read.
        partitions: those of the topic.
        run: its name.
        servers: for messages.

    Raises:
        ResourceError: there are messages of the run, and newer ones may have been deleted.
    """
    kafka = confluent_kafka()
    tails: dict[int, Tail] = {}
    for own in partitions:
        place = kafka.TopicPartition(topic, own)
        begin, end = consumer.get_watermark_offsets(place, ANSWER_S)
        tails[own] = Tail(begin, end, end)
    for most in LOOK:
        _, since = newest(list(tails.values()))
        share = max(1, most // max(1, len(tails)))
        wanted = {
            own: tail
            for own, tail in tails.items()
            if not tail.is_settled(since) and tail.seen_from > tail.begin
        }
        for tail in wanted.values():
            tail.seen_from = max(tail.begin, tail.end - share)
        if wanted:
            _read(consumer, topic, wanted, run, servers)
    epoch, since = newest(list(tails.values()))
    if since is None or all(tail.is_settled(since) for tail in tails.values()):
        return epoch
    raise ResourceError(
        "epoch-forgotten",
        f"Kafka at {servers} has forgotten which epoch of this run was the last in {topic!r}",
        reason=f"the offset of the group windrow-{run} has expired (offsets.retention.minutes), and so may"
        f" have messages of later epochs than {epoch}, the last that one tells of",
        hint="commit the number of the last epoch that the topic has had as the offset of that group, at"
        " partition 0 of the topic; the page on Kafka shows how",
    )


def _read(consumer: Any, topic: str, tails: Mapping[int, Tail], run: str, servers: str) -> None:
    """Looks at the messages of some partitions, each from where it is to be seen from."""
    kafka = confluent_kafka()
    for tail in tails.values():
        tail.oldest, tail.epoch = None, None
    consumer.assign([kafka.TopicPartition(topic, own, t.seen_from) for own, t in tails.items()])
    left, silent_since = set(tails), time.monotonic()
    while left:
        messages = consumer.consume(500, 0.1)
        if messages:
            silent_since = time.monotonic()
        elif time.monotonic() - silent_since > ANSWER_S:
            raise away(servers, f"no message came for {ANSWER_S:.0f} seconds")
        for message in messages:
            own, error = message.partition(), message.error()
            if error is not None and error.code() != kafka.KafkaError._PARTITION_EOF:
                raise kafka.KafkaException(error)
            if error is not None or message.offset() >= tails[own].end:
                left.discard(own)
            elif own in left:
                _note(tails[own], message, run)
    consumer.unassign()


def _note(tail: Tail, message: Any, run: str) -> None:
    _, at = message.timestamp()
    if tail.oldest is None:
        tail.oldest = at
    for name, value in message.headers() or ():
        told = (value or b"").split(b" ") if name == HEADER else []
        if len(told) == 2 and told[0] == run.encode() and told[1].isdigit():
            tail.epoch, tail.at = int(told[1]), at


class Reminder:
    """Calls a method again and again, on a thread of its own, until it is stopped or its object is gone.

    Args:
        method: what is called; its object is not kept alive by this.
        seconds: how long it waits before each call.
    """

    def __init__(self, method: Callable[[], object], seconds: float) -> None:
        self._is_over = threading.Event()
        threading.Thread(
            target=_remind,
            args=(weakref.WeakMethod(method), self._is_over, seconds),
            name="windrow-kafka-reminder",
            daemon=True,
        ).start()

    def stop(self) -> None:
        """Has it called no more."""
        self._is_over.set()


def _remind(
    method: weakref.WeakMethod[Callable[[], object]], is_over: threading.Event, seconds: float
) -> None:
    while not is_over.wait(seconds):
        call = method()
        if call is None:
            return
        call()
        del call  # while it waits, the object may go
