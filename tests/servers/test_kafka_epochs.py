"""The last epoch of a run outlives what the broker remembers of its group; what is not certain is told."""

from __future__ import annotations

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient

import windrow
from servers.kafka_topics import await_markers, committed_messages, committed_rows, ends, produce
from windrow.errors import ResourceError
from windrow.io import Answer, kafka_epochs

pytestmark = [pytest.mark.services, pytest.mark.law]

N = pa.schema([("n", pa.int64())])


def rows(*numbers: int):
    return pa.RecordBatch.from_pylist([{"n": n} for n in numbers], schema=N)


def opened(broker, topic, run, epoch, **more: object):
    """A sink that must have so many epochs of the run."""
    sink = windrow.kafka(topic, servers=broker.servers, **more).sink()
    assert sink.open(run, Answer(N)) == epoch
    return sink


def write(sink, epoch, *numbers: int):
    sink.commit(epoch, [sink.write(epoch, [rows(*numbers)])])


def forget(broker, topic, run):
    """What the broker does when offsets expire."""
    admin = AdminClient({"bootstrap.servers": broker.servers})
    admin.delete_consumer_groups([f"windrow-{run}"])[f"windrow-{run}"].result(30)
    assert number(broker, topic, run) == -1001


def number(broker, topic, run):
    """The offset of the run's group."""
    settings = {"bootstrap.servers": broker.servers, "group.id": f"windrow-{run}"}
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    (found,) = consumer.committed([TopicPartition(topic, 0)], 30)
    consumer.close()
    return found.offset


def delete(broker, topic, own):
    """All messages of a partition, as retention does."""
    end = max(ends(broker, topic, own + 1, IsolationLevel.READ_COMMITTED)[own:])
    admin = AdminClient({"bootstrap.servers": broker.servers})
    for told in admin.delete_records([TopicPartition(topic, own, end)]).values():
        told.result(30)


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_run_goes_on_though_its_offset_has_expired(broker, partitions):
    topic = broker.topic(partitions=partitions)
    sink = opened(broker, topic, "e1", -1)
    for epoch in range(4):
        write(sink, epoch, 2 * epoch, 2 * epoch + 1)
    sink.write(9, [rows(100, 101)])  # is given up, and counts for nothing
    sink.close()
    forget(broker, topic, "e1")
    sink = opened(broker, topic, "e1", 3)
    assert number(broker, topic, "e1") == 3
    write(sink, 4, 8, 9)
    sink.close()
    found = committed_rows(broker, topic, partitions)
    assert sorted(own["n"] for own in found) == list(range(10))


def test_an_epoch_is_found_behind_what_others_write(broker, monkeypatch):
    monkeypatch.setattr(kafka_epochs, "LOOK", (3, 100))
    topic = broker.topic()
    mine, other = opened(broker, topic, "e2", -1), opened(broker, topic, "e3", -1)
    write(mine, 7, 1, 2)
    write(other, 8, 3, 4)
    produce(broker, topic, [b"{}"] * 20)
    mine.close()
    other.close()
    for run, epoch in (("e2", 7), ("e3", 8)):
        forget(broker, topic, run)
        opened(broker, topic, run, epoch).close()
    opened(broker, topic, "e4", -1).close()  # one that never wrote


def test_where_later_messages_may_be_deleted_nothing_is_guessed(broker):
    topic = broker.topic(partitions=2)
    sink = opened(broker, topic, "e5", -1, keys=["n"])
    epoch, last, seen = -1, None, set()
    while len(seen) < 2 or last != 0:
        epoch += 1
        before = ends(broker, topic, 2, IsolationLevel.READ_UNCOMMITTED)
        write(sink, epoch, epoch)
        after = ends(broker, topic, 2, IsolationLevel.READ_UNCOMMITTED)
        last = 0 if after[0] > before[0] else 1
        seen.add(last)
    sink.close()
    forget(broker, topic, "e5")
    delete(broker, topic, 0)
    with pytest.raises(ResourceError) as caught:
        opened(broker, topic, "e5", epoch)
    assert caught.value.condition == "epoch-forgotten"
    assert "windrow-e5 has expired (offsets.retention.minutes)" in str(caught.value)
    # As the page shows it.
    from confluent_kafka import ConsumerGroupTopicPartitions

    place = TopicPartition(topic, 0, epoch)
    admin = AdminClient({"bootstrap.servers": broker.servers})
    told = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions("windrow-e5", [place])])
    told["windrow-e5"].result(30)
    opened(broker, topic, "e5", epoch, keys=["n"]).close()


def test_the_number_is_committed_again_in_silence(broker, monkeypatch):
    topic = broker.topic()
    sink = opened(broker, topic, "e6", -1)
    monkeypatch.setattr(kafka_epochs, "REFRESH_S", 0.0)  # an hour has passed
    sink.refresh()  # nothing to keep yet
    write(sink, 4, 1, 2)
    await_markers(broker, topic)
    forget(broker, topic, "e6")
    sink.refresh()
    assert number(broker, topic, "e6") == 4
    sink.write(5, [rows(3)])
    sink.refresh()  # leaves a transaction alone that is open
    sink.commit(5, [None])
    assert number(broker, topic, "e6") == 5
    sink.close()
    assert [own["n"] for own in committed_rows(broker, topic)] == [1, 2, 3]


def test_a_process_that_was_taken_over_does_not_put_the_number_back(broker, monkeypatch):
    topic = broker.topic()
    first = opened(broker, topic, "e7", -1)
    write(first, 0, 1)
    second = opened(broker, topic, "e7", 0)
    monkeypatch.setattr(kafka_epochs, "REFRESH_S", 0.0)  # an hour has passed
    write(second, 1, 2)
    first.refresh()
    assert number(broker, topic, "e7") == 1
    for call in (lambda: first.write(1, [rows(9)]), lambda: first.commit(1, [None])):
        with pytest.raises(ResourceError, match=r"\[run-taken-over\]"):
            call()
    first.close()
    write(second, 2, 3)
    second.close()
    assert [own["n"] for own in committed_rows(broker, topic)] == [1, 2, 3]


def test_the_last_message_of_an_epoch_tells_its_number(broker):
    topic = broker.topic()
    sink = opened(broker, topic, "e8", -1)
    write(sink, 0, 1, 2, 3)
    write(sink, 5, 4)
    sink.close()
    told = [own.headers() for own in committed_messages(broker, topic)]
    assert told == [None, None, [("windrow-epoch", b"e8 0")], [("windrow-epoch", b"e8 5")]]
