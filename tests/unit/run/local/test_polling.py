"""The order in which streams are asked: in step with event time, or each in its turn."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from itertools import islice, product

import pyarrow as pa
import pytest
from bags import bag
from plans import scan_of
from sessions import session

from windrow import NOTHING_NOW, Session
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.options import IN_STEP, ROUND_ROBIN
from windrow.run.local.feeds import Feed, Feeds, Position, open_feeds
from windrow.run.local.inlets import FEW, Bell, InMemory, Reader
from windrow.run.local.sources import source_of
from windrow.schema import Schema

SCHEMA = pa.schema([("k", pa.string()), ("at", pa.int64())])
JOIN = (
    "SELECT a.at AS a, b.at AS b, c.at AS c FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 9"
)


def batch(at: int) -> pa.RecordBatch:
    return pa.record_batch({"k": ["x"], "at": [at]}, schema=SCHEMA)


class Recorded:
    """Streams that write down when they are asked, and what is then read of them."""

    def __init__(self, polling: str, **streams: list[object]) -> None:
        self.asked: list[str] = []
        self._feeds = Feeds(
            [
                Feed(scan_of(name), InMemory(self._noting(name, parts)), Position())
                for name, parts in streams.items()
            ],
            Bell(),
            polling,
        )

    def _noting(self, name: str, parts: list[object]) -> Iterator[object]:
        for part in parts:
            self.asked.append(name)
            yield part
        self.asked.append(name.upper())  # the end

    def read(self) -> str:
        """The streams as batches of them are read, an end as a capital letter; a dot for none."""
        read = []
        while not self._feeds.have_ended:
            polled = self._feeds.poll()
            read.append("." if polled is None else polled[0] if polled[1] else polled[0].upper())
        return "".join(read)


BEHIND = [batch(at) for at in (1, 2, 3, 4)]
AHEAD = [batch(at) for at in (50, 60)]
SILENT = [batch(1), NOTHING_NOW, NOTHING_NOW, batch(2)]


@pytest.mark.parametrize(
    ("polling", "streams", "asked", "read"),
    [
        # b is far ahead: in step it waits until a has ended, round robin it is read in its turn.
        (IN_STEP, {"a": BEHIND, "b": AHEAD}, "abaaaAbB", "abaaaAbB"),
        (ROUND_ROBIN, {"a": BEHIND, "b": AHEAD}, "ababaBaA", "ababaBaA"),
        # a has nothing twice: in step it is asked first all the same, round robin in its turn.
        (IN_STEP, {"a": SILENT, "b": AHEAD, "c": AHEAD}, "abcabacaABC", "abcbcaABC"),
        (ROUND_ROBIN, {"a": SILENT, "b": AHEAD, "c": AHEAD}, "abcabcaBCaA", "abcbcBCaA"),
        # Nobody has anything: all are asked once, and then all again.
        (IN_STEP, {"a": [NOTHING_NOW], "b": [NOTHING_NOW]}, "abAB", ".AB"),
        (ROUND_ROBIN, {"a": [NOTHING_NOW], "b": [NOTHING_NOW]}, "abAB", ".AB"),
    ],
)
def test_streams_are_asked_in_the_order_of_choice(polling, streams, asked, read):
    recorded = Recorded(polling, **streams)
    assert recorded.read() == read
    assert "".join(recorded.asked) == asked


class Late:
    """An inlet that has nothing yet, though it has not said so: its thread is still reading."""

    is_ready = is_silent = False

    def take(self) -> object:
        return NOTHING_NOW


class Waits(Bell):
    """A bell that nobody rings: it notes how often someone waits."""

    count = 0

    def wait_for(self, claim, timeout_s=None) -> bool:  # noqa: ARG002
        self.count += 1
        return False


@pytest.mark.parametrize(("polling", "waits"), [(IN_STEP, 1), (ROUND_ROBIN, 0)])
def test_round_robin_nobody_is_waited_for(polling, waits):
    bell = Waits()
    ready = InMemory(iter([batch(1)]))
    feeds = Feeds([Feed(scan_of("a"), Late()), Feed(scan_of("b"), ready)], bell, polling)
    assert feeds.poll() == ("b", batch(1))
    assert bell.count == waits
    assert feeds.stalled == ("a",)


class Noted(list):
    """A list of batches that writes down whenever one is taken from it."""

    def __init__(self, name: str, times: list[int], asked: list[str]) -> None:
        super().__init__(map(batch, times))
        self._name, self._asked = name, asked

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for part in super().__iter__():
            self._asked.append(self._name)
            yield part


def noted_streams(asked: list[str]) -> Session:
    return session(
        {
            name: Noted(name, times, asked)
            for name, times in {"a": [1, 2, 3, 4], "b": [6, 7, 8], "c": [5, 6]}.items()
        },
        time="at",
    )


def test_a_query_asks_as_its_option_or_hint_says_and_the_answer_is_the_same():
    hinted = JOIN.replace("SELECT", "SELECT /*+ polling(round robin) */")
    answers, orders = [], []
    for query, options in [
        (JOIN, {}),
        (JOIN, {"polling": "in step"}),
        (JOIN, {"polling": "round robin"}),
        (hinted, {}),
        (hinted, {"polling": "in step"}),
    ]:
        asked: list[str] = []
        result = noted_streams(asked).sql(query, **options)
        asked.clear()  # planning has looked into the lists
        answers.append(bag(result))
        orders.append("".join(asked))
    assert orders == ["abcaaacbb", "abcaaacbb", "abcabcaba", "abcabcaba", "abcaaacbb"]
    assert answers == [Counter(product([1, 2, 3, 4], [6, 7, 8], [5, 6]))] * 5


@pytest.mark.law
@pytest.mark.parametrize("polling", [IN_STEP, ROUND_ROBIN])
def test_a_query_that_is_resumed_goes_on_with_the_stream_whose_turn_it_is(polling):
    def drained(feeds: Feeds, most: int = 99) -> list[str]:
        polls = iter(feeds.poll, None)
        return [f"{name}{part['at'][0]}" for name, part in islice(polls, most) if part]

    def opened(positions: dict[str, Position]) -> Feeds:
        times = {"a": [1, 2, 3, 4], "b": [6, 7, 8], "c": [5, 6]}
        scans = [ScanStream(name, name, (), Schema(()), "at", "bigint", 0) for name in times]
        sources = {name: source_of(name, [*map(batch, times[name])]) for name in times}
        return open_feeds(scans, sources, positions, polling=polling)

    whole = drained(opened({}))
    assert len(whole) == 9
    for stop in range(9):
        first = opened({})
        before = drained(first, stop)
        assert before + drained(opened(pickle.loads(pickle.dumps(first.positions)))) == whole


def read_ahead(parts: list[object], *, merges: bool) -> list[object]:
    """What a reader gives, as often as it is asked, when it has read all that it holds."""
    reader = Reader("a", iter(parts), Bell(), merges=merges)
    found = [reader.take()]
    reader.thread.join()
    while found[-1] is not None:
        found.append(reader.take())
    return [own.column("at").to_pylist() for own in found if isinstance(own, pa.RecordBatch)]


def test_few_rows_of_a_stream_that_is_cut_by_arrival_are_one_batch():
    assert read_ahead([batch(1), batch(2), batch(3)], merges=True) == [[1, 2, 3]]


def test_many_rows_stay_batches_of_their_own():
    large = pa.concat_batches([batch(5)] * FEW)
    found = read_ahead([batch(1), large], merges=True)
    assert [len(own) for own in found] == [1, FEW]


def test_batches_of_a_users_own_stay_as_they_came():
    assert read_ahead([batch(1)], merges=False) == [[1]]
