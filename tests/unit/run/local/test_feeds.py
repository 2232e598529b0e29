from __future__ import annotations

import pyarrow as pa

from windrow.physical.nodes.scans import ScanStream
from windrow.run.local.feeds import Position, open_feeds
from windrow.run.local.sources import source_of
from windrow.schema import MAX_TICK, MIN_TICK, Schema


def scan_of(stream: str, lateness: int = 0, alias: str = "") -> ScanStream:
    return ScanStream(stream, alias or stream, (), Schema(()), "at", "bigint", lateness)


def batches(*times: list[int | None]):
    return [pa.record_batch({"at": pa.array(part, pa.int64())}) for part in times]


def feeds_of(streams: dict[str, list[list[int | None]]], *, lateness: int = 0, positions=None):
    sources = {name: source_of(name, batches(*parts)) for name, parts in streams.items()}
    return open_feeds([scan_of(name, lateness) for name in streams], sources, positions or {})


def test_the_stream_that_is_furthest_behind_is_read_next():
    feeds = feeds_of({"a": [[1], [9], [12]], "b": [[5], [6], [20]]})
    order = []
    while not feeds.have_ended:
        stream, batch = feeds.poll()
        order.append((stream, batch.column(0).to_pylist() if batch is not None else None))
    assert order == [
        ("a", [1]),
        ("b", [5]),
        ("a", [9]),
        ("b", [6]),
        ("b", [20]),
        ("a", [12]),
        ("a", None),
        ("b", None),
    ]


def test_streams_at_the_same_time_take_turns():
    feeds = feeds_of({"a": [[1], [1]], "b": [[1], [1]], "c": [[1], [1]]})
    assert [feeds.poll()[0] for _ in range(6)] == ["a", "b", "c", "a", "b", "c"]


def test_the_watermark_is_the_least_newest_time_less_lateness_and_never_goes_back():
    #        a    b        watermark (lateness 2)
    # poll   10            -infinity: b has delivered nothing
    # poll        7        min(8, 5) = 5
    # poll        3        still 5: b's newest stays 7
    # poll        end      8: b holds it no more
    # poll   end           +infinity
    feeds = feeds_of({"a": [[10]], "b": [[7], [3]]}, lateness=2)
    assert feeds.watermark == MIN_TICK
    seen = []
    while not feeds.have_ended:
        seen.append((feeds.poll()[0], feeds.watermark))
    assert seen == [("a", MIN_TICK), ("b", 5), ("b", 5), ("b", 8), ("a", MAX_TICK)]


def test_a_stream_with_no_times_yet_holds_the_watermark():
    feeds = feeds_of({"a": [[], [None], [4]]})
    assert [feeds.poll() and feeds.watermark for _ in range(3)] == [MIN_TICK, MIN_TICK, 4]


def test_a_tuple_at_the_last_tick_has_no_time_and_does_not_end_the_stream():
    feeds = feeds_of({"a": [[4], [MAX_TICK], [MAX_TICK - 1]]})
    assert [feeds.poll() and feeds.watermark for _ in range(3)] == [4, 4, MAX_TICK - 1]


def test_a_stream_under_two_aliases_is_read_once():
    source = {"a": source_of("a", batches([1], [2]))}
    feeds = open_feeds([scan_of("a", alias="x"), scan_of("a", alias="y")], source, {})
    polled = []
    while not feeds.have_ended:
        polled.append(feeds.poll()[0])
    assert polled == ["a", "a", "a"]


def test_reading_goes_on_from_a_position():
    feeds = feeds_of({"a": [[1], [2], [3]]}, positions={"a": Position(rows=2, newest=2)})
    _, batch = feeds.poll()
    assert batch.column(0).to_pylist() == [3]
    assert feeds.positions == {"a": Position(rows=3, newest=3)}
