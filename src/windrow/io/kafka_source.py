"""The messages of a topic as rows.

A consumer reads ahead, and what it has fetched is held here until it was read and left behind:

    partition 0    ....|== held ==|         begin: what lies before was left behind
                       begin      next      next: the first offset that was not seen yet
                                            is_at_end: nothing is behind it now

`latest` says how far to read by what is held, so that nothing is asked of the broker between two
batches. Where much is to be read, partitions are taken in proportion to what waits in them: they come
to their ends together, and stay in step in event time.

Offsets have gaps (compaction, markers of transactions): the end of a range is reached by a message at or
behind it, or by the end of the partition. Only what was committed is read.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.errors import BindError, ResourceError
from windrow.io.kafka_client import (
    ANSWER_S,
    Clients,
    away,
    confluent_kafka,
)
from windrow.io.kafka_rows import Fetched, MessageRows, together
from windrow.io.protocol import FEW_ROWS, PART_ROWS, Aside, Json, Offsets, Source

if TYPE_CHECKING:
    from windrow.io.kafka import Kafka

WAIT_S = 0.01
"""How long `latest` waits for a message where all were read."""

PACE_S = 0.005
"""Between two looks for messages, where few come at a time: a look costs as much as some hundred of them."""

FEW = 1_000
"""Messages that are worth a look."""

DISCOVER_S = 2.0
"""How often it looks for new partitions."""

ONCE = 500
"""Messages taken from the client at a time: as many as its objects for them stay within the cache."""

MOST_TAKEN = 50_000
"""Messages taken before what they are wanted for is looked at again."""

MOST_HELD = 500_000
"""Messages of a partition that are held, before it is not fetched for a while."""

CHUNK = 65_536
"""Messages that make a batch."""


@dataclass
class Held:
    """What was fetched of a partition, and not left behind yet."""

    begin: int
    next: int
    is_at_end: bool = False
    is_paused: bool = False
    count: int = 0
    runs: deque[Fetched] = field(default_factory=deque)


class KafkaSource(Source):
    """A topic that is read."""

    is_cut_by_arrival = True

    def __init__(self, about: Kafka) -> None:
        self._about = about
        if about.start not in {"earliest", "latest"}:
            _millis(about.start)
        self._rows = MessageRows(about)
        self._clients = Clients(about)
        self._lock = threading.RLock()
        self._consumer: Any = None
        self._committer: Any = None
        self._admin: Any = None
        self._held: dict[int, Held] = {}
        self._has_read = False
        self._looked = self._looked_at = 0.0

    def __reduce__(self) -> tuple[object, ...]:
        return KafkaSource, (self._about,)

    def columns(self) -> pa.Schema:
        """As they were stated, and what is added to them."""
        return self._rows.columns

    def start(self) -> Offsets:
        """The first messages, those to come, or those from an instant on."""
        spec = confluent_kafka().admin.OffsetSpec
        with self._lock:
            where = self._about.start
            if where == "earliest":
                return _texts(self._asked(spec.earliest()))
            ends = self._asked(spec.latest())
            if where == "latest":
                return _texts(ends)
            found = self._asked(spec.for_timestamp(_millis(where)))
            return _texts({own: at if at >= 0 else ends[own] for own, at in found.items()})

    def latest(self, since: Offsets, most_rows: int = FEW_ROWS) -> Offsets:
        """As far as messages were fetched; what the broker says, where nothing is read here."""
        with self._lock:
            if not self._has_read:
                return self._told(since, most_rows)
            self._follow(since)
            if not self._await_any():
                return since
            wanted = {own: _number(since.get(str(own))) for own in self._held}
            backlog = {own: max(0, self._known_end(own) - at) for own, at in wanted.items()}
            ends = {own: held.next for own, held in self._held.items()}
            if sum(backlog.values()) > most_rows:
                shares = _shares(backlog, most_rows)
                wanted = {own: at + shares[own] for own, at in wanted.items()}
                self._await_shares(wanted)
                ends = {own: min(held.next, wanted[own]) for own, held in self._held.items()}
            return {
                **since,
                **{
                    str(own): end for own, end in ends.items() if end > _number(since.get(str(own)))
                },
            }

    def parts(
        self,
        partition: str,  # noqa: ARG002
        start: Json | None,
        end: Json,
    ) -> Sequence[tuple[Json | None, Json]]:
        """Cut at offsets; what lies before the first that is known stays whole."""
        if start is None:
            return [(start, end)]
        count = max(1, round((end - start) / PART_ROWS))
        return list(pairwise(start + (end - start) * n // count for n in range(count + 1)))

    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:
        """The rows of messages between two offsets."""
        own = int(partition)
        with self._lock:
            self._has_read = True
            self._hold(own, None if start is None else int(start))
            held = self._held[own]
            self._await(lambda: held.next >= end)
            runs = list(held.runs)
        for part in _chunks(runs, _number(start), int(end)):
            yield self._rows.of(partition, part)

    def commit(self, offsets: Offsets) -> None:
        """Tells the consumer group, if one was named, how far the stream was read."""
        if not self._about.group:
            return
        kafka = confluent_kafka()
        with self._lock:
            if self._committer is None:
                self._committer = self._consumer_of(self._about.group)
            places = [
                kafka.TopicPartition(self._about.topic, int(own), at) for own, at in offsets.items()
            ]
            # Nothing rests on it: where a run goes on is in its checkpoint.
            self._committer.commit(offsets=places, asynchronous=True)

    def take_aside(self) -> Sequence[Aside]:
        """The messages that were no rows."""
        return self._rows.take_aside()

    def close(self) -> None:
        """Lets go of the broker."""
        with self._lock:
            for client in (self._consumer, self._committer):
                if client is not None:
                    client.close()
            self._consumer = self._committer = self._admin = None
            self._held = {}
            self._has_read = False

    def _told(self, since: Offsets, most_rows: int) -> Offsets:
        """How far to read by what the broker says of its ends."""
        spec = confluent_kafka().admin.OffsetSpec
        ends = self._asked(spec.latest())
        at = {own: _number(since.get(str(own))) for own in ends}
        backlog = {own: max(0, end - at[own]) for own, end in ends.items()}
        if not any(backlog.values()):
            time.sleep(WAIT_S)
            return since
        shares = _shares(backlog, most_rows)
        return {
            **since,
            **{str(own): at[own] + share for own, share in shares.items() if share},
        }

    def _asked(self, spec: Any) -> dict[int, int]:
        """An offset of each partition, asked for at once."""
        kafka = confluent_kafka()
        about = self._about
        places = [kafka.TopicPartition(about.topic, own) for own in self._partitions()]
        try:
            answers = self._admin.list_offsets(
                dict.fromkeys(places, spec),
                isolation_level=kafka.IsolationLevel.READ_COMMITTED,
                request_timeout=ANSWER_S,
            )
            return {own.partition: got.result().offset for own, got in answers.items()}
        except kafka.KafkaException as error:
            raise self._clients.in_our_words(error.args[0]) from error

    def _partitions(self, seconds: float | None = None) -> list[int]:
        """The partitions that the topic has now."""
        if self._admin is None:
            kind = confluent_kafka().admin.AdminClient
            self._admin = self._clients.made(kind, self._about.settings)
        return self._clients.partitions(self._admin, ANSWER_S if seconds is None else seconds)

    def _follow(self, since: Offsets) -> None:
        """Has all partitions fetched from where they were read to."""
        now = time.monotonic()
        known = {int(own) for own in since} | set(self._held)
        if now - self._looked > DISCOVER_S:
            known |= set(self._partitions())
            self._looked = now
        for own in known:
            self._hold(own, since.get(str(own)))

    def _hold(self, own: int, start: int | None) -> None:
        """Has a partition fetched from an offset on, if it is not already, and forgets what is before."""
        kafka = confluent_kafka()
        consumer = self._opened()
        at = _number(start)
        held = self._held.get(own)
        if held is not None and held.begin <= at <= held.next:
            self._forget(own, held, at)
            return
        first = kafka.OFFSET_BEGINNING if start is None else at
        place = kafka.TopicPartition(self._about.topic, own, first)
        if held is not None:
            consumer.incremental_unassign([place])
        consumer.incremental_assign([place])
        self._held[own] = Held(at, at)

    def _forget(self, own: int, held: Held, at: int) -> None:
        held.begin = at
        runs = held.runs
        while runs and runs[0].offsets[-1] < at:
            held.count -= len(runs.popleft())
        if runs and runs[0].offsets[0] < at:
            first = runs[0]
            runs[0] = first.between(at, held.next)
            held.count -= len(first) - len(runs[0])
        if held.is_paused and held.count < MOST_HELD // 2:
            kafka = confluent_kafka()
            self._consumer.resume([kafka.TopicPartition(self._about.topic, own)])
            held.is_paused = False

    def _await_any(self) -> bool:
        """Fetches what is there; whether any message is held. None is, where all partitions are at their end."""
        left = self._looked_at + PACE_S - time.monotonic()
        if left > 0 and sum(held.count for held in self._held.values()) < FEW:
            time.sleep(left)
        self._take(0)
        if not any(held.count for held in self._held.values()):
            if all(held.is_at_end for held in self._held.values()):
                self._take(WAIT_S)
                self._check_broker()
            else:
                self._await(
                    lambda: (
                        any(held.count for held in self._held.values())
                        or all(held.is_at_end for held in self._held.values())
                    )
                )
        self._looked_at = time.monotonic()
        return any(held.count for held in self._held.values())

    def _await_shares(self, wanted: Mapping[int, int]) -> None:
        self._await(
            lambda: all(
                held.next >= wanted[own] or held.is_at_end or held.is_paused
                for own, held in self._held.items()
            )
        )

    def _await(self, is_there: Any) -> None:
        """Fetches until something is there; the broker may be silent for a while, not for long."""
        silent_since = time.monotonic()
        while not is_there():
            if self._take(0.1):
                silent_since = time.monotonic()
                continue
            self._check_broker()
            if time.monotonic() - silent_since > ANSWER_S:
                raise away(self._about.servers, f"no message came for {ANSWER_S:.0f} seconds")

    def _take(self, wait_s: float) -> bool:
        """Takes what the client has fetched; whether that was anything."""
        consumer = self._opened()
        first = consumer.poll(wait_s)
        if first is None:
            return False
        self._sort([first])
        for _ in range(MOST_TAKEN // ONCE):
            messages = consumer.consume(ONCE, 0)
            if not messages:
                break
            self._sort(messages)
        return True

    def _sort(self, messages: list[Any]) -> None:
        """Puts messages to those of their partitions; what precedes an end is sorted before it."""
        message = confluent_kafka().Message
        if any(map(message.error, messages)):  # without Python per message
            for is_error, part in groupby(messages, lambda own: own.error() is not None):
                if is_error:
                    for told in part:
                        self._note(told)
                else:
                    self._sort(list(part))
            return
        for own, group in groupby(messages, message.partition):
            held = self._held.get(own)
            if held is None:
                continue
            run = Fetched.of(list(group), is_kept=self._rows.needs_messages)
            if run.offsets[0] < held.next:
                run = run.between(held.next, run.offsets[-1] + 1)
                if not run:
                    continue
            held.runs.append(run)
            held.count += len(run)
            held.next = run.offsets[-1] + 1
            held.is_at_end = False
            if held.count > MOST_HELD and not held.is_paused:
                kafka = confluent_kafka()
                self._consumer.pause([kafka.TopicPartition(self._about.topic, own)])
                held.is_paused = True

    def _note(self, told: Any) -> None:
        """What the client says in place of a message: the end of a partition, or what is wrong."""
        kafka = confluent_kafka()
        error, own = told.error(), told.partition()
        if error.code() == kafka.KafkaError._PARTITION_EOF:
            held = self._held.get(own)
            if held is not None:
                held.next = max(held.next, told.offset())
                held.is_at_end = True
            return
        if error.code() in {
            kafka.KafkaError._AUTO_OFFSET_RESET,
            kafka.KafkaError.OFFSET_OUT_OF_RANGE,
        }:
            held = self._held.pop(own, None)
            self._opened().incremental_unassign([kafka.TopicPartition(self._about.topic, own)])
            raise ResourceError(
                "offsets-gone",
                f"partition {own} of {self._about.topic!r} has no offset"
                f" {held.next if held else told.offset()} any more",
                reason="the broker has deleted what was not read yet, or the topic was made anew",
                hint="keep messages longer (retention.ms); or begin anew, without them, in an empty"
                " checkpoint",
            )
        raise self._clients.in_our_words(error)

    def _known_end(self, own: int) -> int:
        """The end of a partition as the newest fetch has told it."""
        kafka = confluent_kafka()
        held = self._held[own]
        if held.is_at_end:
            return held.next
        told = self._consumer.get_watermark_offsets(
            kafka.TopicPartition(self._about.topic, own), cached=True
        )
        return max(held.next, told[1] if told else 0)

    def _check_broker(self) -> None:
        """Raises `Unavailable` where the client has lost all brokers, and finds none now."""
        if self._clients.is_down:
            self._partitions(2.0)

    def _opened(self) -> Any:
        if self._consumer is None:
            self._consumer = self._consumer_of(self._about.group or "windrow")
        return self._consumer

    def _consumer_of(self, group: str) -> Any:
        return self._clients.made(
            confluent_kafka().Consumer,
            {
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 100,
                "fetch.error.backoff.ms": 50,
                # Where it has read enough ahead, the client would not look again for a second.
                "fetch.queue.backoff.ms": 5,
                **self._about.settings,
                "group.id": group,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "allow.auto.create.topics": False,
            },
        )


def _chunks(runs: Sequence[Fetched], start: int, end: int) -> Iterator[Fetched]:
    """The messages between two offsets, about so many at a time as make a batch."""
    gathered: list[Fetched] = []
    rows = 0
    for run in runs:
        if run.offsets[-1] < start or run.offsets[0] >= end:
            continue
        gathered.append(run.between(start, end))
        rows += len(gathered[-1])
        if rows >= CHUNK:
            yield together(gathered)
            gathered, rows = [], 0
    if rows:
        yield together(gathered)


def _number(offset: Json | None) -> int:
    return 0 if offset is None else int(offset)


def _texts(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(own): at for own, at in offsets.items()}


def _shares(backlog: Mapping[int, int], most: int) -> dict[int, int]:
    """How much of each is taken: all, or in proportion to what waits, and one at least.

    Examples:
        >>> _shares({0: 900, 1: 100, 2: 0}, 10)
        {0: 9, 1: 1, 2: 0}
    """
    whole = sum(backlog.values())
    if whole <= most:
        return dict(backlog)
    return {own: min(waits, max(1, waits * most // whole)) for own, waits in backlog.items()}


def _millis(instant: str) -> int:
    try:
        found = datetime.fromisoformat(instant)
    except ValueError as error:
        raise BindError(
            "bad-start",
            f"start={instant!r} is not a place in a topic",
            hint="start='earliest', 'latest', or an instant: '2026-01-31T12:00:00Z'",
        ) from error
    since = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return max(0, round(since * 1000))  # no message is older than 1970
