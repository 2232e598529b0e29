"""Kafka as source and sink, with a real broker: gaps, starts, retention, restarts, fences, formats."""

from __future__ import annotations

import json
import threading
import time
from functools import partial

import pyarrow as pa
import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from contracts.source_contract import ranges, read_on, read_through, taken

import windrow
from servers.kafka_topics import (
    await_broker,
    await_markers,
    committed_rows,
    ends,
    produce,
    produce_in_transaction,
)
from windrow.errors import BindError, DataError, ResourceError
from windrow.io import Answer, Unavailable, kafka_sink, kafka_source

pytestmark = pytest.mark.services

N = pa.schema([("n", pa.int64())])


def numbers(first, count):
    return [json.dumps({"n": n}).encode() for n in range(first, first + count)]


def rows(first, count):
    return pa.RecordBatch.from_pylist([{"n": n} for n in range(first, first + count)], schema=N)


def read(source, **more: object):
    return sorted(row["n"] for part in read_through(source, **more).values() for row in part)


def of(broker, topic, **more: object):
    return windrow.kafka(topic, **{"servers": broker.servers, "schema": "n BIGINT", **more})


def again(call, seconds=60.0):
    """What a call gives once the broker is back, as a run would ask it."""
    until = time.monotonic() + seconds
    while True:
        try:
            return call()
        except Unavailable:
            if time.monotonic() > until:
                raise
            threading.Event().wait(0.1)


def test_markers_of_transactions_leave_gaps_and_what_was_aborted_is_not_read(broker):
    topic = broker.topic()
    produce_in_transaction(broker, topic, numbers(0, 5), is_committed=True)
    produce_in_transaction(broker, topic, numbers(100, 5), is_committed=False)
    produce_in_transaction(broker, topic, numbers(5, 5), is_committed=True)
    produce_in_transaction(broker, topic, numbers(200, 5), is_committed=False)
    source = of(broker, topic).source()
    parts = list(ranges(source, source.start(), 3))
    assert sorted(
        r["n"] for p in parts for t in taken(source, p).values() for r in t.to_pylist()
    ) == list(range(10))
    # Up to an end behind which there are markers alone.
    again_read = of(broker, topic).source()
    assert read(again_read) == list(range(10))
    since = {"0": 0}
    told = of(broker, topic).source().latest(since)
    assert told["0"] > 20
    assert [t.num_rows for t in taken(of(broker, topic).source(), (since, told)).values()] == [10]


def test_queries_read_one_stream_side_by_side_each_by_itself(broker):
    topic = broker.topic(partitions=3)
    produce(broker, topic, numbers(0, 20_000))
    made = windrow.Session()
    made.stream("s", of(broker, topic, with_columns=["_offset"]), time="_offset", lateness=20_000)
    seen: list[list[int]] = [[], [], []]

    def keep(own, rows, epoch):
        own += rows["n"].to_pylist()

    runs = [
        made.run(
            "SELECT n FROM s",
            to=windrow.call(partial(keep, own)),
            until_done=True,
        )
        for own in seen
    ]
    answer = made.sql("SELECT n FROM s").to_arrow()
    for run in runs:
        run.wait()
    for own in [*seen, answer["n"].to_pylist()]:
        assert sorted(own) == list(range(20_000))


def test_what_is_not_committed_yet_is_not_read(broker):
    topic = broker.topic()
    produce(broker, topic, numbers(0, 3))
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b'{"n": 50}', partition=0)
    producer.flush(30)
    produce(broker, topic, numbers(3, 3))
    source = of(broker, topic).source()
    assert read(source) == [0, 1, 2]
    producer.commit_transaction(30)
    await_markers(broker, topic)
    assert read(source) == [0, 1, 2, 3, 4, 5, 50]


def test_a_stream_begins_at_an_instant_or_at_the_end(broker):
    topic = broker.topic(retention_ms="-1")  # else the broker deletes what is so old
    producer = Producer({"bootstrap.servers": broker.servers})
    for n, at in enumerate([1_000_000, 2_000_000, 3_000_000]):
        producer.produce(topic, json.dumps({"n": n}).encode(), timestamp=at)
    producer.flush(30)
    assert read(of(broker, topic, start="1970-01-01T00:33:20Z").source()) == [1, 2]
    assert read(of(broker, topic, start="1970-01-01T00:33:21").source()) == [2]
    assert read(of(broker, topic, start="2100-01-01").source()) == []
    assert read(of(broker, topic, start="0001-01-01").source()) == [0, 1, 2]
    source = of(broker, topic, start="latest").source()
    begin = source.start()
    assert read(source, since=begin) == []
    produce(broker, topic, numbers(7, 1))
    assert read(source, since=begin) == [7]


def test_new_partitions_are_found_while_it_runs(broker):
    topic = broker.topic()
    produce(broker, topic, numbers(0, 3))
    source = of(broker, topic).source()
    *_, (_, last) = ranges(source, source.start(), 100)
    assert read(source) == [0, 1, 2]
    admin = AdminClient({"bootstrap.servers": broker.servers})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    await_broker(
        lambda: len(admin.list_topics(topic, timeout=30).topics[topic].partitions) == 3,
        f"three partitions of {topic}",
    )
    produce(broker, topic, numbers(10, 3), 3)
    found = sorted(row["n"] for part in read_on(source, last, 3).values() for row in part)
    assert found == [10, 11, 12]


def test_what_else_a_message_has_becomes_columns(broker):
    topic = broker.topic(partitions=2, retention_ms="-1")  # else the broker deletes what is so old
    producer = Producer({"bootstrap.servers": broker.servers})
    producer.produce(
        topic, b'{"n": 1}', b"key", 1, timestamp=1_500, headers=[("h", b"\0"), ("i", None)]
    )
    producer.produce(topic, b'{"n": 2}', None, 1, timestamp=1_501)
    producer.produce(topic, b'{"n": 3}', b"\xff", 1, timestamp=1_502)
    producer.flush(30)
    added = ["_key", "_key_bytes", "_headers", "_partition", "_offset", "_timestamp"]
    source = of(broker, topic, with_columns=added).source()
    first, second = read_through(source)["1"]
    assert first["_headers"] == [{"key": "h", "value": b"\0"}, {"key": "i", "value": None}]
    assert (first["_key"], first["_key_bytes"], first["_partition"], first["_offset"]) == (
        "key",
        b"key",
        1,
        0,
    )
    assert first["_timestamp"].isoformat() == "1970-01-01T00:00:01.500000+00:00"
    assert (second["n"], second["_key"], second["_headers"], second["_offset"]) == (
        2,
        None,
        None,
        1,
    )
    (aside,) = source.take_aside()
    assert (aside.partition, aside.offset, aside.why) == ("1", 2, "its key is not a text in UTF-8")


@pytest.mark.parametrize(("way", "found"), [("aside", [1]), ("skip", [1]), ("null", [None, 1])])
def test_messages_without_a_value_go_where_the_user_says(broker, way, found):
    topic = broker.topic()
    produce(broker, topic, [None, b'{"n": 1}'])
    source = of(broker, topic, tombstones=way).source()
    assert [row["n"] for row in read_through(source)["0"]] == found
    assert len(source.take_aside()) == (way == "aside")


def test_more_messages_than_are_taken_at_a_time_are_all_read_once(broker):
    topic, count = broker.topic(), 120_000
    produce(broker, topic, (b"%d" % n for n in range(count)))
    source = windrow.kafka(topic, servers=broker.servers, format="raw").source()
    found = [
        row["value"] for part in read_through(source, most_rows=70_000).values() for row in part
    ]
    source.close()
    assert found == [b"%d" % n for n in range(count)]


def test_raw_messages_come_as_they_are(broker):
    topic = broker.topic()
    produce(broker, topic, [b"\0\xff", None, b""])
    source = of(broker, topic, format="raw", schema="").source()
    assert [row["value"] for row in read_through(source)["0"]] == [b"\0\xff", None, b""]


def test_an_offset_that_is_gone_is_an_error_that_says_so(broker):
    topic = broker.topic(retention_ms="1", segment_ms="100", segment_bytes="1048576")
    produce(broker, topic, numbers(0, 5))
    source = of(broker, topic).source()
    begin = {"0": 0}
    until = time.monotonic() + 60
    while of(broker, topic).source().start() == begin:
        produce(broker, topic, numbers(5, 1))
        assert time.monotonic() < until, "the broker has deleted nothing"
        threading.Event().wait(0.2)
    with pytest.raises(ResourceError, match=r"\[offsets-gone\]: partition 0 of .* has no offset 0"):
        list(source.read("0", 0, 5))


def test_a_topic_that_is_not_there_is_named(broker):
    with pytest.raises(BindError, match=r"\[unknown-topic\]: Kafka at .* has no topic 'nowhere'"):
        of(broker, "nowhere").source().start()
    with pytest.raises(BindError, match=r"\[unknown-topic\]: Kafka at .* has no topic 'nowhere'"):
        of(broker, "nowhere").sink().open("r", Answer(N))


def test_partitions_are_taken_in_proportion_to_what_waits_in_them(broker):
    topic = broker.topic(partitions=2)
    produce(broker, topic, numbers(0, 100))
    producer = Producer({"bootstrap.servers": broker.servers})
    for value in numbers(100, 900):
        producer.produce(topic, value, partition=1)
    producer.flush(30)
    source = of(broker, topic).source()
    since = source.start()
    for number in range(1, 6):
        end = source.latest(since, 100)
        assert (end["0"], end["1"]) == (10 * number, 90 * number)
        taken(source, (since, end))
        since = end


def test_the_group_is_told_how_far_the_stream_was_read(broker):
    from confluent_kafka import Consumer

    topic = broker.topic()
    produce(broker, topic, numbers(0, 5))
    source = of(broker, topic, group=topic).source()
    source.commit({"0": 3})
    source.close()
    watcher = Consumer({"bootstrap.servers": broker.servers, "group.id": topic})
    assert watcher.committed([TopicPartition(topic, 0)], 10)[0].offset == 3
    watcher.close()


def test_a_source_goes_on_where_the_broker_was_killed(broker, monkeypatch):
    monkeypatch.setattr(kafka_source, "ANSWER_S", 3.0)
    topic = broker.topic()
    produce(broker, topic, numbers(0, 50))
    source = of(broker, topic).source()
    since = source.start()
    end = source.latest(since, 10)
    first = taken(source, (since, end))
    broker.kill()
    try:
        other = of(broker, topic).source()
        with pytest.raises(Unavailable, match=r"\[kafka-away\]: Kafka at .* does not answer"):
            other.latest(end)
    finally:
        broker.start()
    found = [row["n"] for table in first.values() for row in table.to_pylist()]
    while len(found) < 50:
        since = end
        end = again(partial(source.latest, since, 10))
        tables = again(partial(taken, source, (since, end)))
        found += [row["n"] for table in tables.values() for row in table.to_pylist()]
    assert found == list(range(50))


def test_an_epoch_is_there_once_though_the_broker_is_killed_in_the_middle_of_it(
    broker, monkeypatch
):
    monkeypatch.setattr(kafka_sink, "ANSWER_S", 4.0)  # the client waits in vain for all of it
    monkeypatch.setattr(kafka_sink, "PARTING_S", 1.0)
    topic = broker.topic()
    sink = of(broker, topic).sink()
    assert sink.open("r1", Answer(N)) == -1
    sink.commit(0, [sink.write(0, [rows(0, 10)])])
    written = [sink.write(1, [rows(10, 10)])]
    broker.kill()
    timer = threading.Timer(1.0, broker.start)
    timer.start()
    again(lambda: sink.commit(1, written))
    timer.join()
    assert sorted(own["n"] for own in committed_rows(broker, topic)) == list(range(20))
    other = of(broker, topic).sink()
    assert again(lambda: other.open("r1", Answer(N))) == 1


def test_an_epoch_is_written_again_right_behind_a_commit(broker):
    """The broker, still busy with the commit, may refuse to end a transaction that it does not know yet:
    in one of twenty times where it begins some milliseconds before."""
    topic = broker.topic(partitions=2)
    sink = of(broker, topic).sink()
    sink.open("r6", Answer(N))
    for epoch in range(0, 80, 2):
        sink.commit(epoch, [sink.write(epoch, [rows(epoch, 1)])])
        sink.write(epoch + 1, [rows(1_000, 100 * epoch)])
        sink.commit(epoch + 1, [sink.write(epoch + 1, [rows(epoch + 1, 1)])])
    assert sorted(own["n"] for own in committed_rows(broker, topic, 2)) == list(range(80))


def test_whoever_reads_behind_a_sink_that_was_closed_sees_all_of_it(broker):
    topic = broker.topic(partitions=3)
    for count in range(1, 11):
        sink = of(broker, topic).sink()
        epoch = sink.open("r7", Answer(N)) + 1
        sink.commit(epoch, [sink.write(epoch, [rows(epoch * 9, 9)])])
        sink.close()
        decided = ends(broker, topic, 3, IsolationLevel.READ_COMMITTED)
        assert decided == ends(broker, topic, 3, IsolationLevel.READ_UNCOMMITTED)
        assert read(of(broker, topic).source()) == list(range(9 * count))


def test_a_transaction_that_the_broker_gave_up_is_produced_again(broker):
    topic = broker.topic()
    sink = of(broker, topic, transaction_timeout="1 second").sink()
    sink.open("r2", Answer(N))
    written = [sink.write(0, [rows(0, 10)])]
    await_broker(
        lambda: ends(broker, topic, 1, IsolationLevel.READ_UNCOMMITTED)[0] > 10,
        "the broker to give a transaction up, which leaves a marker behind its ten rows",
    )
    again(lambda: sink.commit(0, written))
    assert sorted(own["n"] for own in committed_rows(broker, topic)) == list(range(10))
    assert of(broker, topic).sink().open("r2", Answer(N)) == 0


def test_a_broker_that_has_lost_an_epoch_is_told_of(broker):
    topic = broker.topic()
    sink = of(broker, topic, transaction_timeout="1 second").sink()
    sink.open("r8", Answer(N))
    sink.commit(4, [sink.write(4, [rows(0, 10)])])
    await_markers(broker, topic)
    admin = AdminClient({"bootstrap.servers": broker.servers})
    admin.delete_consumer_groups(["windrow-r8"])["windrow-r8"].result(30)
    written = [sink.write(5, [rows(10, 10)])]
    (before,) = ends(broker, topic, 1, IsolationLevel.READ_UNCOMMITTED)
    await_broker(
        lambda: ends(broker, topic, 1, IsolationLevel.READ_UNCOMMITTED)[0] > max(before, 21),
        "the broker to give a transaction up, so that another producer is made",
    )
    whole = TopicPartition(topic, 0, -1)
    admin.delete_records([whole])[whole].result(30)
    with pytest.raises(ResourceError) as caught:
        again(lambda: sink.commit(5, written))
    assert str(caught.value) == (
        f"ResourceError[epoch-lost]: Kafka at {broker.servers} has lost epoch 4 of {topic!r}, which it"
        " had taken\n"
        "  it has the epochs of this run up to -1; to go on would leave rows out\n"
        "  hint: look at the broker's log, and whether the topic or the group was deleted; begin anew"
        " with an empty checkpoint and topic, or put both back to an earlier time"
    )


def test_a_run_that_another_process_has_taken_over_is_told_so(broker):
    topic = broker.topic()
    first, second = of(broker, topic).sink(), of(broker, topic).sink()
    first.open("r3", Answer(N))
    written = [first.write(0, [rows(0, 10)])]
    assert second.open("r3", Answer(N)) == -1
    with pytest.raises(ResourceError, match=r"\[run-taken-over\]: another process writes to"):
        first.commit(0, written)
    second.commit(0, [second.write(0, [rows(10, 2)])])
    assert [own["n"] for own in committed_rows(broker, topic)] == [10, 11]


def test_a_row_that_is_too_large_is_named(broker):
    topic = broker.topic(max_message_bytes="2000")
    text = pa.RecordBatch.from_pylist([{"s": "x" * 1_500_000}])
    sink = of(broker, topic).sink()
    sink.open("r4", Answer(text.schema))
    with pytest.raises(DataError, match=r"\[message-too-large\]: a row of the answer is larger"):
        sink.write(0, [text])
    from random import Random

    wide = pa.RecordBatch.from_pylist([{"s": Random(1).randbytes(4_000).hex()}])
    with pytest.raises(DataError, match=r"\[message-too-large\]: a row of the answer is larger"):
        sink.commit(0, [sink.write(0, [wide])])
    written = [sink.write(0, [pa.RecordBatch.from_pylist([{"s": "fits"}])])]
    again(lambda: sink.commit(0, written))
    assert committed_rows(broker, topic) == [{"s": "fits"}]


def test_a_row_that_is_too_large_is_named_though_many_more_are_written_behind_it(broker):
    from random import Random

    topic = broker.topic(max_message_bytes="2000")
    wide = pa.RecordBatch.from_pylist([{"s": Random(1).randbytes(4_000).hex()}])
    # So many that the broker has refused the first while the last are still to be handed over.
    many = pa.RecordBatch.from_arrays([pa.repeat("x", 1_500_000)], names=["s"])
    sink = of(broker, topic).sink()
    sink.open("r4", Answer(wide.schema))
    with pytest.raises(DataError, match=r"\[message-too-large\]: a row of the answer is larger"):
        sink.commit(0, [sink.write(0, [wide, many])])
    written = [sink.write(0, [pa.RecordBatch.from_pylist([{"s": "fits"}])])]
    again(lambda: sink.commit(0, written))
    assert committed_rows(broker, topic) == [{"s": "fits"}]
