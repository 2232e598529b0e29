"""EXCEPT and INTERSECT, with ALL and without: what other systems' tests say of small cases."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
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


@pytest.mark.parametrize("case", STEP_BY_STEP, ids=lambda case: case["id"])
def test_the_answer_after_each_step_that_inserts(case: dict[str, Any]) -> None:
    sides: list[list[tuple[Any, ...]]] = [[], []]
    checked = 0
    for instant, step in enumerate(case["steps"]):
        if "delete_left_where" in step:
            break  # rows of a stream leave by their windows
        for side, key in zip(sides, ("insert_left", "insert_right"), strict=True):
            side += [(*row, instant) for row in tuples(step.get(key, []))]
        if any(sides):
            operator = case["operator"].split(" ")[0]
            assert answer_at(operator, sides, instant) == Counter(tuples(step["expect"]))
            checked += 1
    assert checked
