"""Skylines of small tables, as other systems' tests have them: bestmatch joins with one left tuple.

A skyline of points is what is best for a single tuple: `min` is an order by the point's own number,
`max` by the number negated, `|x - c|` the distance to the tuple's c, and a group is an equality.
"""

from __future__ import annotations

import csv
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from known_answers import FOLDER, known_answers

import windrow

CASES = known_answers("skyline_static/cases.json")
OF_CARS = [case for case in CASES if "data" in case]
OF_ROWS = [case for case in CASES if "rows" in case and not case["distinct"]]
"""Of the cases that keep one of several equal points (`distinct`), the masks say which: we keep all."""

EXPRESSIONS = {
    "|mpg-20|": "abs(mpg - 20)",
    "distance of hp to [115,122]": "greatest(115 - hp, hp - 122, 0)",
    "vs == 1": "vs",
}


def skyline(points: pa.Table, orders: list[str], groups: list[str]) -> list[int]:
    """The numbers of the points that none of their group dominates; less is better in each order."""
    session = windrow.Session()
    session.function("own", lambda _, value: pc.cast(value, pa.float64()), returns="double")
    names = points.column_names
    moment = pa.array([0] * len(points))
    table = points.append_column("t", moment).append_column("number", pa.array(range(len(points))))
    session.stream("points", table, time="t")
    some = table.group_by(groups).aggregate([]) if groups else pa.table({"one": [1]})
    session.stream("origin", some.append_column("t", pa.array([0] * len(some))), time="t")
    assert set(groups) <= set(names)
    query = (
        "SELECT p.number FROM origin o LEFT OUTER BESTMATCH JOIN points p ON "
        + ", ".join(f"o.t own {order}" for order in orders)
        + " WHERE abs(o.t - p.t) <= 0"
        + "".join(f" AND o.{name} = p.{name}" for name in groups)
    )
    return sorted(session.sql(query).to_arrow()["number"].to_pylist())


def cars() -> pa.Table:
    with (FOLDER / "skyline_static" / "mtcars.csv").open() as file:
        rows = list(csv.DictReader(file))
    numbers = ("mpg", "cyl", "hp", "vs", "am")
    return pa.table({name: [float(row[name]) for row in rows] for name in numbers})


def order_of(name: str, sense: str) -> str:
    text = EXPRESSIONS.get(name, name)
    for column in ("mpg", "hp", "vs", "am"):
        text = text.replace(column, f"p.{column}")
    return text if sense == "min" else f"0 - ({text})"


@pytest.mark.parametrize("case", OF_CARS, ids=lambda case: case["id"])
def test_the_best_cars_are_those_that_others_find(case: dict[str, Any]) -> None:
    table = cars()
    groups = [case["group_by"]] if case["group_by"] else []
    found = skyline(table, [order_of(*dimension) for dimension in case["dimensions"]], groups)
    what, expected = case["expected_what"], case["expected"]
    if "row positions" in what:
        assert [number + 1 for number in found] == expected
    elif "number of skyline rows" in what:
        counts: dict[str, int] = {}
        for number in found:
            group = f"{table['cyl'][number].as_py():g}"
            counts[group] = counts.get(group, 0) + 1
        assert counts == expected
    else:
        column = "hp" if what.startswith("hp") else "mpg"
        assert sorted(table[column][number].as_py() for number in found) == sorted(expected)


@pytest.mark.parametrize("case", OF_ROWS, ids=lambda case: case["id"])
def test_equal_points_stay_and_groups_are_judged_apart(case: dict[str, Any]) -> None:
    columns = list(zip(*case["rows"], strict=True))
    table = pa.table({f"c{number}": list(column) for number, column in enumerate(columns)})
    senses = dict(enumerate(case["senses"]))
    orders = [
        f"p.c{number}" if sense == "min" else f"0 - p.c{number}"
        for number, sense in senses.items()
        if sense != "diff"
    ]
    groups = [f"c{number}" for number, sense in senses.items() if sense == "diff"]
    expected = [number for number, kept in enumerate(case["expected_mask"]) if kept]
    assert skyline(table, orders, groups) == expected
