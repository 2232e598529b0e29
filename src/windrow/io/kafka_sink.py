"""An answer in a topic: a transaction per epoch, which holds the epoch's number too.

    write                                                                  commit
    begin     offset n of the group windrow-<run>     row, row, row ..     commit
    |<------------- one transaction: all of it is seen, or nothing ------------>|

The number goes first: right behind a commit the broker is busy with that for some milliseconds, and sends
the next transaction's first request back. The client asks again soon about an offset, and only 20 ms
later about a partition for rows. So nothing but the end is left for `commit`, and the rows are on their
way to the broker while the checkpoint is written.

The offset that the group of the run has committed, at partition 0 of the topic, is no place in the topic:
it is the number of the last epoch (how it outlives the broker's memory is told in `kafka_epochs`). After a crash `open` makes the broker end what the process before has
left open (its transactional name is the run's, and a newer producer of that name fences the older one),
and then reads the number.

Rows are held here until their epoch is committed: where the broker gives a transaction up, they are
produced again in another. Where rows are written in another process (a task of Spark's), which has opened
nothing, they travel with what `write` returns.

A commit is decided when the broker has written it down; readers see the rows some milliseconds later, when
each partition has its marker. `close` waits for the markers: whoever reads behind a run that has ended
finds all of it.
"""

from __future__ import annotations

import base64
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.errors import DataError, InternalError, ResourceError, WindrowError
from windrow.io import kafka_epochs
from windrow.io.kafka_client import ANSWER_S, LOG, Clients, away, confluent_kafka
from windrow.io.kafka_messages import AnswerMessages, Texts
from windrow.io.protocol import NO_EPOCH, Answer, Json, Sink, Unavailable
from windrow.plan.units import to_ticks

if TYPE_CHECKING:
    from windrow.io.kafka import Kafka


PARTING_S = 5.0
"""How long a call of the client may take beyond what it was given. Some never come back: librdkafka 2.16
may wait for ever to send offsets to a broker that was killed and is there again."""


class KafkaSink(Sink):
    """A topic that an answer is written to."""

    writes_anywhere = False  # a transaction is of one process

    def __init__(self, about: Kafka) -> None:
        self._about = about
        self._timeout_s = to_ticks(about.transaction_timeout, "timestamp") / 1_000_000
        self._messages: AnswerMessages | None = None
        self._run = self._name = ""
        self._clients = Clients(about)
        self._lock = threading.RLock()
        self._reminder: kafka_epochs.Reminder | None = None
        self._failure: WindrowError | None = None
        self._producer: Any = None
        self._group: Any = None
        self._held: tuple[int, Texts | None, Texts] | None = None
        self._committed = NO_EPOCH
        self._is_begun = self._must_abort = self._has_committed = False
        self._begun_at = self._numbered_at = 0.0

    def __reduce__(self) -> tuple[object, ...]:
        # Elsewhere nothing is open: rows that are written there are given back.
        return KafkaSink, (self._about,)

    def open(self, run: str, answer: Answer) -> int:
        """Ends what a process before has left open, and reads the last epoch."""
        about = self._about
        self._messages = AnswerMessages(answer, about.keys, about.changes, about.topic)
        self._run = run
        self._name = f"windrow-{run or uuid.uuid4().hex}"
        with self._lock:
            self._connect()
            if run and self._committed != NO_EPOCH:
                self._number_again()
        if run and self._reminder is None:
            self._reminder = kafka_epochs.Reminder(self.refresh, kafka_epochs.REFRESH_S)
        return self._committed

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        """Produces rows in a transaction that is open until its epoch is committed."""
        with self._lock:
            self._raise_failure()
            if self._producer is None:
                self._held = None
                return _staged(list(batches))
            if self._is_begun:
                self._abort()
            self._hold(epoch, list(batches))
            self._produce()
            return None

    def commit(self, epoch: int, written: Sequence[Json]) -> None:
        """Ends the transaction, with the number of the epoch in it."""
        with self._lock:
            self._raise_failure()
            self._commit(epoch, written)

    def refresh(self) -> None:
        """Commits the number of the last epoch again where that was long ago, lest it expires.

        In a transaction of its own: of two processes the older one must not put the number back.
        """
        with self._lock:
            is_new = time.monotonic() - self._numbered_at < kafka_epochs.REFRESH_S / 2
            is_busy = self._producer is None or self._is_begun or self._must_abort
            if is_new or is_busy or self._committed == NO_EPOCH:
                return
            try:
                self._number_again()
            except Unavailable as error:
                LOG.warning("the number of the last epoch was not committed again: %s", error)
            except WindrowError as error:
                self._failure = error  # the next epoch must not be written
            finally:
                self._must_abort = self._must_abort or self._is_begun

    def close(self) -> None:
        """Lets go of the broker; a transaction that is open is given up, one that is committed is seen."""
        if self._reminder is not None:
            self._reminder.stop()
            self._reminder = None
        with self._lock:
            self._close()

    def _commit(self, epoch: int, written: Sequence[Json]) -> None:
        if epoch <= self._committed:
            return
        if self._held is None or self._held[0] != epoch:
            if self._is_begun:
                self._abort()
            self._hold(epoch, [batch for own in written for batch in _unstaged(epoch, own)])
        if self._producer is None:
            self._connect()
        if self._must_abort:
            self._abort()
        if epoch <= self._committed:  # a producer made anew has found it there
            return
        if not self._is_begun:
            self._produce()
        self._end()
        self._has_committed = True
        self._committed, self._held = epoch, None

    def _begin(self, epoch: int) -> None:
        """Begins a transaction with the number of an epoch in it."""
        kafka = confluent_kafka()
        try:
            self._producer.begin_transaction()
        except kafka.KafkaException as error:
            raise self._judged(error.args[0]) from error
        self._is_begun, self._begun_at = True, time.monotonic()
        place = kafka.TopicPartition(self._about.topic, 0, epoch)
        group = self._group.consumer_group_metadata()
        self._outside(lambda: self._producer.send_offsets_to_transaction([place], group, ANSWER_S))

    def _end(self) -> None:
        """Ends the open transaction."""
        self._outside(lambda: self._producer.commit_transaction(ANSWER_S))
        self._is_begun = False
        self._numbered_at = time.monotonic()

    def _number_again(self) -> None:
        self._begin(self._committed)
        self._end()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _close(self) -> None:
        try:
            if self._is_begun:
                self._outside(lambda: self._producer.abort_transaction(ANSWER_S))
            elif self._has_committed and self._producer is not None:
                self._await_markers()
        except ResourceError as error:
            # The broker ends it by itself, and whoever opens the run next waits for that.
            LOG.warning("the last transaction of %s may not be over: %s", self._name, error)
        finally:
            self._disconnect()

    def _hold(self, epoch: int, batches: list[pa.RecordBatch]) -> None:
        if self._messages is None:
            raise InternalError("sink-not-open", "rows were written to a sink that is not open")
        self._held = (epoch, *(self._messages.of(batches) if batches else (None, [])))

    def _connect(self) -> None:
        """Takes the run's name over from whoever has it, and looks what is committed."""
        kafka = confluent_kafka()
        about = self._about
        self._disconnect()
        try:
            self._producer = self._clients.made(
                kafka.Producer,
                {
                    "linger.ms": 5,
                    "compression.type": about.compression,
                    "partitioner": "murmur2_random",  # as Java's clients
                    "queue.buffering.max.messages": 0,
                    "queue.buffering.max.kbytes": 2_097_151,
                    "retry.backoff.ms": 1,  # for the transaction before, which ends in milliseconds
                    **about.settings,
                    "transactional.id": self._name,
                    "transaction.timeout.ms": round(self._timeout_s * 1000),
                },
            )
            partitions = self._clients.partitions(self._producer, ANSWER_S)
            self._producer.init_transactions(ANSWER_S)
            self._group = self._clients.made(
                kafka.Consumer,
                {
                    **about.settings,
                    "group.id": self._name,
                    "isolation.level": "read_committed",  # waits for what is not decided yet
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                    "fetch.wait.max.ms": 10,
                },
            )
            place = kafka.TopicPartition(about.topic, 0)
            (found,) = self._group.committed([place], ANSWER_S)
            _raise_if(found.error)
            has = found.offset if found.offset >= 0 else NO_EPOCH
            if has == NO_EPOCH and self._run:
                has = kafka_epochs.epoch_in_topic(
                    self._group, about.topic, partitions, self._run, about.servers
                )
        except kafka.KafkaException as error:
            self._disconnect()
            raise self._clients.in_our_words(error.args[0]) from error
        except WindrowError:
            self._disconnect()
            raise
        if has < self._committed:
            self._disconnect()
            raise ResourceError(
                "epoch-lost",
                f"Kafka at {about.servers} has lost epoch {self._committed} of {about.topic!r},"
                " which it"
                " had taken",
                reason=f"it has the epochs of this run up to {has}; to go on would leave rows out",
                hint="look at the broker's log, and whether the topic or the group was deleted;"
                " begin anew"
                " with an empty checkpoint and topic, or put both back to an earlier time",
            )
        self._committed = has

    def _disconnect(self) -> None:
        if self._group is not None:
            self._group.close()
        self._abandon()

    def _abandon(self) -> None:
        """Leaves the clients to themselves."""
        self._producer = self._group = None
        self._is_begun = self._must_abort = False

    def _produce(self) -> None:
        """Begins a transaction with the rows that are held; one that has not all of them is given up."""
        if self._must_abort:
            self._abort()
        assert self._held is not None
        epoch, keys, values = self._held
        kafka = confluent_kafka()
        is_whole = False
        try:
            self._begin(epoch)
            headers = kafka_epochs.header(self._run, epoch)
            _produce_all(self._producer, self._about.topic, keys, values, headers)
            is_whole = True
        except kafka.KafkaException as error:
            raise self._judged(self._cause(error.args[0])) from error
        finally:
            self._must_abort = self._is_begun and not is_whole

    def _abort(self) -> None:
        """Gives the open transaction up; nobody will see its rows.

        Right behind a commit the broker may still be busy with that, and not know of the transaction yet:
        it then refuses to end it, and the producer is of no use any more. A new one of the same name
        makes the broker end whatever is open.
        """
        self._must_abort = True
        try:
            self._outside(lambda: self._producer.abort_transaction(ANSWER_S))
        except Unavailable:
            if self._producer is not None:
                raise
            self._connect()
        self._is_begun = self._must_abort = False

    def _await_markers(self) -> None:
        """Waits until the last transaction is over in every partition, so that all see its rows.

        The broker lets a new producer of the same name in when that is so, and not before.
        """
        kafka = confluent_kafka()
        next_one = self._clients.made(
            kafka.Producer,
            {"retry.backoff.ms": 5, **self._about.settings, "transactional.id": self._name},
        )
        # Connected first: else it asks for the coordinator in vain, and again half a second later.
        self._outside(lambda: next_one.list_topics(self._about.topic, timeout=ANSWER_S))
        self._outside(lambda: next_one.init_transactions(ANSWER_S))

    def _outside(self, call: Callable[[], object]) -> None:
        """Calls the producer; what it says of a transaction decides how it goes on when tried again."""
        kafka = confluent_kafka()
        try:
            is_back = _returns(call, ANSWER_S + PARTING_S)
        except kafka.KafkaException as error:
            raise self._judged(error.args[0]) from error
        if not is_back:
            # A newer producer of the name fences it, whatever it still does.
            self._abandon()
            raise away(self._about.servers, "the client has not come back from a call")

    def _cause(self, error: Any) -> Any:
        """Why no more messages are taken: one before may have broken the transaction, which is not said."""
        kafka = confluent_kafka()
        if error.code() == kafka.KafkaError._STATE:
            try:
                self._producer.commit_transaction(ANSWER_S)  # refused at once, with the cause
            except kafka.KafkaException as refused:
                return refused.args[0]
        return error

    def _judged(self, error: Any) -> Exception:
        kafka = confluent_kafka()
        about = self._about
        if error.code() == kafka.KafkaError.MSG_SIZE_TOO_LARGE or "size too large" in error.str():
            self._must_abort = True
            return DataError(
                "message-too-large",
                f"a row of the answer is larger than {about.topic!r} takes",
                reason=error.str(),
                hint="raise max.message.bytes of the topic and message.max.bytes in settings, or"
                " select less",
            )
        if error.fatal():
            is_old = time.monotonic() - self._begun_at > self._timeout_s
            self._disconnect()
            if error.code() == kafka.KafkaError._FENCED and not is_old:
                return ResourceError(
                    "run-taken-over",
                    f"another process writes to {about.topic!r} for the run of this checkpoint",
                    reason=error.str(),
                    hint="let one of them run: a copy of a checkpoint's folder is not a run of its own",
                )
            return Unavailable(
                "kafka-away",
                f"Kafka at {about.servers} has given the transaction up",
                reason=error.str(),
                hint="raise transaction_timeout if checkpoints take that long",
            )
        if error.txn_requires_abort():
            self._must_abort = True
            return Unavailable(
                "kafka-away",
                f"Kafka at {about.servers} could not take an epoch, which is produced again",
                reason=error.str(),
                hint="look at the broker's log",
            )
        return self._clients.in_our_words(error)


def _returns(call: Callable[[], object], seconds: float) -> bool:
    """Whether a call comes back in time; what it raises is raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            raised.append(error)

    thread = threading.Thread(target=run, name="windrow-kafka-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    return not thread.is_alive()


def _raise_if(error: Any) -> None:
    if error is not None:
        raise confluent_kafka().KafkaException(error)


def _produce_all(
    producer: Any,
    topic: str,
    keys: Texts | None,
    values: Texts,
    headers: list[tuple[str, bytes]],
) -> None:
    """Hands messages to the client, one by one: it is what the client takes quickest.

    Args:
        producer: the client.
        topic: where they go.
        keys: their keys, or None.
        values: their values.
        headers: those of the last one.
    """
    if not values:
        return
    produce = producer.produce
    last = len(values) - 1
    if keys is None:
        for value in values[:last]:
            try:
                produce(topic, value)
            except BufferError:
                _again(producer, topic, value, None)
    else:
        for key, value in zip(keys[:last], values[:last], strict=True):
            try:
                produce(topic, value, key)
            except BufferError:
                _again(producer, topic, value, key)
    _again(producer, topic, values[last], None if keys is None else keys[last], headers)


def _again(
    producer: Any,
    topic: str,
    value: bytes | None,
    key: bytes | None,
    headers: list[tuple[str, bytes]] | None = None,
) -> None:
    """Waits until the client has room."""
    while True:
        try:
            producer.produce(topic, value, key, headers=headers or [])
        except BufferError:
            producer.poll(0.05)
            continue
        return


def _staged(batches: list[pa.RecordBatch]) -> Json:
    """Rows as text, for whoever commits them."""
    if not batches:
        return None
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def _unstaged(epoch: int, text: Json) -> list[pa.RecordBatch]:
    if text is None:
        raise InternalError("rows-not-there", f"the rows of epoch {epoch} are not here")
    with pa.ipc.open_stream(base64.b64decode(text)) as reader:
        return list(reader)
