"""Sources that block, have nothing now, fail or end: the others go on, and `stop` ends it all."""

from __future__ import annotations

import gc
import pickle
import re
import threading
from collections import Counter
from itertools import chain, islice

import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import scan_of
from taps import LIMIT_S, Listener, Tap, readers

import windrow
from windrow import NOTHING_NOW, DataError, Session
from windrow.physical.algorithms import choices
from windrow.run.local import feeds as feeding
from windrow.run.local import inlets
from windrow.run.local.feeds import STUCK_BATCHES, Feed, Feeds, Position
from windrow.run.local.inlets import HELD, SMALL, Bell

SCHEMA = pa.schema([("k", pa.string()), ("at", pa.int64())])
JOIN = "SELECT a.at AS a, b.at AS b FROM a, b WHERE a.k = b.k WINDOW = 5"


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    """Nobody is waited for: what is there is read."""
    monkeypatch.setattr(feeding, "PATIENCE_S", 0)
    monkeypatch.setattr(inlets, "PAUSE_S", 0)


@pytest.fixture
def taps():
    """Streams a, b and c to open by hand; whatever a test does, they end."""
    made = {name: Tap() for name in "abc"}
    yield made
    for tap in made.values():
        tap.end()


def batch(*times: int, key: str = "x") -> pa.RecordBatch:
    return pa.record_batch({"k": [key] * len(times), "at": list(times)}, schema=SCHEMA)


def tapped(**streams: object) -> Session:
    made = Session()
    for name, data in streams.items():
        schema = SCHEMA if isinstance(data, Tap) else None
        made.stream(name, data, time="at", schema=schema)
    return made


@pytest.mark.law
@pytest.mark.parametrize("polling", ["in step", "round robin"])
@pytest.mark.parametrize("algorithm", [name for name in ("bew", "nlw", "hw") if name in choices()])
def test_a_stalled_stream_keeps_no_combination_of_the_others_back(taps, algorithm, polling):
    # a   1                  stalls for good
    # b      2               stalls for good
    # c         3   4   5    each meets both at once; the watermark stands at 1
    query = "SELECT c.at FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 5"
    result = tapped(**taps).sql(query, algorithm=algorithm, polling=polling)
    heard = Listener(result)
    taps["a"].give(batch(1))
    taps["b"].give(batch(2))
    for at in (3, 4, 5):
        taps["c"].give(batch(at))
        assert heard.next() == [{"at": at}]
        assert result.progress.watermark <= 1
    result.stop()
    assert heard.has_ended()


def test_progress_names_the_streams_that_have_nothing_now(taps, monkeypatch):
    waits = threading.Semaphore(0)
    wait = Feeds.wait

    def signaled(feeds: Feeds, *how: object) -> None:
        waits.release()
        wait(feeds, *how)

    monkeypatch.setattr(Feeds, "wait", signaled)
    result = tapped(a=taps["a"], b=[batch(1)]).sql(JOIN)
    heard = Listener(result)
    assert waits.acquire(timeout=LIMIT_S)
    assert result.progress.stalled == ("a",)
    assert "nothing now from a" in result.progress.line()
    taps["a"].give(batch(1))
    assert heard.next() == [{"a": 1, "b": 1}]
    result.stop()
    assert heard.has_ended()


def test_the_query_does_not_turn_in_a_loop_while_all_streams_block(taps, monkeypatch):
    waits, polls = threading.Semaphore(0), []
    wait, poll = Feeds.wait, Feeds.poll

    def signaled(feeds: Feeds, *how: object) -> None:
        waits.release()
        wait(feeds, *how)

    def counted(feeds: Feeds) -> object:
        polls.append(1)
        return poll(feeds)

    monkeypatch.setattr(Feeds, "wait", signaled)
    monkeypatch.setattr(Feeds, "poll", counted)
    result = tapped(a=taps["a"], b=taps["b"]).sql(JOIN)
    heard = Listener(result)
    assert waits.acquire(timeout=LIMIT_S)
    before = len(polls)
    result.checkpoint()  # takes its time, and its turn, while the query waits
    assert len(polls) == before
    taps["a"].give(batch(1))
    taps["b"].give(batch(1))
    assert heard.next() == [{"a": 1, "b": 1}]
    # A poll per batch, and one more for each time that it then found nothing.
    assert len(polls) <= before + 2 * 2
    result.stop()
    assert heard.has_ended()


def test_stop_from_another_thread_ends_a_loop_that_waits_for_all_streams(taps):
    result = tapped(a=taps["a"], b=taps["b"]).sql(JOIN)
    heard = Listener(result)
    assert taps["a"].is_asked.wait(LIMIT_S)
    assert taps["b"].is_asked.wait(LIMIT_S)
    result.stop()
    assert heard.has_ended()
    assert list(result) == []


def test_readers_end_and_close_their_iterators_as_soon_as_these_return(taps):
    result = tapped(a=taps["a"], b=taps["b"]).sql(JOIN)
    heard = Listener(result)
    assert taps["a"].is_asked.wait(LIMIT_S)
    assert taps["b"].is_asked.wait(LIMIT_S)
    threads = readers()
    assert set(threads) == {"a", "b"}
    result.stop()
    assert heard.has_ended()
    assert not taps["a"].is_closed.is_set()  # it blocks: nobody can close it
    taps["a"].give(batch(1))
    taps["b"].end()
    for thread in threads.values():
        thread.join(LIMIT_S)
        assert not thread.is_alive()
    assert taps["a"].is_closed.is_set()
    assert taps["b"].is_closed.is_set()


def test_a_reader_that_waits_for_room_ends_when_the_query_does():
    def endless():
        at = 0
        while True:
            yield batch(at)
            at += 1

    with tapped(a=endless(), b=endless()).sql(JOIN) as result:
        next(result)
        threads = readers()
        assert set(threads) == {"a", "b"}
    for thread in threads.values():
        thread.join(LIMIT_S)
        assert not thread.is_alive()
    assert list(result) == []


def test_a_result_that_nobody_holds_any_more_leaves_no_reader_behind():
    def endless():
        while True:
            yield batch(1)

    result = tapped(a=endless(), b=[batch(1)]).sql(JOIN)
    next(result)
    thread = readers()["a"]
    del result
    gc.collect()
    thread.join(LIMIT_S)
    assert not thread.is_alive()


@pytest.mark.parametrize(("rows", "most"), [(1, SMALL), (SMALL, HELD), (SMALL // 2 + 1, HELD)])
def test_a_stream_reads_no_further_ahead_than_it_may_hold(rows, most):
    given_out = []

    def counted():
        for at in range(2 * SMALL):
            given_out.append(at)
            yield batch(*[at] * rows)

    with tapped(a=counted(), b=[batch(0)]).sql(JOIN) as result:
        next(result)
        taken = result.checkpoint().positions["a"].rows // rows
        assert len(given_out) <= taken + most + 1


def test_an_error_of_a_source_names_the_stream_after_all_that_came_before_it(taps):
    result = tapped(a=taps["a"], b=[batch(1)]).sql(JOIN)
    heard = Listener(result)
    taps["a"].give(batch(1), ValueError("the wire is cut"))
    assert heard.next() == [{"a": 1, "b": 1}]
    with pytest.raises(DataError) as caught:
        heard.next()
    assert str(caught.value) == (
        "DataError[source-failed]: the stream a failed: ValueError: the wire is cut\n"
        "  the iterator it was registered with raised this error\n"
        "  hint: the error itself, with its place, is the cause of this one"
    )
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.sql == JOIN
    with pytest.raises(DataError, match="the wire is cut"):  # whoever asks on hears it again
        list(result)


def test_what_ends_a_thread_reaches_the_user_too(taps):
    result = tapped(a=taps["a"], b=[batch(1)]).sql(JOIN)
    taps["a"].give(SystemExit(3))
    with pytest.raises(DataError, match="the stream a failed: SystemExit: 3"):
        list(result)


def test_a_source_that_says_nothing_now_is_asked_again(taps):
    result = tapped(a=taps["a"], b=taps["b"]).sql(JOIN)
    heard = Listener(result)
    taps["a"].give(NOTHING_NOW, NOTHING_NOW, batch(1), NOTHING_NOW)
    taps["b"].give(batch(1), NOTHING_NOW, batch(2))
    rows = heard.next()
    if len(rows) == 1:  # the batches of b may have come before that of a, or not
        rows += heard.next()
    assert sorted(row["b"] for row in rows) == [1, 2]
    taps["a"].end()
    taps["b"].end()
    assert heard.has_ended()


def test_nothing_now_is_no_first_batch_to_take_columns_from():
    with pytest.raises(windrow.BindError, match="has no batch to take its columns from"):
        Session().stream("a", iter([NOTHING_NOW, batch(1)]), time="at")


def test_an_iterator_with_a_schema_is_not_read_before_a_query_asks(taps):
    made = tapped(a=taps["a"])
    made.sql("SELECT COUNT(*) AS n FROM a [RANGE 5]")
    assert not taps["a"].is_asked.is_set()


def test_data_with_columns_of_its_own_takes_no_schema():
    with pytest.raises(windrow.BindError) as caught:
        Session().stream("a", pa.Table.from_batches([batch(1)]), time="at", schema=SCHEMA)
    assert str(caught.value) == (
        "BindError[needless-schema]: a is Table, which has columns of its own\n"
        "  schema= says what the batches of an iterable look like\n"
        "  hint: leave it out, or cast the data before you register it"
    )


def test_a_checkpoint_can_be_had_while_the_query_waits(taps):
    result = tapped(a=taps["a"], b=taps["b"]).sql(JOIN)
    heard = Listener(result)
    taps["a"].give(batch(1))
    taps["b"].give(batch(2))
    assert heard.next() == [{"a": 1, "b": 2}]
    checkpoint = pickle.loads(pickle.dumps(result.checkpoint()))
    result.stop()
    assert heard.has_ended()
    rest = tapped(a=[batch(1), batch(3)], b=[batch(2)]).sql(JOIN, resume=checkpoint)
    assert rest.to_arrow().to_pylist() == [{"a": 3, "b": 2}]


def order_of(feeds: Feeds) -> list[str]:
    """The streams as they are read; a dot where none has anything."""
    order = []
    while not feeds.have_ended:
        polled = feeds.poll()
        order.append("." if polled is None else polled[0])
    return order


def feeds_of(**streams: list[object]) -> Feeds:
    return Feeds(
        [
            Feed(scan_of(name), inlets.InMemory(iter(parts)), Position())
            for name, parts in streams.items()
        ],
        Bell(),
    )


def test_a_list_that_has_nothing_now_keeps_no_other_from_being_read():
    feeds = feeds_of(
        a=[batch(1), NOTHING_NOW, NOTHING_NOW, batch(2)], b=[batch(5), batch(6), batch(7)]
    )
    # a1 b5, then a is behind and has nothing twice, then a2; both end.
    assert order_of(feeds) == ["a", "b", "b", "b", "a", "a", "b"]


def test_where_no_list_has_anything_the_streams_are_asked_again():
    feeds = feeds_of(a=[NOTHING_NOW, batch(1)], b=[NOTHING_NOW, batch(1)])
    assert order_of(feeds) == [".", "a", "b", "a", "b"]


def test_streams_that_have_nothing_now_are_asked_in_turn_with_those_at_the_same_time():
    asked = []

    class Noted(inlets.InMemory):
        def __init__(self, name: str, parts: list[object]) -> None:
            super().__init__(iter(parts))
            self.name = name

        def take(self) -> object:
            asked.append(self.name)
            return super().take()

    silent, steady = [batch(1), *[NOTHING_NOW] * 9], [batch(1)] * 10
    feeds = Feeds(
        [
            Feed(scan_of(name), Noted(name, parts), Position())
            for name, parts in {"a": silent, "b": steady, "c": steady}.items()
        ],
        Bell(),
    )
    read = [feeds.poll()[0] for _ in range(7)]
    assert "".join(asked) == "abcabcabc"
    assert "".join(read) == "abcbcbc"


@pytest.mark.parametrize("stuck", [batch(1), batch(1).slice(1)], ids=["at one time", "empty"])
def test_a_stream_that_stays_where_it_is_in_time_does_not_starve_the_others(stuck):
    feeds = feeds_of(a=[stuck] * 40, b=[batch(5), batch(6)], c=[batch(5), batch(7)])
    order = "".join(feeds.poll()[0] for _ in range(40))
    assert [order.index("b"), order.index("c")] == [1, 2]
    gaps = [len(run) for run in re.split("[bc]", order[3:])]
    # b's second batch, c's, the ends of both: each after eight more of a at most.
    assert gaps[:4] == [STUCK_BATCHES] * 4
    assert order.count("b") == order.count("c") == 3


class Scripted:
    """An inlet whose batches come as the test says: how many are held at each time of asking."""

    is_silent = False

    def __init__(self, *held: int) -> None:
        self._held = list(held)
        self._now = 0

    @property
    def is_ready(self) -> bool:
        return self._now > 0

    def take(self) -> object:
        if not self._now:
            self._now = self._held.pop(0)
        if not self._now:
            return NOTHING_NOW
        self._now -= 1
        return batch(1)


class Waits(Bell):
    """A bell that nobody rings: it notes how often someone waits."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def wait_for(self, claim, timeout_s=None) -> bool:  # noqa: ARG002
        self.count += 1
        return False


def test_a_stream_that_kept_the_query_waiting_is_not_waited_for_until_it_has_batches_to_spare():
    #           waited, nothing   not waited   one, none to spare   not waited   two    waited
    inlet = Scripted(0, 0, 0, 1, 0, 2, 0, 0)
    bell, feed = Waits(), Feed(scan_of("a"), inlet)
    asked = []
    for _ in range(7):
        taken = feed.ask(bell)
        asked.append((taken is not NOTHING_NOW, bell.count, feed.is_stalled))
    assert asked == [
        (False, 1, True),
        (False, 1, True),
        (True, 1, False),
        (False, 1, True),
        (True, 1, False),
        (True, 1, False),
        (False, 2, True),
    ]


POLLING = st.sampled_from([None, "round robin"])
TIMES = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=3), min_size=1, max_size=5)


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None, derandomize=True)
@given(a=TIMES, b=TIMES, stops=st.integers(0, 4), polling=POLLING, data=st.data())
def test_iterators_that_stall_and_a_resume_give_every_combination_once(a, b, stops, polling, data):
    def iterator(name: str, parts: list[list[int]]):
        for times in parts:
            for _ in range(data.draw(st.integers(0, 2), label=f"stalls of {name}")):
                yield NOTHING_NOW
            yield batch(*times)

    def opened() -> Session:
        made = Session()
        for name, parts in (("a", a), ("b", b)):
            items = list(iterator(name, parts))
            data_ = items if data.draw(st.booleans(), label=f"{name} as list") else iter(items)
            made.stream(name, data_, time="at", lateness=20, schema=SCHEMA)
        return made

    with opened().sql(JOIN, polling=polling) as first:
        taken = list(islice(first, stops))
        checkpoint = first.checkpoint()
    rest = opened().sql(JOIN, resume=checkpoint, polling=polling)
    wanted = Counter(
        (left, right) for left in chain(*a) for right in chain(*b) if abs(left - right) <= 5
    )
    assert bag([*taken, *rest]) == wanted
    assert rest.progress.rows_in == sum(map(len, a)) + sum(map(len, b))
    assert rest.progress.late == 0


def test_readers_are_ended_when_the_program_ends_and_one_that_blocks_is_left_behind(
    taps, monkeypatch
):
    result = tapped(a=taps["a"], b=taps["b"]).sql(JOIN)
    heard = Listener(result)
    assert taps["a"].is_asked.wait(LIMIT_S)
    assert taps["b"].is_asked.wait(LIMIT_S)
    monkeypatch.setattr(inlets, "PARTING_S", 0)
    assert not inlets.end_readers()
    assert heard.has_ended()
    for tap in taps.values():
        tap.end()
    monkeypatch.setattr(inlets, "PARTING_S", LIMIT_S)
    assert inlets.end_readers()
    assert not {"a", "b"} & set(readers())
