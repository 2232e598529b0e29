"""Sliding aggregates: an OVER frame that ends with its row is our answer at that row's instant.

A RANGE frame is a window of time, one that is unbounded a window longer than the data. A ROWS frame
tells rows of one instant apart by their arrival: there the time of a row is its place in that order.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from known_answers import known_answers
from sessions import session

CASES = known_answers("flink_over_windows/cases.json")
LONG = 10**9
WINDOWS = {
    "RANGE between 1000 ms preceding": "RANGE 1000",
    "RANGE between unbounded preceding": f"RANGE {LONG}",
    "ROWS between 2 preceding": "ROWS 3",
    "ROWS between unbounded preceding": f"RANGE {LONG}",
}
AGGREGATES = {
    "count(a where a>4)": "COUNT(CASE WHEN a > 4 THEN a END)",
    "count(b where b>4)": "COUNT(*) FILTER (WHERE b > 4)",
    "count(*)": "COUNT(*)",
    "count(a)": "COUNT(a)",
    "count(b)": "COUNT(b)",
    "sum(a)": "SUM(a)",
    "sum(b)": "SUM(b)",
    "avg(b) (integer division)": "CAST(AVG(b) AS BIGINT)",
    "max(b)": "MAX(b)",
    "min(b)": "MIN(b)",
}


def own_window(query: dict[str, Any]) -> str:
    (window,) = [own for frame, own in WINDOWS.items() if query["frame"].startswith(frame)]
    if query["partition_by"] and window.startswith("ROWS"):
        return f"[PARTITION BY {query['partition_by']} {window}]"
    return f"[{window}]"


def events_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The events that are not late, each with its instant as `at`, as they arrive."""
    late = set(case["late_events_dropped_input_positions"])
    events = [
        dict(event)
        for position, event in enumerate(case["input"])
        if event["op"] == "event" and position not in late
    ]
    by_time = sorted(events, key=lambda event: event["t_ms"])
    for place, event in enumerate(by_time):
        event["at"] = place if case["query"]["frame"].startswith("ROWS") else event["t_ms"]
    return events


def answers_by_instant(rows: list[dict[str, Any]], key: str | None) -> Any:
    """A function that gives the one row of a group that is true at an instant."""

    def answer(group: Any, instant: int) -> tuple[Any, ...]:
        alive: Counter[tuple[Any, ...]] = Counter()
        for row in rows:
            if row["_event_time"] <= instant and (key is None or row[key] == group):
                values = tuple(v for name, v in row.items() if name.startswith("agg"))
                alive[values] += 1 if row["_change_type"] == "insert" else -1
        (only,) = [values for values, count in alive.items() if count]
        assert alive[only] == 1
        return only

    return answer


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_answer_at_each_rows_instant(case: dict[str, Any]) -> None:
    query, events = case["query"], events_of(case)
    columns = {name: [event[name] for event in events] for name in ("at", "a", "b", "c")}
    w = session({"s": pa.table(columns)}, time="at", lateness=100_000)
    key = query["partition_by"]
    shown = [name for name in query["output"] if name not in AGGREGATES]
    wanted = [AGGREGATES[name] for name in query["output"] if name in AGGREGATES]
    aggregates = ", ".join(f"{own} AS agg{i}" for i, own in enumerate(wanted))
    grouped = (f"{key}, ", f" GROUP BY {key}") if key else ("", "")
    changes = w.sql(
        f"SELECT {grouped[0]}{aggregates} FROM s {own_window(query)}{grouped[1]}"
    ).to_arrow()
    answer = answers_by_instant(changes.to_pylist(), key)
    found = Counter(
        (*(event[name] for name in shown), *answer(event[key] if key else None, event["at"]))
        for event in events
    )
    assert found == bag(case["expected_rows_any_order"])
