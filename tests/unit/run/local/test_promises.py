"""Promises of disorder: how far each reaches, the same answer under all of them, and who breaks one."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plans import scan_of
from sessions import session

import windrow
from windrow.run.local.feeds import Feed, Position
from windrow.run.local.inlets import BatchSplitter, Bell, InMemory
from windrow.schema import MIN_TICK

QUERIES = (
    "SELECT k, COUNT(*) AS n FROM a [RANGE 3] GROUP BY k",
    "SELECT a.at, b.at AS bat, a.k FROM a, b WHERE a.k = b.k WINDOW = 2",
    "SELECT a.at, b.at AS bat, a.k FROM a LEFT OUTER BESTMATCH JOIN b ON a.at MINDIST b.at"
    " WHERE abs(a.at - b.at) <= 3 KEEP UNMATCHED",
)
TIMES = st.lists(st.one_of(st.integers(0, 12), st.none()), max_size=14)
CUTS = st.sets(st.integers(0, 20), max_size=5)


def batches(rows, cuts):
    """The rows, tuples (at, k, is_punctuation), in batches that end at the cuts."""
    ends = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    return [table(rows[start:stop]) for start, stop in pairwise(ends)]


def table(rows):
    at, k, told = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "at": pa.array(at, pa.int64()),
            "k": pa.array(k, pa.string()),
            "told": pa.array(told, pa.bool_()),
        }
    )


def with_keys(times):
    return [(time, "xy"[place % 2], None) for place, time in enumerate(times)]


def promised_lateness(times):
    """The least lateness that the times keep."""
    known = [time for time in times if time is not None]
    return max((max(known[: i + 1]) - time for i, time in enumerate(known)), default=0)


def promised_read_ahead(times):
    """The least read-ahead that the times keep, by trying."""
    known = [time for time in times if time is not None]
    for rows in range(1, len(known) + 1):
        stretches = range(len(known) - rows + 1)
        if all(min(known[i : i + rows]) <= min(known[i + rows :], default=99) for i in stretches):
            return rows
    return max(len(known), 1)


def with_punctuations(rows, places):
    """The rows, and at the places what is true there: all up to an instant has come."""
    told = []
    for place, row in enumerate(rows):
        if place in places:
            least = min((time for time, *_ in rows[place:] if time is not None), default=20)
            told.append((least - 1, None, True))
        told.append(row)
    return told


def promises_of(times, places):
    """For each kind of promise: the rows as they come, and what the stream is registered with."""
    rows = with_keys(times)
    return {
        "lateness": (rows, {"lateness": promised_lateness(times)}),
        "read-ahead": (rows, {"read_ahead": promised_read_ahead(times)}),
        "punctuations": (with_punctuations(rows, places), {"punctuation": "told"}),
        "all": (
            with_punctuations(rows, places),
            {
                "lateness": promised_lateness(times),
                "read_ahead": promised_read_ahead(times),
                "punctuation": "told",
            },
        ),
    }


def answer(query, streams):
    session = windrow.Session()
    for name, (rows, about) in streams.items():
        session.stream(name, rows, time="at", **about)
    result = session.sql(query)
    found = result.to_arrow()
    assert result.progress.late == 0
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    return Counter(rows)


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None, derandomize=True)
@given(TIMES, TIMES, CUTS, CUTS, st.sampled_from(range(len(QUERIES))))
def test_every_promise_gives_the_answer_of_the_sorted_streams(a, b, cuts, places, which):
    in_order = {
        name: ([table(sorted(with_keys(times), key=lambda row: (row[0] is None, row[0])))], {})
        for name, times in (("a", a), ("b", b))
    }
    expected = answer(QUERIES[which], in_order)
    for kind in ("lateness", "read-ahead", "punctuations", "all"):
        streams = {
            name: (batches(rows, cuts), about)
            for name, (rows, about) in (
                ("a", promises_of(a, places)[kind]),
                ("b", promises_of(b, places)[kind]),
            )
        }
        assert answer(QUERIES[which], streams) == expected, kind


def feed_of(parts, position, promises):
    arrived = iter([part.combine_chunks().to_batches()[0] for part in parts if part.num_rows])
    return Feed(scan_of("a", **promises), InMemory(arrived), position)


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(TIMES, CUTS, CUTS, st.integers(1, 4), st.sampled_from([None, 1, 3]))
def test_the_watermark_is_as_far_as_the_promise_reaches_after_every_batch(
    times, cuts, places, c, at_once
):
    rows = with_punctuations(with_keys(times), places)
    parts = [part for part in batches(rows, cuts) if part.num_rows]
    assume(parts)
    promises = {"lateness": None, "read_ahead": c, "punctuation": "told"}
    position = Position()
    seen = []
    for number, part in enumerate(parts):
        seen += part.to_pylist()
        data = [row["at"] for row in seen if not row["told"] and row["at"] is not None]
        least = [min(data[i : i + c]) for i in range(len(data) - c + 1)]
        told = [row["at"] + 1 for row in seen if row["told"]]
        # Stopped and gone on at every batch.
        feed = feed_of(parts[number:], pickle.loads(pickle.dumps(position)), promises)
        if at_once is not None:
            feed.cut = BatchSplitter(lambda _: at_once)
        before = feed.watermark
        given_on = feed.ask(Bell())
        assert not any(given_on.column("told").to_pylist())
        while feed.position.part:
            # Parts are in the order of time, which promises more than the stream does.
            assert feed.watermark == before
            feed.ask(Bell())
        assert feed.watermark == max(least + told, default=MIN_TICK)
        position = feed.position


@pytest.mark.parametrize(
    ("promise", "then"),
    [
        ({"lateness": 1}, "raise the lateness of a by 2 or more"),
        ({"read_ahead": 2}, "raise the read-ahead of a"),
        ({"punctuation": "told"}, "have punctuations of a sent after all rows up to their time"),
    ],
)
def test_who_breaks_a_promise_is_late_and_told_what_to_do(promise, then):
    first = table([(5, "x", None), (7, "x", None), (5, None, "punctuation" in promise)])
    second = table([(4, "x", None), (8, "x", None)])
    query = "SELECT k, COUNT(*) AS n FROM a [RANGE 3] GROUP BY k"
    w = session({"a": [first, second]}, time="at", **promise)
    counted = w.sql(query)
    counted.to_arrow()
    assert counted.progress.late == 1
    with pytest.raises(windrow.DataError, match="late-row") as failed:
        w.sql(query, on_late="fail").to_arrow()
    assert then in str(failed.value)


def test_punctuations_are_no_data_and_their_column_is_none_of_the_stream():
    w = session({"a": table([(1, "x", False), (1, None, True)])}, time="at", punctuation="told")
    found = w.sql("SELECT * FROM a").to_arrow()
    assert found.to_pylist() == [{"at": 1, "k": "x"}]


def test_a_closing_punctuation_gives_the_rest_though_the_stream_stays_open():
    from windrow import NOTHING_NOW

    def rows():
        yield table([(1, "x", None), (2, "x", None)])
        yield table([(100, None, True)])
        while True:
            yield NOTHING_NOW

    w = session({"a": rows()}, time="at", punctuation="told", schema=table([]).schema)
    changes = w.sql("SELECT k, COUNT(*) AS n FROM a [RANGE 3] GROUP BY k")
    seen = []
    for batch in changes:
        seen += [(row["_change_type"], row["n"], row["_event_time"]) for row in batch.to_pylist()]
        if len(seen) == 6:
            break
    assert sorted(seen, key=lambda row: (row[2], row[0])) == [
        ("insert", 1, 1),
        ("delete", 1, 2),
        ("insert", 2, 2),
        ("delete", 2, 5),
        ("insert", 1, 5),
        ("delete", 1, 6),
    ]


@pytest.mark.parametrize(
    ("promise", "message"),
    [
        (
            {"read_ahead": 0},
            "BindError[bad-read-ahead]: the read-ahead of the stream a is 0\n"
            "  after this many consecutive rows beyond an instant, none at or before it follows\n"
            "  hint: 1 or more; with 1 the stream comes in the order of time",
        ),
        (
            {"punctuation": "tolled"},
            "UnknownColumn[unknown-punctuation-column]: the stream a has no column 'tolled' that"
            " says which rows are punctuations\n"
            "  hint: one of told, at, k",
        ),
        (
            {"punctuation": "k"},
            "BindError[bad-punctuation-type]: the column 'k', which says which rows of a are"
            " punctuations, is string\n"
            "  it must be a BOOLEAN: true in rows that are not data, but a promise\n"
            "  hint: compute such a column before you register the stream",
        ),
        (
            {"punctuation": "told", "time": None},
            "BindError[bad-lateness]: the stream a has a column of punctuations but no time column\n"
            "  hint: name its event-time column with time=...",
        ),
        (
            {"read_ahead": 2, "time": windrow.ON_ARRIVAL},
            "BindError[bad-lateness]: the stream a has a read-ahead, though its time is given on"
            " arrival\n"
            "  the time of arrival never goes back: nothing is late\n"
            "  hint: leave the read-ahead out, or name an event-time column with time=...",
        ),
        (
            {"read_ahead": 2.5},
            "BindError[bad-argument]: the argument read_ahead of stream(..) must be a whole number of"
            " rows, not 2.5\n"
            "  hint: for instance  read_ahead=3",
        ),
    ],
)
def test_a_promise_that_cannot_be_used_is_refused(promise, message):
    session = windrow.Session()
    with pytest.raises(windrow.WindrowError) as refused:
        session.stream("a", table([(1, "x", None)]), **{"time": "at", **promise})
    assert str(refused.value) == message


def test_explain_tells_the_promises_and_what_follows_from_them():
    w = session({"a": table([])}, time="at", read_ahead=3)
    w.stream("b", table([]), time="at", lateness=2, punctuation="told")
    text = w.explain("SELECT a.at FROM a, b WHERE a.k = b.k WINDOW = 5")
    assert "a: time at (bigint), read-ahead 3 rows" in text
    assert "b: time at (bigint), lateness 2, punctuations in told" in text
    assert (
        "newest time seen - lateness or the least time of the last rows read ahead or the" in text
    )
    assert "lead" in text
    assert "a <= rate(a) x (5 + lateness 2 + lead + distance) + one batch" in text
    assert (
        "\n  streaming, a must come in one ordered partition; its times are read once more, in one"
        " task\n"
    ) in text
