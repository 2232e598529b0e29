"""Interval joins of two streams, with the answers of another engine's tests."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from known_answers import known_answers
from sessions import session

import windrow
from windrow.errors import PlanError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.time_join import TimeJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import Field, Schema

JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL OUTER JOIN"}
SQL_CASES = [
    case
    for case in known_answers("flink_interval_join/sql_cases.json")
    if case["query"].get("join") in JOINS
]
EMPTY_INTERVALS = [
    case for case in SQL_CASES if case["query"]["lower_ms"] > case["query"]["upper_ms"]
]
BOUNDS = known_answers("flink_interval_join/operator_bounds.json")
SEQUENCES = known_answers("flink_interval_join/operator_sequences.json")
TIMES = Schema((Field("ts", "bigint"),))
SPARK_TEXT = {
    "left.key is not distinct from right.key (null matches null)": "l.key IS NOT DISTINCT FROM r.key",
    "quarter(left.ts) = right.a   (all rows are in 1970 Q1, so quarter = 1)": (
        "1 + floor(l.ts_ms / 7776000000) = r.a"  # quarters of 90 days
    ),
}


def named(text: str) -> str:
    text = text.removesuffix(" (part of the ON condition)")
    return SPARK_TEXT.get(text, text.replace("left.", "l.").replace("right.", "r."))


def bound(column: str, low: int, high: int, *, low_in: bool = True, high_in: bool = True) -> str:
    left, right = column.split("/")
    return (
        f"{left} {'>=' if low_in else '>'} {right} + {low} AND "
        f"{left} {'<=' if high_in else '<'} {right} + {high}"
    ).replace("+ -", "- ")


def asked(case: dict[str, Any]) -> Any:
    """The query of a case, over its streams."""
    query = case["query"]
    w = session(
        {
            name: pa.Table.from_pylist(rows)
            for name, rows in (("l", case["left"]), ("r", case["right"]))
        },
        time="ts_ms",
        lateness=100_000,
    )
    conditions = [
        bound(
            "l.ts_ms/r.ts_ms",
            query["lower_ms"],
            query["upper_ms"],
            low_in=query["lower_inclusive"],
            high_in=query["upper_inclusive"],
        )
    ]
    conditions += [named(query[k]) for k in ("key_condition", "extra_predicate") if query[k]]
    # The known answers are texts.
    columns = ", ".join(
        f"CAST({named(c)} AS STRING) AS c{i}" for i, c in enumerate(query["output"])
    )
    return w.sql(f"SELECT {columns} FROM l {JOINS[query['join']]} r ON {' AND '.join(conditions)}")


@pytest.mark.parametrize(
    "case", [c for c in SQL_CASES if c not in EMPTY_INTERVALS], ids=lambda case: case["id"]
)
def test_an_interval_join_in_sql_gives_the_rows_of_flink(case: dict[str, Any]) -> None:
    found = bag(asked(case))
    assert found == bag(case["expected_rows_any_order"])


@pytest.mark.parametrize("case", EMPTY_INTERVALS, ids=lambda case: case["id"])
def test_an_interval_that_no_pair_can_meet_is_refused(case: dict[str, Any]) -> None:
    """Theirs gives every row of an outer join unmatched; ours takes it for a mistake, and says so."""
    with pytest.raises(PlanError, match="contradicting-windows"):
        asked(case)


@pytest.mark.parametrize("case", BOUNDS["bounds_matrix"], ids=lambda case: case["id"])
def test_every_combination_of_open_and_closed_bounds(case: dict[str, Any]) -> None:
    w = session(
        {
            name: {"ts": pa.array(case["left_ts" if name == "l" else "right_ts"], pa.int64())}
            for name in ("l", "r")
        },
        time="ts",
    )
    condition = bound(
        "r.ts/l.ts",
        case["lower"],
        case["upper"],
        low_in=case["lower_inclusive"],
        high_in=case["upper_inclusive"],
    )
    found = w.sql(f"SELECT l.ts AS l, r.ts AS r FROM l, r WHERE {condition}")
    assert bag(found) == bag(case["expected_pairs_left_right"])


@pytest.mark.parametrize("case", SEQUENCES, ids=lambda case: case["id"])
def test_a_sequence_of_events_gives_the_pairs_of_flink(case: dict[str, Any]) -> None:
    session = windrow.Session()
    for name, side in (("l", "left"), ("r", "right")):
        events = [s for s in case["steps"] if s["op"] == "event" and s["stream"] == side]
        rows = {
            "ts": pa.array([event["ts"] for event in events], pa.int64()),
            "key": pa.array([event["key"] for event in events], pa.string()),
        }
        # The engine joins late rows as long as it still has their partners.
        session.stream(name, pa.table(rows), time="ts", lateness=1_000)
    condition = bound("l.ts/r.ts", case["lower"], case["upper"])
    found = session.sql(
        "SELECT l.ts AS lt, l.key AS lk, r.ts AS rt, r.key AS rk "
        f"FROM l {JOINS[case['join']]} r ON l.key = r.key AND {condition}"
    )
    nothing = {"ts": None, "key": None}
    expected = Counter(
        tuple((row[side] or nothing)[name] for side in ("left", "right") for name in ("ts", "key"))
        for row in case["expected_rows"]
    )
    assert bag(found) == expected


@pytest.mark.law
@pytest.mark.parametrize("case", BOUNDS["state_retention"], ids=lambda case: case["id"])
def test_a_row_is_held_after_a_watermark_no_longer_than_flink_holds_it(
    case: dict[str, Any],
) -> None:
    """A row goes no later than theirs; sooner where no partner can come any more."""
    low = case["lower"] + (not case["lower_inclusive"])
    high = case["upper"] - (not case["upper_inclusive"])
    graph = WindowGraph(("left", "right"), (Bound(0, 1, -low, high),))
    join = BewJoinOp(
        TimeJoin(
            inputs=tuple(
                ScanStream(name, name, ("ts",), TIMES, "ts", "bigint", 0) for name in graph.streams
            ),
            aliases=graph.streams,
            classes=(),
            graph=graph,
            keep=(("ts",), ()),
            method="hash",
            schema=TIMES,
        )
    )
    watermarks = {}
    for step in case["steps"]:
        port = graph.streams.index(step["stream"])
        if step["op"] == "event":
            rows = pa.RecordBatch.from_pydict({"ts": [step["ts"]]})
            batches: list[ChangeBatch | None] = [None, None]
            batches[port] = ChangeBatch(rows, np.array([step["ts"]]))
            list(join.push(batches))
        elif step["op"] == "watermark":
            # Theirs says that nothing up to it follows; ours is the least time that may.
            watermarks[port] = step["ts"] + 1
            if len(watermarks) == 2:
                list(join.advance(min(watermarks.values())))
        else:
            slices = join.snapshot().buffers[str(port)]
            held = sorted(int(t) for part in slices for t in part.rows().times)
            reach = high if port == 0 else -low
            assert held == [t for t in step["ts"] if t + reach >= min(watermarks.values())]
            assert reach < 0 or held == step["ts"]
