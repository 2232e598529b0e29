"""How many rows one core keeps up with: the plan that is taken costs one core at these rates."""

from __future__ import annotations

import pytest

from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.optimize.choose import one_core
from windrow.optimize.planner import optimize
from windrow.physical.algorithms import ALGORITHMS
from windrow.physical.estimates import as_cores
from windrow.physical.options import Options
from windrow.physical.query import PhysicalQuery
from windrow.plan.catalog import Hints, Promises, stream_info
from windrow.schema import Field, Schema
from windrow.sql.compile import compile_query

PRICED = one_core.priced

RATES = {"a": 2_000.0, "b": 500.0, "c": 3.0}
SHORT = "WINDOW = INTERVAL '10' SECONDS"

QUERIES = {
    "keyed": f"SELECT a.k FROM a, b WHERE a.k = b.k {SHORT}",
    "long window": "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = INTERVAL '1' HOURS",
    "no key": f"SELECT a.k FROM a, b WHERE a.x + b.x > 3 {SHORT}",
    "band": f"SELECT a.k FROM a, b WHERE abs(a.x - b.x) < 5 {SHORT}",
    "three": f"SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k {SHORT}",
    "either way": "SELECT a.k FROM a, b WHERE a.k = b.k"
    " DWINDOW (a, b) = INTERVAL '10' SECONDS EITHER WAY",
    "filtered": f"SELECT a.k FROM a, b WHERE a.k = b.k AND a.x > 7 {SHORT}",
    "left": f"SELECT a.k, b.x FROM a LEFT JOIN b ON a.k = b.k {SHORT}",
    "count": "SELECT a.k FROM a [ROWS 1000], b [ROWS 50] WHERE a.k = b.k",
    "stacked": f"SELECT j.k FROM (SELECT a.k, a.x FROM a, b WHERE a.k = b.k {SHORT}) AS j, c"
    f" WHERE j.k = c.k {SHORT}",
    "beside": f"SELECT a.k FROM a, b WHERE a.k = b.k {SHORT}"
    f" UNION ALL SELECT c.k FROM c, b WHERE c.k = b.k {SHORT}",
}


def planned(
    sql: str, times: float = 1.0, time: str = "ts", options: Options | None = None
) -> PhysicalQuery:
    columns = ("k int", "x int", "ts timestamp", "day date", "n bigint")
    schema = Schema(tuple(Field(*column.split(" ")) for column in columns))
    streams = [
        stream_info(name, schema, time, Promises(0), hints=Hints(times * rate, {"k": 100, "x": 50}))
        for name, rate in RATES.items()
    ]
    catalog = {stream.name: stream for stream in streams}
    logical = compile_query(sql, catalog, DuckdbTypes())
    return optimize(logical, options or Options())


def cores_of(query: PhysicalQuery, plans: list[str]) -> float:
    """What the joins of a query cost by the plans of these names, from the answer down."""
    estimates = [node.estimate for node in query.root.walk() if node.is_priced]
    seconds = 0.0
    for estimate, name in zip(estimates, plans, strict=True):
        assert estimate is not None
        seconds += next(plan.seconds for plan in estimate.plans if plan.name == name)
    cores = as_cores(seconds, query.time_type)
    assert cores is not None
    return cores


def plans_of(query: PhysicalQuery) -> list[str]:
    return [n.estimate.plans[0].name for n in query.root.walk() if n.is_priced and n.estimate]


@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("times", [0.001, 1.0, 1_000.0])
def test_a_plan_costs_one_core_at_the_rates_that_it_keeps_up_with(sql, times):
    query = planned(sql, times)
    assert query.times_as_fast is not None
    again = planned(sql, times * query.times_as_fast)
    assert cores_of(again, plans_of(query)) == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        *(("keyed", name) for name in sorted(ALGORITHMS)),
        *(("three", name) for name, own in sorted(ALGORITHMS.items()) if own.most_streams is None),
    ],
)
def test_a_plan_that_was_asked_for_is_priced_as_it_is(name, algorithm):
    asked = Options(algorithm=algorithm)
    query = planned(QUERIES[name], options=asked)
    assert query.times_as_fast is not None
    again = planned(QUERIES[name], query.times_as_fast, options=asked)
    assert cores_of(again, plans_of(query)) == pytest.approx(1.0, rel=0.1)


def test_the_rows_that_a_core_keeps_up_with_do_not_contradict_its_cost():
    """At 2,000 per second it takes cores; at the rate that one core keeps up with, it takes one."""
    sql = QUERIES["long window"]
    query = planned(sql, 10.0)
    assert cores_of(query, plans_of(query)) > 100
    # The cost grows by the square of the rates: by far more is kept up with than the quotient says.
    assert query.times_as_fast == pytest.approx(cores_of(query, plans_of(query)) ** -0.5, rel=0.2)


def test_dates_are_clocks_and_plain_numbers_are_not():
    sql = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = {}"
    assert planned(sql.format("INTERVAL '3' DAYS"), time="day").times_as_fast is not None
    assert planned(sql.format("10"), time="n").times_as_fast is None


def test_nothing_is_said_where_a_join_sheds_or_keeps_what_is_alive():
    options = Options(memory="5000 tuples", on_memory="shed")
    assert planned(QUERIES["keyed"], options=options).times_as_fast is None
    alive = f"SELECT a.k, COUNT(*) AS n FROM a, b WHERE a.k = b.k {SHORT} GROUP BY a.k"
    joined = f"SELECT g.k FROM ({alive}) AS g, c [RANGE INTERVAL '5' SECONDS] WHERE g.k = c.k"
    assert planned(joined).times_as_fast is None


@pytest.mark.parametrize("times", [1e-6, 1.0, 1e6])
def test_a_plan_is_priced_a_few_times(times, monkeypatch):
    speeds = []

    def counted(node, numbers, machine):
        speeds.append(numbers.speed)
        return PRICED(node, numbers, machine)

    monkeypatch.setattr(one_core, "priced", counted)
    planned(QUERIES["stacked"], times)
    assert 2 <= len(set(speeds)) <= 8
