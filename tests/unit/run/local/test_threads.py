"""The option `threads`: what EXPLAIN says, the order of changes, restarts, errors and Ctrl-C."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from outside import Killed, Shelf, Tray
from sessions import session
from taps import LIMIT_S

import windrow
from windrow.operators.engine.bucketed import LEAST_ROWS
from windrow.operators.engine.team import Team

ROWS = 6 * LEAST_ROWS
GROUPS = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 50] GROUP BY k"
JOIN = "SELECT a.k, a.v, b.v AS w FROM a, b WHERE a.k = b.k WINDOW = 5"


def streams(batch: int = 2 * LEAST_ROWS) -> dict[str, list[pa.RecordBatch]]:
    random = np.random.default_rng(7)
    found = {}
    for name in "ab":
        columns = {
            "k": random.integers(0, 1000, ROWS),
            "v": random.integers(0, 9, ROWS),
            "ts": np.arange(ROWS) // 10 - random.integers(0, 3, ROWS),  # some are late
        }
        whole = pa.record_batch(columns)
        found[name] = [whole.slice(start, batch) for start in range(0, ROWS, batch)]
    return found


def asked(sql: str, *, data: Any = None, **options: Any) -> Any:
    return session(data or streams(), time="ts").sql(sql, **options)


def thread_lines(sql: str, **options: Any) -> list[str]:
    lines = session(streams(), time="ts").explain(sql, **options).splitlines()
    return [" ".join(line.split()) for line in lines if line.split()[:1] == ["threads"]]


def test_explain_says_by_what_rows_are_divided():
    assert thread_lines(JOIN, threads=2) == ["threads 2, partitioned by a.k = b.k (2)"]
    assert thread_lines(GROUPS.replace("SELECT", "SELECT /*+ threads(3) */")) == [
        "threads 3, partitioned by a.k (3)"
    ]


@pytest.mark.parametrize("options", [{}, {"threads": 1}])
def test_explain_is_silent_where_nobody_asked(options):
    assert thread_lines(JOIN, **options) == []


@pytest.mark.parametrize(
    ("sql", "options", "reason"),
    [
        ("SELECT COUNT(*) AS n FROM a [RANGE 5]", {}, "has one group; GROUP BY would spread it"),
        (JOIN.replace("a.k = b.k", "a.v < b.v"), {}, "without an equality of all inputs"),
        (JOIN, {"memory": "1 GB"}, "with memory one bound holds"),
        (JOIN, {"memory": "99 tuples", "on_memory": "shed"}, "drawn from all rows together"),
    ],
)
def test_explain_says_why_one_thread_has_all_rows(sql, options, reason):
    (line,) = thread_lines(sql, threads=2, **options)
    assert line.startswith("threads 1: ")
    assert reason in line


@pytest.mark.law
@pytest.mark.parametrize("sql", [JOIN, GROUPS])
def test_rows_and_figures_are_those_of_one_thread(sql):
    one, two = (asked(sql, threads=threads) for threads in (1, 2))
    assert bag(one.to_arrow()) == bag(two.to_arrow())
    assert one.progress.late == two.progress.late > 0
    assert one.progress.rows_out == two.progress.rows_out
    for name, figures in one.progress.operators.items():
        assert figures["rows_in"] == two.progress.operators[name]["rows_in"]


@pytest.mark.law
def test_changes_come_in_the_order_of_time_deletes_first():
    changes = asked(GROUPS, threads=2).to_arrow()
    order = changes.select(["_event_time", "_change_type"])
    assert order.equals(
        order.sort_by([("_event_time", "ascending"), ("_change_type", "ascending")])
    )
    assert changes.num_rows > 4 * LEAST_ROWS


@pytest.mark.law
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (3, 2), (2, 3)])
@pytest.mark.parametrize("sql", [JOIN, GROUPS])
def test_a_query_goes_on_with_another_number_of_threads(sql, before, after):
    result = asked(sql, threads=before)
    first = next(iter(result))
    again = asked(sql, threads=after, resume=result.checkpoint())
    assert bag([first, *again]) == bag(asked(sql).to_arrow())


def test_what_a_function_raises_in_a_thread_is_told_as_in_one():
    told = []
    for threads in (1, 2):
        w = session(streams(), time="ts")
        w.function("broken", broken, returns="boolean")
        with pytest.raises(windrow.WindrowError) as error:
            w.sql(JOIN.replace("WHERE", "WHERE broken(a.v + b.v) AND"), threads=threads).to_arrow()
        told.append(str(error.value))
    assert "it is broken" in told[0]
    assert told[0] == told[1]


def broken(values: pa.Array) -> pa.Array:
    raise ValueError("it is broken")


def test_a_delete_of_what_was_never_there_is_told_from_a_thread():
    kinds = ["insert"] * (ROWS - 1) + ["delete"]
    data = {"k": list(range(ROWS)), "ts": [0] * (ROWS - 1) + [1], "kind": kinds}
    told = []
    for threads in (1, 2):
        w = session({"a": data}, time="ts", changes="kind")
        with pytest.raises(windrow.DataError) as error:
            w.sql("SELECT k, COUNT(*) AS n FROM a [RANGE 5] GROUP BY k", threads=threads).to_arrow()
        told.append(str(error.value))
    assert told[0] == told[1]


def test_an_interrupt_loses_no_row():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result, got = asked(JOIN, threads=2), []
        w = session(streams(), time="ts")
        calls = []

        def note(values: pa.Array) -> pa.Array:
            calls.append(threading.current_thread())
            if len(calls) == 3:
                signal.raise_signal(signal.SIGINT)
            return values

        w.function("note", note, returns="bigint")
        noted = w.sql(JOIN.replace("b.k WINDOW", "b.k AND note(a.v + b.v) >= 0 WINDOW"), threads=2)
        with pytest.raises(KeyboardInterrupt):
            got.extend(noted)
        got.extend(noted)
    finally:
        signal.signal(signal.SIGINT, before)
    assert bag(got) == bag(result.to_arrow())
    assert {thread is threading.main_thread() for thread in calls} == {True, False}


def test_a_query_that_is_dropped_leaves_no_thread_behind():
    result = asked(JOIN, threads=2)
    next(iter(result))
    own = [thread for thread in threading.enumerate() if thread.name.startswith("windrow-bucket")]
    assert own
    del result
    gc.collect()
    for thread in own:
        thread.join(LIMIT_S)
    assert not any(thread.is_alive() for thread in own)


def test_few_rows_wake_no_thread():
    before = threading.active_count()
    result = asked(JOIN, data=streams(batch=100), threads=2)
    next(iter(result))
    assert threading.active_count() == before


def test_a_team_ends_all_tasks_before_it_raises():
    done = []

    def fails() -> None:
        raise ValueError("one fails")

    with pytest.raises(ValueError, match="one fails"):
        Team(2).each([fails, lambda: done.append(1), lambda: done.append(2)])
    assert sorted(done) == [1, 2]


@pytest.mark.law
@pytest.mark.parametrize("numbers", [(2, 1, 2), (3, 2, 1), (1, 2, 3)])
@pytest.mark.parametrize("sql", [JOIN, GROUPS])
def test_a_run_that_is_killed_goes_on_with_another_number_of_threads(sql, numbers, tmp_path):
    rows = pa.table({"k": [n % 3 for n in range(40)], "v": range(40), "ts": range(40)})

    def begun(sink: Tray, threads: int) -> windrow.Run:
        w = session({"a": Shelf([rows]), "b": Shelf([rows])}, time="ts")
        return w.run(sql, to=sink, checkpoint=tmp_path, epoch="1 millisecond", threads=threads)

    tray = Tray()
    for threads in numbers:
        with contextlib.suppress(Killed):
            begun(tray.breaking_at(8), threads).wait(LIMIT_S)
    assert begun(tray, 2).wait(LIMIT_S)
    whole = session({"a": rows, "b": rows}, time="ts").sql(sql)
    assert bag(tray.rows) == bag(whole.to_arrow())
    assert sum(map(len, tray.epochs.values())) > 1
