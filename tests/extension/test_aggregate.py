"""An aggregate of another package, in one file: in process and on Spark."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from sessions import session

import windrow
from windrow.plan.aggregates import AGGREGATES

HERE = Path(__file__).parent
WINDOW = 6
SQL = f"SELECT g, WEIGHTED_MEAN(x, w) AS m, COUNT(*) AS n FROM s [RANGE {WINDOW}] GROUP BY g"


@pytest.fixture(scope="module", autouse=True)
def package():
    """The other package, imported: what it adds is gone after these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)  # as if it were installed
        yield import_module("weighted_mean")
    for name in ("weighted_mean", "wavg"):
        AGGREGATES.remove(name)


def rows(seed: int = 1, count: int = 60) -> pa.Table:
    random = Random(seed)
    drawn = [
        {
            "t": random.randrange(20),
            "g": random.choice("ab"),
            "x": random.choice([None, 0.1, 1e16, -1e16, 3.5]),
            "w": random.choice([None, 0, 1, 2, 3]),
        }
        for _ in range(count)
    ]
    return pa.Table.from_pylist(sorted(drawn, key=lambda row: row["t"]))


def mean_of(pairs: list[tuple[float, int]]) -> float | None:
    weights = sum(weight for _, weight in pairs)
    total = sum(Fraction(value) * weight for value, weight in pairs)
    return float(total / weights) if weights else None


def expected_at(table: pa.Table, instant: int) -> Counter:
    groups: dict[str, list] = {}
    for row in table.to_pylist():
        if row["t"] <= instant <= row["t"] + WINDOW:
            groups.setdefault(row["g"], []).append(row)
    answer: Counter = Counter()
    for group, own in groups.items():
        pairs = [(r["x"], r["w"]) for r in own if r["x"] is not None and r["w"] is not None]
        answer[(group, mean_of(pairs), len(own))] += 1
    return answer


def standing_at(changes: list[dict], instant: int) -> dict:
    standing: Counter = Counter()
    for row in changes:
        if row["_event_time"] <= instant:
            sign = 1 if row["_change_type"] == "insert" else -1
            standing[(row["g"], row["m"], row["n"])] += sign
    return {row: n for row, n in standing.items() if n}


@pytest.mark.law
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_added_aggregate_is_right_at_every_instant_however_rows_are_cut(seed):
    table = rows(seed)
    parts = [table.slice(start, 7) for start in range(0, table.num_rows, 7)]
    for data in (table, parts):
        w = session({"s": data}, time="t")
        changes = w.sql(SQL).to_arrow().to_pylist()
        for instant in range(28):
            assert standing_at(changes, instant) == expected_at(table, instant)


@pytest.mark.law
def test_an_added_aggregate_goes_on_after_a_restart():
    table = rows(4)
    parts = [table.slice(start, 5) for start in range(0, table.num_rows, 5)]

    def asked(resume=None):
        w = session({"s": parts}, time="t")
        return w.sql(SQL, resume=resume)

    whole = asked().to_arrow().to_pylist()
    first = asked()
    head = next(first)
    rest = asked(resume=first.checkpoint()).to_arrow().to_pylist()
    assert head.to_pylist() + rest == whole


def test_an_added_aggregate_may_be_called_by_another_name_with_a_filter_in_having_and_beside_rows():
    table = rows(5)
    w = session({"s": table}, time="t")
    sql = f"SELECT g FROM s [RANGE {WINDOW}] GROUP BY g HAVING wavg(x, w) FILTER (WHERE w > 1) > 0"
    assert w.sql(sql).to_arrow().num_rows
    w.stream("r", table, time="t")
    beside = (
        "SELECT s.g, WEIGHTED_MEAN(r.x, r.w) AS m FROM s WINDOW JOIN r ON s.g = r.g"
        " RANGE BETWEEN 3 PRECEDING AND CURRENT ROW"
    )
    means = w.sql(beside).to_arrow()["m"].to_pylist()
    assert len(means) == table.num_rows
    assert any(mean is not None and math.isfinite(mean) for mean in means)


def test_explain_says_what_it_keeps():
    w = session({"s": rows()}, time="t")
    text = w.explain(SQL)
    assert "weighted_mean(x, w): its values and weights" in text
    assert "the values and weights of the rows alive" in text


def test_what_an_added_aggregate_does_not_take_is_refused():
    w = session({"s": rows()}, time="t")
    for call, words in {
        "WEIGHTED_MEAN(x)": "it takes 2",
        "WEIGHTED_MEAN(x, g)": "WEIGHTED_MEAN of g is not defined: it is string",
        "WEIGHTED_MEAN(DISTINCT x, w)": r"WEIGHTED_MEAN\(DISTINCT ..\) is not supported",
    }.items():
        with pytest.raises(windrow.WindrowError, match=words):
            w.sql(f"SELECT {call} AS m FROM s [RANGE 5]")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:::pyspark")
def test_workers_on_spark_find_an_added_aggregate_by_its_import_path(spark, tmp_path):
    spark.sparkContext.addPyFile(str(HERE / "weighted_mean.py"))
    table = rows(6)
    frame = spark.createDataFrame(
        [tuple(row.values()) for row in table.to_pylist()], "t BIGINT, g STRING, x DOUBLE, w BIGINT"
    )
    w = session({"s": frame}, time="t", spark=spark)
    changes = w.sql(SQL).toArrow().to_pylist()
    for instant in range(28):
        assert standing_at(changes, instant) == expected_at(table, instant)
