"""A run whose answer goes to a sink: when it ends."""

from __future__ import annotations

import threading
from collections import Counter

import pyarrow as pa
import pytest
from outside import Shelf, Tray
from sessions import session

import windrow
from windrow.io import Offsets
from windrow.run.local.inlets import SMALL


class FindsNothingLater(Shelf):
    """Has no rows, and finds that only when it is let."""

    def __init__(self) -> None:
        super().__init__([pa.table({"k": [1], "t": [1]}).slice(1)], is_endless=True)
        self.is_let = threading.Event()

    def latest(self, since: Offsets, most_rows: int = 4) -> Offsets:
        self.is_let.wait()
        return super().latest(since, most_rows)


def test_a_run_ends_though_its_sources_find_nothing_more_after_it_has_begun_to_wait(tmp_path):
    sources = {"a": FindsNothingLater(), "b": FindsNothingLater()}
    w = session(sources, time="t")
    sql = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 5"
    run = w.run(sql, to=Tray(), checkpoint=tmp_path, until_done=True)
    while run.progress.stalled != ("a", "b"):  # it has looked, and waits or is about to
        assert not run.wait(0.001)
    for source in sources.values():
        source.is_let.set()
    assert run.wait(60)


class GivesOneAtATime(Shelf):
    """Says when all of its rows were read."""

    def __init__(self, rows: int) -> None:
        numbers = list(range(rows))
        super().__init__([pa.table({"k": numbers, "t": numbers})], most_rows=1)
        self.is_read = threading.Event()

    def latest(self, since: Offsets, most_rows: int = 4) -> Offsets:
        if self.has_ended(since):
            self.is_read.set()
        return super().latest(since, most_rows)


class TakesLong(Tray):
    """Takes the rows of its first epoch for as long as there is more to read."""

    is_read: threading.Event

    def write(self, epoch, batches):
        assert self.is_read.wait(60)
        return super().write(epoch, batches)


def test_an_epoch_takes_in_what_comes_while_the_one_before_is_finished(tmp_path):
    source, sink = GivesOneAtATime(3 * SMALL), TakesLong()
    sink.is_read = source.is_read
    w = session({"a": source}, time="t")
    run = w.run("SELECT k FROM a", to=sink, checkpoint=tmp_path, epoch="1 microsecond")
    assert run.wait(60)
    (epochs,) = sink.epochs.values()
    sizes = [sum(map(len, batches)) for batches in epochs.values()]
    # When all was read, so many may still be held by the reader, for epochs of their own.
    assert sum(sizes) == 3 * SMALL
    assert sizes[1] >= 2 * SMALL - sizes[0]


KEYS = {
    "SELECT k FROM s EMIT CHANGES": None,
    "SELECT k, v FROM s EMIT CHANGES": None,
    "SELECT k, COUNT(*) AS n FROM s GROUP BY k": ("k",),
    "SELECT k AS key, COUNT(*) AS n FROM s GROUP BY k": ("key",),
    "SELECT k, COUNT(*) AS n FROM s GROUP BY k, v": None,
    "SELECT COUNT(*) AS n FROM s": (),
    "SELECT DISTINCT k FROM s": ("k",),
    "SELECT k FROM s UNION SELECT k FROM s": ("k",),
    "SELECT k FROM s EXCEPT SELECT v FROM s": ("k",),
    "SELECT k FROM s EXCEPT ALL SELECT v FROM s": None,
    "SELECT k FROM s INTERSECT ALL SELECT k FROM s": None,
    "SELECT x.k FROM (SELECT k FROM s INTERSECT ALL SELECT k FROM s) x": None,
    "SELECT k FROM s UNION ALL SELECT k FROM s EMIT CHANGES": None,
    "SELECT g.k, g.n FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g WHERE n > 1": ("k",),
    "SELECT g.n FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g": None,
    "SELECT g.k, g.n FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g, d WHERE g.k = d.k": None,
    "SELECT g.k, g.n FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g"
    " LEFT SEMI JOIN d ON g.k = d.k": ("k",),
    "SELECT g.n FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g,"
    " (SELECT k, COUNT(*) AS n FROM s GROUP BY k) h WHERE g.k = h.k": None,
    "SELECT k, v FROM s [ROWS 2]": None,
    "SELECT k, v FROM t": None,
}
"""Queries with the columns in which no two rows of their answers agree; windows are added."""


@pytest.mark.parametrize("query", KEYS)
def test_a_sink_is_told_the_columns_in_which_no_two_rows_agree(query):
    rows = {"k": [1, 1, 1, 2, 2, 2], "v": [7, 7, 8, 7, 7, 7], "ts": [1, 2, 3, 4, 5, 30]}
    w = session({"s": pa.table(rows), "t": pa.table(rows)}, time="ts")
    w.table("d", pa.table({"k": [1, 1, 2]}))
    sink = Tray()
    text = query if "ROWS" in query else query.replace("FROM s", "FROM s [RANGE 20]")
    w.run(text, to=sink, until_done=True).wait(60)
    keys = KEYS[query]
    assert sink.answer.keys == keys
    if not sink.answer.is_changelog:
        return
    there, most = Counter(), 0
    for row in (own for batch in sink.rows for own in batch.to_pylist()):
        key = tuple(row[name] for name in (keys if keys is not None else sink.answer.columns.names))
        there[key] += -1 if row["_change_type"] == "delete" else 1
        most = max(most, there[key])
    assert most == 1 if keys is not None else most > 1


@pytest.mark.parametrize(
    ("place", "condition"),
    [
        (windrow.kafka("answers", servers="127.0.0.1:1"), "no-keys"),
        (windrow.delta("nowhere", mode="merge"), "no-merge-keys"),
    ],
)
def test_what_goes_by_keys_takes_no_answer_with_equal_rows(place, condition):
    w = session({"s": pa.table({"k": [1], "ts": [1]})}, time="ts")
    with pytest.raises(windrow.BindError) as caught:
        w.run("SELECT k FROM s [RANGE 20] EMIT CHANGES", to=place, patience="0 seconds")
    assert caught.value.condition == condition


def test_an_epoch_that_fails_ends_a_run_to_which_nothing_more_comes(tmp_path):
    is_idle = threading.Event()

    class Idle(Shelf):
        looks = 0

        def latest(self, since, most_rows=4):
            end = super().latest(since, most_rows)
            self.looks += end == since
            if self.looks > 50:  # by then the run waits
                is_idle.set()
            return end

    class Refusing(Tray):
        def commit(self, epoch, written):  # noqa: ARG002
            assert is_idle.wait(60)
            raise windrow.ResourceError("refused", "the target refused the rows")

    w = session(
        {"a": Idle([pa.table({"n": [1], "t": [1]})], is_endless=True)}, time="t", lateness=0
    )
    made = w.run("SELECT n FROM a", to=Refusing(), checkpoint=tmp_path, epoch="1 millisecond")
    with pytest.raises(windrow.ResourceError, match="the target refused the rows"):
        made.wait(60)
