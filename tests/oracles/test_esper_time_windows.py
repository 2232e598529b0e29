"""Esper's time windows, every change and every second: net per tick they are our changelogs.

An event is there for 5.5 s, the end not included: a window of one tick less, in milliseconds. What
Esper shows and we do not is left out on its side: a sum over nothing, before the first event and
where a group has gone. Rows per event with a sum beside them (no relation, when given change by
change) are compared where Esper shows the whole answer: there they are a join with the sums.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from known_answers import known_answers
from sessions import session

import windrow

KNOWN = known_answers("esper_time_window_outputs/cases.json")
MARKET = "market [RANGE 5499]"
SUMS = f"(SELECT SUM(price) AS s FROM {MARKET})"
SUMS_BY_SYMBOL = f"(SELECT symbol, SUM(price) AS s FROM {MARKET} GROUP BY symbol)"
CHANGES = {
    "RowForAll": "SELECT SUM(m.price) AS s FROM {from_} {having}",
    "RowPerGroup": "SELECT m.symbol, SUM(m.price) AS s FROM {from_} GROUP BY m.symbol {having}",
    "RowPerGroupRollup": "(SELECT m.symbol, SUM(m.price) AS s FROM {from_} GROUP BY m.symbol)"
    " UNION ALL (SELECT CAST(NULL AS STRING), SUM(m.price) FROM {from_})",
    "Simple": "SELECT m.symbol, m.volume, m.price FROM {from_} {where} EMIT CHANGES",
}
SNAPSHOTS = {
    **CHANGES,
    "RowPerEvent": f"SELECT m.symbol, t.s FROM {MARKET} m, {SUMS} t",
    "AggregateGrouped": f"SELECT m.symbol, m.volume, t.s FROM {MARKET} m JOIN {SUMS_BY_SYMBOL} t"
    " ON m.symbol = t.symbol",
}


def cases(rate: str, queries: dict[str, str]) -> list[Any]:
    return [
        pytest.param(case, id=case["id"])
        for case in KNOWN["cases"]
        if case["rate"] == rate and case["query"]["category"] in queries
    ]


def market_and_reference() -> windrow.Session:
    events = pa.Table.from_pylist(KNOWN["input"]["events"])
    return session(
        {"market": events},
        time="time_ms",
        tables={"ref": {"key": KNOWN["input"]["reference_rows"]}},
    )


def sql_of(case: dict[str, Any], queries: dict[str, str]) -> str:
    query = case["query"]
    joined = f"{MARKET} m, ref" if query["join"] else f"{MARKET} m"
    conditions = ["m.symbol = ref.key"] if query["join"] else []
    having = query["having"] or ""
    if query["category"] == "Simple" and having:
        conditions.append(f"m.{having}")
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    if query["category"] == "Simple":
        return queries["Simple"].format(from_=joined, where=where)
    having = having and f"HAVING {having.replace('sum(price)', 'SUM(m.price)')}"
    return queries[query["category"]].format(from_=f"{joined} {where}", having=having)


def without_empty_sums(rows: list[list[Any]] | None) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows or () if row[-1] is not None]


@pytest.mark.parametrize("case", cases("none", CHANGES))
def test_every_change_is_the_one_that_esper_tells(case: dict[str, Any]) -> None:
    last = KNOWN["input"]["clock_ticks_ms"][-1]
    expected: dict[int, Counter[tuple[Any, ...]]] = {}
    for step in case["expected"]:
        net = expected.setdefault(step["time_ms"], Counter())
        net.update(without_empty_sums(step["insert"]))
        net.subtract(without_empty_sums(step["remove"]))
    found: dict[int, Counter[tuple[Any, ...]]] = {}
    for *row, kind, time in map(
        dict.values, market_and_reference().sql(sql_of(case, CHANGES)).to_arrow().to_pylist()
    ):
        if time <= last:
            found.setdefault(time, Counter())[tuple(row)] += 1 if kind == "insert" else -1
    assert found == {time: left for time, net in expected.items() if (left := _left(net))}
    assert found


@pytest.mark.parametrize("case", cases("snapshot", SNAPSHOTS))
def test_the_whole_answer_of_every_second_is_that_of_esper(case: dict[str, Any]) -> None:
    asked = market_and_reference()
    changes = asked.sql(sql_of(case, SNAPSHOTS)).to_arrow()
    for step in case["expected"]:
        state = asked.state_at(changes, step["time_ms"])
        rows = [tuple(row.values()) for row in state.to_pylist()]
        assert Counter(rows) == Counter(without_empty_sums(step["insert"])), step["time_ms"]


def _left(net: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter({row: count for row, count in net.items() if count})
