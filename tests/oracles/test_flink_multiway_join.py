"""Flink's tests of inner joins of two to four inputs, with a window longer than the data.

The cases have no time: a tuple's place in the sequence is its time. Deletes and updates are no
part of a plain window join's input, so that a case is followed by every algorithm up to its first
one. To the end it is followed over streams of changes, deletes being their negative tuples.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from known_answers import known_answers
from sessions import session

import windrow
from windrow.physical.algorithms import choices

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
    w = session(
        {
            name: table(
                [(at, *row) for at, (stream, row) in enumerate(rows) if stream == name],
                [("at", pa.int64()), *fields(case, name)],
            )
            for name in names
        },
        time="at",
    )
    sql = f"{select(case)} FROM {', '.join(names)} WHERE {keys(case)} WINDOW = 1000"
    answer = w.sql(sql, algorithm=algorithm).to_arrow()
    return bag(answer)


def fields(case: dict[str, Any], name: str) -> list[tuple[str, pa.DataType]]:
    width = next(len(row) for stream, row in all_rows(case) if stream == name)
    return [(f"c{i}", pa.string()) for i in range(width)]


def table(rows: list[Row], columns: list[tuple[str, pa.DataType]]) -> pa.Table:
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    arrays = [pa.array(v, kind) for v, (_, kind) in zip(values, columns, strict=True)]
    return pa.table(arrays, schema=pa.schema(columns))


def select(case: dict[str, Any]) -> str:
    shown = [f"{n}.{c} AS {n}_{c}" for n in case["inputs"] for c, _ in fields(case, n)]
    return f"SELECT {', '.join(shown)}"


def keys(case: dict[str, Any]) -> str:
    return " AND ".join(f"{a}.c0 = {b}.c0" for a, b in pairwise(case["inputs"]))


def all_rows(case: dict[str, Any]) -> list[tuple[str, Row]]:
    return [(op["stream"], tuple(op["row"])) for op in case["ops"] if "row" in op]


# One test per case: files with many tests begin first, and by the time that this one does, all
# algorithms are compiled.
@pytest.mark.law
@pytest.mark.parametrize("name", CASES)
def test_every_insert_completes_what_flink_expects_by_every_algorithm(name: str) -> None:
    for algorithm in choices():
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


def changes_of(case: dict[str, Any]) -> dict[str, list[Row]]:
    """The changes of each input: time, kind, columns. An upsert deletes the row with its key."""
    found: dict[str, list[Row]] = {name: [] for name in case["inputs"]}
    current: dict[tuple[str, str], Row] = {}
    for at, op in enumerate(case["ops"]):
        if "row" not in op:
            continue
        row, name = tuple(op["row"]), op["stream"]
        key = (name, row[case["unique_key_column"].get(name, 0)])
        if op["op"] == "upsert" and key in current:
            found[name].append((at, "update_preimage", *current[key]))
        kind = "update_postimage" if op["op"] == "upsert" else op["op"]
        found[name].append((at, kind, *row))
        if kind == "delete":
            current.pop(key, None)
        else:
            current[key] = row
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_change_gives_and_takes_back_what_flink_expects(name: str) -> None:
    case = CASES[name]
    session, changes = windrow.Session(), changes_of(case)
    for stream, rows in changes.items():
        columns = [("at", pa.int64()), ("op", pa.string()), *fields(case, stream)]
        session.stream(stream, table(rows, columns), time="at", changes="op")
    windowed = ", ".join(f"{stream} [RANGE 1000]" for stream in case["inputs"])
    sql = f"{select(case)} FROM {windowed} WHERE {keys(case)} EMIT CHANGES"
    answer = session.sql(sql).to_arrow().to_pylist()
    updates = {row[0] for rows in changes.values() for row in rows if row[1] == "update_preimage"}
    start = 0
    for stop, op in enumerate(case["ops"]):
        if "row" in op:
            continue
        found = Counter(
            ("+" if kind == "insert" else "-", *row)
            for *row, kind, at in (tuple(each.values()) for each in answer)
            # Of what an update replaces Flink's operator says nothing: its new version stands for it.
            if start <= at < stop and (kind == "insert" or at not in updates)
        )
        assert found == Counter((c["kind"], *c["row"]) for c in op.get("changes", []))
        start = stop
    taken_back = Counter(
        tuple(row.values())[:-2] for row in answer if row["_change_type"] == "delete"
    )
    came = Counter(tuple(row.values())[:-2] for row in answer if row["_change_type"] == "insert")
    assert came == taken_back  # all that is left leaves its window


def test_most_of_the_cases_are_followed() -> None:
    assert sum(len(steps(case)) for case in CASES.values()) >= 15
    kinds = Counter(op["op"] for case in CASES.values() for op in case["ops"])
    assert min(kinds["delete"], kinds["upsert"]) >= 3
