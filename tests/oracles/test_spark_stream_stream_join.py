"""Incremental joins of streams, batch by batch, with the answers of Spark's own tests.

Times are whole seconds, as BIGINT. Spark drops a row at or below the watermark, Windrow one below
it: a lateness one second shorter than Spark's delay makes the two the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from known_answers import known_answers
from plans import planned

import windrow
from windrow.errors import PlanError
from windrow.operators.engine.driver import MicroBatch, Setting
from windrow.operators.engine.scheduler import Scheduler, driver_of
from windrow.schema import MIN_TICK

CASES = {case["id"]: case for case in known_answers("spark_stream_stream_join/cases.json")}
EVER = 1_000_000

Rows = list[tuple[Any, ...]]


class Batches:
    """A query in process, fed one micro-batch at a time."""

    def __init__(self, sql: str, streams: dict[str, tuple[list[str], int]]) -> None:
        self.streams = streams
        self.newest = dict.fromkeys(streams, MIN_TICK)
        self.watermark = MIN_TICK
        session = windrow.Session()
        for name, (columns, lateness) in streams.items():
            empty = pa.table({column: pa.array([], pa.int64()) for column in columns})
            session.stream(name, empty, time="time", lateness=lateness)
        self.scheduler = Scheduler(driver_of(planned(session, sql).root, Setting()))

    def add(self, rows: dict[str, Rows]) -> Rows:
        arrived, before = {}, self.watermark
        for name, values in rows.items():
            columns = self.streams[name][0]
            arrived[name] = pa.RecordBatch.from_pylist(
                [dict(zip(columns, value, strict=True)) for value in values],
                schema=pa.schema([(column, pa.int64()) for column in columns]),
            )
            times = arrived[name].column("time").to_pylist()
            self.newest[name] = max([self.newest[name], *times])
        if min(self.newest.values()) > MIN_TICK:
            promised = [self.newest[name] - late for name, (_, late) in self.streams.items()]
            self.watermark = max(self.watermark, min(promised))
        out = self.scheduler.run(MicroBatch(arrived, before, self.watermark))
        return [tuple(row.values()) for batch in out for row in batch.columns.to_pylist()]


def checks(case: dict[str, Any], run: Batches, spread: Any) -> Iterator[tuple[Rows, Rows]]:
    """What was found and what was expected, at each check of a case."""
    fresh: Rows = []
    so_far: Rows = []
    for op in case["ops"]:
        if op["op"] == "batch":
            found = run.add(spread(op["add"]))
            fresh, so_far = fresh + found, so_far + found
        elif op["op"].startswith("expect"):
            expected = [tuple(row) for row in op["rows"]]
            yield (fresh if op["op"] == "expect_new_rows" else so_far), expected
            fresh = []


def holds(case: dict[str, Any], run: Batches, spread: Any) -> None:
    compared = 0
    for found, expected in checks(case, run, spread):
        assert Counter(found) == Counter(expected)
        compared += 1
    assert compared


def test_a_two_sided_range_with_late_rows() -> None:
    case = CASES["inner_time_range_two_sided"]
    delay = case["query"]["watermark_delay_s"]
    run = Batches(
        "SELECT l.key, l.time AS lt, r.time AS rt FROM l, r "
        "WHERE l.key = r.key AND l.time >= r.time - 10 AND l.time <= r.time + 5",
        {
            name: (["key", "time"], delay[side] - 1)
            for name, side in (("l", "left"), ("r", "right"))
        },
    )
    holds(case, run, lambda add: {side[0]: rows for side, rows in add.items()})


def test_a_one_sided_range_is_refused_for_its_state_would_grow_for_ever() -> None:
    case = CASES["inner_time_range_one_sided"]
    assert case["query"]["lower_s"] is None
    with pytest.raises(PlanError, match="unbounded"):
        Batches(
            "SELECT l.key FROM l, r WHERE l.key = r.key AND l.time < r.time - 5",
            {"l": (["key", "time"], 9), "r": (["key", "time"], 9)},
        )


def test_an_equal_key_and_an_equal_tumbling_window() -> None:
    run = Batches(
        "SELECT l.key AS key, floor(l.time / 10) * 10 + 10 AS ends, l.key * 2 AS lv, r.key * 3 AS rv "
        "FROM l, r WHERE l.key = r.key AND floor(l.time / 10) = floor(r.time / 10) WINDOW = 9",
        {"l": (["key", "time"], EVER), "r": (["key", "time"], EVER)},
    )
    holds(
        CASES["inner_tumbling_window_no_watermark"],
        run,
        lambda add: {side[0]: [(key, key) for (key,) in rows] for side, rows in add.items()},
    )


def test_three_streams_are_joined_as_spark_joins_them() -> None:
    run = Batches(
        "SELECT a.key AS ak, a.key * 2 AS av, b.key AS bk, b.key * 3 AS bv, c.key AS ck, "
        f"c.key * 5 AS cv FROM a, b, c WHERE a.key = b.key AND b.key = c.key WINDOW = {EVER}",
        {name: (["key", "time"], EVER) for name in "abc"},
    )
    names = {"left": "a", "right": "b", "third": "c"}
    holds(
        CASES["three_streams_inner"],
        run,
        lambda add: {names[side]: [(key, 0) for (key,) in rows] for side, rows in add.items()},
    )


def test_a_stream_joined_with_itself() -> None:
    run = Batches(
        "SELECT l.value % 5 AS key, l.value AS lv, r.value AS rv FROM s l, s r "
        f"WHERE l.value % 5 = r.value % 5 WINDOW (l, r) = {EVER}",
        {"s": (["value", "time"], EVER)},
    )
    holds(
        CASES["self_join_mod5"],
        run,
        lambda add: {"s": [(value, 0) for (value,) in add["both"]]},
    )


JOINS = {
    "left_outer": "LEFT OUTER JOIN",
    "right_outer": "RIGHT OUTER JOIN",
    "full_outer": "FULL OUTER JOIN",
    "left_semi": "LEFT SEMI JOIN",
}
TIME_RANGES = [id_ for id_ in CASES if "time_range" in id_ and not id_.startswith("inner")]
WINDOWS = [id_ for id_ in CASES if id_.endswith("_window")]
SELF_JOINS = ["self_left_outer", "self_full_outer", "self_left_semi"]


def by_side(add: dict[str, Rows]) -> dict[str, Rows]:
    return {side[0]: rows for side, rows in add.items()}


def at_its_key(add: dict[str, Rows]) -> dict[str, Rows]:
    return {side[0]: [(key, key) for (key,) in rows] for side, rows in add.items()}


@pytest.mark.parametrize("id_", TIME_RANGES)
def test_unmatched_rows_come_once_the_range_has_passed(id_: str) -> None:
    case = CASES[id_]
    query = case["query"]
    is_semi = query["join"] == "left_semi"
    shown = (
        "l.key, l.time AS lt" if is_semi else "l.key AS lk, r.key AS rk, l.time AS lt, r.time AS rt"
    )
    run = Batches(
        f"SELECT {shown} FROM l {JOINS[query['join']]} r ON l.key = r.key "
        f"AND l.time >= r.time - {-query['lower_s']} AND l.time <= r.time + {query['upper_s']}",
        {
            name: (["key", "time"], query["watermark_delay_s"][side] - 1)
            for name, side in (("l", "left"), ("r", "right"))
        },
    )
    holds(case, run, by_side)


def in_equal_windows(kind: str, extra: str = "") -> Batches:
    """A join on an equal key and an equal tumbling window of 10 s.

    The engine knows that a row is unmatched at the end of its window, Windrow 9 s after its time:
    a lateness 5 s shorter makes up for that.
    """
    of_one = "CASE WHEN l.key IS NULL THEN {r} ELSE {l} END"
    window = "floor({0}.time / 10) * 10 + 10"
    key = of_one.format(l="l.key", r="r.key")
    ends = of_one.format(l=window.format("l"), r=window.format("r"))
    shown = f"{key} AS key, {ends} AS ends, l.key * 2 AS lv, r.key * 3 AS rv"
    if kind == "left_semi":
        shown = f"l.key AS key, {window.format('l')} AS ends, l.key * 2 AS lv"
    return Batches(
        f"SELECT {shown} FROM l {JOINS[kind]} r ON l.key = r.key "
        f"AND floor(l.time / 10) = floor(r.time / 10){extra} WINDOW = 9",
        {"l": (["key", "time"], 4), "r": (["key", "time"], 4)},
    )


@pytest.mark.parametrize("id_", [id_ for id_ in WINDOWS if not id_.startswith("inner")])
def test_unmatched_rows_of_equal_tumbling_windows(id_: str) -> None:
    case = CASES[id_]
    holds(case, in_equal_windows(case["query"]["join"]), at_its_key)


def test_a_condition_of_on_that_is_neither_key_nor_window() -> None:
    """Theirs gives a row that its own side's condition excludes at once, ours when it is final."""
    case = CASES["left_outer_residual_condition"]
    run = in_equal_windows(
        "left_outer", " AND l.key * 2 > 10 AND (r.key * 3 < 300 OR r.key * 3 > 1000)"
    )
    found_in_all: Rows = []
    expected_in_all: Rows = []
    for found, expected in checks(case, run, at_its_key):
        matched = [[row for row in rows if None not in row] for rows in (found, expected)]
        assert Counter(matched[0]) == Counter(matched[1])
        found_in_all, expected_in_all = found_in_all + found, expected_in_all + expected
    assert Counter(found_in_all) == Counter(expected_in_all)


@pytest.mark.parametrize("id_", SELF_JOINS)
def test_a_stream_joined_with_the_even_rows_of_itself(id_: str) -> None:
    case = CASES[id_]
    kind = case["query"]["join"]
    shown = "l.id, l.time AS lt" + ("" if kind == "left_semi" else ", r.id AS rid, r.at AS rt")
    run = Batches(
        f"SELECT {shown} FROM s l {JOINS[kind]} (SELECT id, time AS at FROM s WHERE id % 2 = 0) r "
        "ON l.id = r.id DWINDOW (l, r) = 5",
        {"s": (["id", "time"], case["query"]["watermark_delay_s"]["left"])},
    )
    holds(case, run, lambda add: {"s": add["both"]})
