"""Incremental inner joins of streams, batch by batch, with the answers of Spark's own tests.

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

import windrow
from windrow.errors import PlanError
from windrow.run.local.pipeline import Pipeline, Round
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
        self.pipeline = Pipeline(session._plan(sql, {})[1])

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
        out = self.pipeline.run(Round(arrived, before, self.watermark))
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


def test_three_streams() -> None:
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
