"""Sliding aggregates: an OVER frame of RANGE w PRECEDING is our answer at each row's instant."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from known_answers import known_answers

import windrow

FRAME = "RANGE between 1000 ms preceding"
CASES = [
    case
    for case in known_answers("flink_over_windows/cases.json")
    if case["query"]["frame"].startswith(FRAME)
]
AGGREGATES = {
    "count(a where a>4)": "COUNT(CASE WHEN a > 4 THEN a END)",
    "count(a)": "COUNT(a)",
    "sum(a)": "SUM(a)",
}


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
    events = [event for event in case["input"] if event["op"] == "event"]
    assert not case["late_events_dropped_input_positions"]
    columns = {name: [event[name] for event in events] for name in ("t_ms", "a", "b", "c")}
    session = windrow.Session()
    session.stream("s", pa.table(columns), time="t_ms", lateness=100_000)
    key = case["query"]["partition_by"]
    wanted = [name for name in case["query"]["output"] if name in AGGREGATES]
    aggregates = ", ".join(f"{AGGREGATES[name]} AS agg{i}" for i, name in enumerate(wanted))
    grouped = (f"{key}, ", f" GROUP BY {key}") if key else ("", "")
    changes = session.sql(
        f"SELECT {grouped[0]}{aggregates} FROM s [RANGE 1000]{grouped[1]}"
    ).to_arrow()
    answer = answers_by_instant(changes.to_pylist(), key)
    found = Counter(
        (event["c"], event["b"], *answer(event[key] if key else None, event["t_ms"]))
        for event in events
    )
    assert found == Counter(map(tuple, case["expected_rows_any_order"]))
