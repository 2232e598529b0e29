"""Flink's tests of inner joins of two to four inputs, with a window longer than the data.

The cases have no time: a tuple's place in the sequence is its time. Deletes and updates are no
part of a window join's input, so that a case is followed up to its first one.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from known_answers import known_answers

import windrow
from windrow.optimize.options import ALGORITHMS

CASES = {case["id"]: case for case in known_answers("flink_multiway_join/cases.json")}

Row = tuple[Any, ...]


def steps(case: dict[str, Any]) -> list[tuple[list[tuple[str, Row]], Counter[Row]]]:
    """The rows inserted before each expectation, and the results that Flink expects of them."""
    found: list[tuple[list[tuple[str, Row]], Counter[Row]]] = []
    inserted: list[tuple[str, Row]] = []
    for op in case["ops"]:
        if op["op"] == "insert":
            inserted.append((op["stream"], tuple(op["row"])))
        elif op["op"] in {"expect", "expect_nothing"}:
            rows = [tuple(change["row"]) for change in op.get("changes", [])]
            found.append((inserted, Counter(rows)))
            inserted = []
        else:
            break
    return found


def joined(case: dict[str, Any], rows: list[tuple[str, Row]], algorithm: str) -> Counter[Row]:
    """The answer over rows that arrived in this order."""
    names = case["inputs"]
    session = windrow.Session()
    for name in names:
        own = [(at, *row) for at, (stream, row) in enumerate(rows) if stream == name]
        width = next(len(row) for stream, row in all_rows(case) if stream == name)
        columns = list(zip(*own, strict=True)) if own else [()] * (width + 1)
        fields = [("at", pa.int64()), *((f"c{i}", pa.string()) for i in range(width))]
        arrays = [pa.array(c, f[1]) for c, f in zip(columns, fields, strict=True)]
        session.stream(name, pa.table(arrays, schema=pa.schema(fields)), time="at")
    shown = [
        f"{name}.c{i} AS {name}_{i}"
        for name in names
        for i in range(next(len(row) for stream, row in all_rows(case) if stream == name))
    ]
    keys = " AND ".join(f"{a}.c0 = {b}.c0" for a, b in pairwise(names))
    sql = f"SELECT {', '.join(shown)} FROM {', '.join(names)} WHERE {keys} WINDOW = 1000"
    answer = session.sql(sql, algorithm=algorithm).to_arrow()
    return Counter(zip(*(column.to_pylist() for column in answer.columns), strict=True))


def all_rows(case: dict[str, Any]) -> list[tuple[str, Row]]:
    return [(op["stream"], tuple(op["row"])) for op in case["ops"] if "row" in op]


# One test per case: files with many tests begin first, and by the time that this one does, all
# algorithms are compiled.
@pytest.mark.parametrize("name", CASES)
def test_every_insert_completes_what_flink_expects_by_every_algorithm(name: str) -> None:
    for algorithm in ALGORITHMS:
        if algorithm != "asymmetric":
            follow(CASES[name], algorithm)


def follow(case: dict[str, Any], algorithm: str) -> None:
    arrived: list[tuple[str, Row]] = []
    before: Counter[Row] = Counter()
    for inserted, expected in steps(case):
        arrived += inserted
        now = joined(case, arrived, algorithm)
        assert now - before == expected, algorithm
        assert not before - now, algorithm
        before = now


def test_most_of_the_cases_are_followed() -> None:
    assert sum(len(steps(case)) for case in CASES.values()) >= 15
