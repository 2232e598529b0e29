"""EXCEPT and INTERSECT, with ALL and without: what other systems' tests say of small cases."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from known_answers import known_answers

import windrow

CASES = known_answers("set_minus/cases.json")
AT_ONCE = [case for case in CASES if "steps" not in case]
STEP_BY_STEP = [case for case in CASES if "steps" in case]


def tuples(values: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(value) if isinstance(value, list) else (value,) for value in values]


def answer_at(operator: str, sides: list[list[tuple[Any, ...]]], instant: int) -> Counter[Any]:
    """The answer at an instant over rows whose last value is their time, alive for ever."""
    session = windrow.Session()
    width = max(len(row) for side in sides for row in side) - 1
    names = [f"c{i}" for i in range(width)]
    for name, rows in zip("lr", sides, strict=True):
        columns = list(zip(*rows, strict=True)) or [()] * (width + 1)
        kinds = [pa.string() if any(isinstance(v, str) for v in c) else pa.int64() for c in columns]
        arrays = [pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]
        session.stream(name, pa.table(arrays, names=[*names, "t"]), time="t")
    select = f"SELECT {', '.join(names)} FROM"
    sql = f"{select} l [RANGE 1000] {operator.replace('_', ' ').upper()} {select} r [RANGE 1000]"
    rows = session.state_at(session.sql(sql).to_arrow(), instant)
    columns = [rows[name].to_pylist() for name in names]
    return Counter(zip(*columns, strict=True))


@pytest.mark.parametrize("case", AT_ONCE, ids=lambda case: case["id"])
def test_the_answer_over_rows_that_are_all_there(case: dict[str, Any]) -> None:
    sides = [[(*row, 0) for row in tuples(case[side])] for side in ("left", "right")]
    expected = Counter(tuples(case["expected_rows_any_order"]))
    assert answer_at(case["operator"], sides, 0) == expected


def changes_of(case: dict[str, Any]) -> list[list[tuple[Any, ...]]]:
    """Of each side, the rows that come and go: (c0, .., t, op), t the number of the step."""
    found: list[list[tuple[Any, ...]]] = [[], []]
    for instant, step in enumerate(case["steps"]):
        for changes, key in zip(found, ("insert_left", "insert_right"), strict=True):
            changes += [(*row, instant, "insert") for row in tuples(step.get(key, []))]
        if "delete_left_where" in step:
            column, value = step["delete_left_where"].split(" = ")
            of_column = int(column.removeprefix("v")) - 1
            gone = [row for row in found[0] if row[of_column] == int(value)]
            found[0] += [(*row[:-2], instant, "delete") for row in gone]
    return found


@pytest.mark.parametrize("case", STEP_BY_STEP, ids=lambda case: case["id"])
def test_the_answer_after_each_step_that_inserts_or_deletes(case: dict[str, Any]) -> None:
    session = windrow.Session()
    for name, rows in zip("lr", changes_of(case), strict=True):
        columns = list(zip(*rows, strict=True))
        names = [*(f"c{i}" for i in range(len(columns) - 2)), "t", "op"]
        session.stream(name, pa.table(list(map(pa.array, columns)), names), time="t", changes="op")
    operator = case["operator"].split(" ")[0].upper()
    shown = ", ".join(names[:-2])
    changes = session.sql(f"SELECT {shown} FROM l {operator} SELECT {shown} FROM r").to_arrow()
    for instant, step in enumerate(case["steps"]):
        rows = session.state_at(changes, instant).to_pylist()
        assert bag(rows) == Counter(tuples(step["expect"]))
    assert any("delete_left_where" in step for step in case["steps"])
