"""The planner's numbers, costs and choices."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sessions import session

from windrow import Session
from windrow.errors import BindError, PlanError
from windrow.optimize.cost.joins import (
    Joined,
    Key,
    PricedCondition,
    best_orders,
    best_pipeline,
    matchless,
    output,
    pipeline,
)
from windrow.optimize.cost.structures import KERNELS, KernelCost

KEYED = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 50"
THREE = "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 50"
BAND = "SELECT a.x FROM a, b WHERE abs(a.x - b.x) < 1 WINDOW = 20000"


def drawn_streams(rows=4_000, span=100_000, values=1_000, **hints: Any):
    rng = np.random.default_rng(5)
    return session(
        {
            name: {
                "k": rng.integers(0, 40, rows),
                "x": rng.integers(0, values, rows),
                "at": np.sort(rng.integers(0, span, rows)),
            }
            for name in "abc"
        },
        time="at",
        **hints,
    )


def streaming(**hints: Any):
    """Streams of which nothing but their hints is known."""
    columns = pa.schema([("k", pa.int64()), ("x", pa.int64()), ("at", pa.timestamp("us"))])
    return session({name: iter(()) for name in "abc"}, time="at", schema=columns, **hints)


def clique(rates, window, keys=None, tests=()):
    size = len(rates)
    upper = tuple(tuple(0 if a == b else window for b in range(size)) for a in range(size))
    equal = () if keys is None else (Key(tuple(map(float, keys))),)
    return Joined(tuple(map(float, rates)), upper, equal, tuple(tests))


def test_the_output_of_two_streams_is_equation_12():
    joined = clique((8, 2), 10, (100, 50))
    assert output(joined) == pytest.approx((8 * 20 + 2 * 80) / 100)


def test_the_output_of_three_streams_counts_each_combination_once():
    joined = clique((3, 4, 5), 10, (20, 20, 20))
    assert output(joined) == pytest.approx(3 * 3 * 4 * 5 * 10**2 / 20**2)


def test_a_condition_lets_its_share_through():
    joined = clique((1, 1), 10, None, [PricedCondition(frozenset({0, 1}), 0.25)])
    assert output(joined) == pytest.approx(20 * 0.25)


def test_new_tuples_meet_first_the_stream_that_leaves_fewest_combinations():
    assert best_orders(clique((1, 100, 1), 50, (10, 10, 10)))[0] == (2, 1)


def test_numbers_of_a_table_are_counted_and_say_so():
    text = drawn_streams().explain(KEYED)
    assert "rate(a) = 0.04 per tick (all 4,000 rows)" in text
    assert "keys(a.k) = 40 (all 4,000 rows)" in text


def test_a_large_table_is_sampled():
    rng = np.random.default_rng(1)
    w = session(
        {name: {"k": rng.integers(0, 70, 150_000), "at": np.arange(150_000)} for name in "ab"},
        time="at",
    )
    assert "keys(a.k) = 70 (sample of 100,000 rows)" in w.explain(KEYED)


def test_hints_go_before_what_the_data_says():
    text = drawn_streams(rate=2, distinct={"k": 7}).explain(KEYED)
    assert "rate(a) = 2 per tick (hint)" in text
    assert "keys(b.k) = 7 (hint)" in text


def test_without_numbers_explain_says_what_to_give():
    text = streaming().explain(KEYED.replace("50", "INTERVAL '5' SECONDS"))
    assert "cost        not estimated: give rate= of a, rate= of b" in text


@pytest.mark.parametrize("rate", ["1000 per second", "1_000/s", 1000, "60,000 per minute", 1e3])
def test_a_rate_is_read_in_any_unit(rate):
    text = streaming(rate=rate).explain(KEYED.replace("50", "INTERVAL '5' SECONDS"))
    assert "rate(a) = 1,000 per second (hint)" in text
    assert "keys(a.k) = 1,000 (assumed)" in text


NO_NUMBERS = [0, -1, 1e308, pytest.param(10**400, id="huge"), float("nan"), float("inf")]


@pytest.mark.parametrize(
    "rate",
    ["many", "5 per week and day", "3 per fortnight", "1e400 per second", 1e-300, *NO_NUMBERS],
)
def test_what_is_no_rate_is_refused(rate):
    with pytest.raises(BindError, match=r"bad-rate.*of the stream a cannot be used"):
        streaming(rate=rate)


@pytest.mark.parametrize("order", ["a, b", "b, a"])
def test_two_streams_have_one_order_that_no_name_mentions(order):
    text = drawn_streams().explain(KEYED, order=order)
    assert "bew-hash: " in text
    assert ", order" not in text
    assert f", order {order}" in drawn_streams().explain(KEYED, order=order, algorithm="hw")


def test_the_greatest_rate_has_a_cost():
    text = streaming(rate=1e21).explain(KEYED.replace("50", "INTERVAL '100000' DAYS"))
    assert "rate(a) = over 1,000,000,000,000 per second" in text
    assert "over 1,000 cores" in text
    assert "inf" not in text


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_what_is_no_number_of_values_is_refused(number):
    with pytest.raises(BindError, match=r"bad-distinct.*different values of a\.k"):
        streaming(distinct={"k": number})


def test_a_rate_needs_a_time_that_knows_its_unit():
    with pytest.raises(BindError, match="bigint, which has no second"):
        drawn_streams(rate="5 per second")


def test_distinct_names_columns_and_counts_them():
    with pytest.raises(BindError, match="has no column 'z' whose values could be counted"):
        streaming(distinct={"z": 5})
    with pytest.raises(BindError, match=r"is not a number of different values of a\.k"):
        streaming(distinct={"k": 0})


def test_every_plan_that_is_rejected_has_its_cost():
    text = drawn_streams().explain(KEYED)
    rejected = text.split("rejected", 1)[1]
    for name in ("few-hash", "hw", "hash/hash"):
        assert re.search(rf"{name}: [\d.,]+ (s|ms|us|ns)", rejected), name


@pytest.fixture
def cheap_sweeps(monkeypatch):
    """Has forward evaluation cost next to nothing."""
    for name in ("few-hash", "few-nested-loop"):
        cost = KernelCost(1e-6, lookup=0, touched=0, result=0)
        monkeypatch.setitem(KERNELS, name, cost)


@pytest.mark.slow  # it compiles few
@pytest.mark.usefixtures("cheap_sweeps")
def test_where_all_rows_are_there_few_is_taken_if_it_costs_least():
    w = drawn_streams()
    text = w.explain(KEYED)
    assert re.search(r"cost +few-(hash|nested-loop): ", text)
    assert "algorithm   FEW" in text
    assert "answers once the watermark" not in text
    result = w.sql(KEYED)
    rows = result.to_arrow().num_rows
    assert result.progress.plans["WJoin a, b"].startswith("few")
    assert rows == w.sql(KEYED, algorithm="bew").to_arrow().num_rows > 0


@pytest.mark.usefixtures("cheap_sweeps")
def test_where_rows_are_still_to_come_few_is_rejected_for_it_answers_later():
    hints = {"rate": 100, "distinct": {"k": 10}}
    text = streaming(**hints).explain(KEYED.replace("50", "INTERVAL '5' SECONDS"))
    assert re.search(r"cost +bew-hash: ", text)
    assert re.search(r"few-hash: .* answers once the watermark has passed", text)


@pytest.mark.usefixtures("cheap_sweeps")
def test_one_stream_that_goes_on_keeps_few_from_being_taken():
    w = drawn_streams()
    rows = pa.table({"k": [1], "x": [1], "at": [0]})
    w.stream("b", rows.to_batches(), time="at", rate=0.04, distinct={"k": 40})
    assert not re.search(r"cost +few", w.explain(KEYED))


def test_a_narrow_band_over_wide_windows_is_answered_by_trees():
    text = drawn_streams().explain(BAND)
    assert "algorithm   Asymmetric, " in text
    assert "tree" in text.split("algorithm", 1)[1].split("\n")[0]
    assert "why         the cheapest plan that could run" in text


def test_a_band_that_nearly_all_pass_is_scanned():
    text = drawn_streams(values=2).explain(BAND.replace("< 1", "< 5"))
    assert "algorithm   BEW, nested loop" in text


def test_nothing_is_changed_by_numbers_that_are_assumed():
    query = BAND.replace("20000", "INTERVAL '1' HOUR")
    text = streaming(rate=1000).explain(query)
    assert "share(abs(a.x - b.x) < 1) = 0.01 (assumed)" in text
    assert "why         ttree/ttree: there is no equality" in text


def test_a_user_may_force_any_plan():
    w = drawn_streams()
    assert "algorithm   BEW, nested loop" in w.explain(BAND, algorithm="bew")
    assert "Asymmetric, buffer/ttree" in w.explain(BAND, structure="buffer/ttree")
    text = w.explain(THREE, order="C, b, a")
    assert "a new a meets c, then b" in text
    assert "a new b meets c, then a" in text
    assert "cost        bew-hash, order c, b, a: " in text


def test_an_order_may_be_given_for_the_tuples_of_each_stream():
    order = "b: c, a; a: b, c; c: a, b"
    text = drawn_streams().explain(THREE, order=order)
    for line in ("a new a meets b, then c", "a new b meets c, then a", "a new c meets a, then b"):
        assert line in text
    assert "cost        bew-hash, order a: b, c; b: c, a; c: a, b: " in text


def test_a_pipeline_takes_its_streams_in_the_order_asked_for():
    text = drawn_streams().explain(THREE, order="c, a, b", algorithm="hw")
    assert "pipeline    c with a, then b" in text
    assert "cost        hw, order c, a, b: " in text
    with pytest.raises(PlanError, match="gives each stream an order of its own"):
        drawn_streams().explain(THREE, order="a: c, b; b: c, a; c: a, b", algorithm="nlw")


def test_structures_that_are_not_named_are_chosen_by_cost():
    text = drawn_streams().explain(BAND, algorithm="asymmetric")
    assert "the cheapest pair of structures" in text
    assert "tree" in text.split("algorithm", 1)[1].split("\n")[0]


@pytest.mark.parametrize(
    "order", ["a", "a, a, b", "a,,b", "", "a: b", "a: b; a: b", "a: a; b: a", "a, b; b: a"]
)
def test_an_order_lists_streams(order):
    with pytest.raises(PlanError, match="bad-order"):
        drawn_streams().explain(KEYED, order=order)


def test_an_order_of_other_streams_is_refused():
    for order in ("a, c", "a, b, c", "a: b; c: a", "a: b; b: c"):
        with pytest.raises(PlanError, match="does not name the streams of the join of a, b"):
            drawn_streams().explain(KEYED, order=order)


def test_an_order_is_for_the_algorithm_that_has_one():
    with pytest.raises(PlanError, match="the algorithm few has no order to choose"):
        drawn_streams().explain(KEYED, order="b, a", algorithm="few")


def test_an_order_can_be_a_hint():
    text = drawn_streams().explain(THREE.replace("SELECT", "SELECT /*+ order(c, b, a) */"))
    assert "cost        bew-hash, order c, b, a: " in text


def test_a_bound_on_memory_leaves_the_plan_as_it_is():
    assert "algorithm   BEW, nested loop" in drawn_streams().explain(BAND, memory="64 MB")


def test_the_rate_of_a_filtered_stream_is_that_of_the_rows_that_pass():
    query = KEYED.replace("WINDOW", "AND a.x % 4 = 1 AND a.x > 5 WINDOW")
    text = drawn_streams().explain(query)
    assert re.search(r"\(all 4,000 rows, of which 0.2[3-7] pass: sample of 4,000 rows\)", text)
    query = query.replace("50", "INTERVAL '5' SECONDS")
    assert "(hint, of which 0.11 pass: assumed)" in streaming(rate=5).explain(query)


def test_the_share_of_a_condition_that_is_no_band_is_sampled():
    query = KEYED.replace("WINDOW", "AND (a.x + b.x) % 10 = 3 WINDOW")
    found = re.search(
        r"share\(.*\) = ([\d.]+) \(sample of 10,000 combinations\)", drawn_streams().explain(query)
    )
    assert float(found[1]) == pytest.approx(0.1, abs=0.015)


def test_a_condition_that_fails_for_a_value_is_assumed():
    query = KEYED.replace("WINDOW", "AND a.x / (b.x - b.x) > 2 WINDOW")
    assert re.search(r"share\(.*\) = 0.33 \(assumed\)", drawn_streams().explain(query))


def test_functions_are_not_called_to_plan():
    w = drawn_streams()
    w.function("fails", lambda x: x / 0, arguments=["bigint"])
    text = w.explain(KEYED.replace("WINDOW", "AND fails(a.x + b.x) WINDOW"))
    assert "share(fails(a.x + b.x)) = 0.33 (assumed)" in text


KINDS = {
    "left": "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WINDOW = 500",
    "full": "SELECT a.k FROM a FULL JOIN b ON a.k = b.k WINDOW = 500",
    "semi": "SELECT a.k FROM a LEFT SEMI JOIN b ON a.k = b.k WINDOW = 500",
    "anti": "SELECT a.k FROM a LEFT ANTI JOIN b ON a.k = b.k WINDOW = 500",
    "either way": "SELECT a.k FROM a, b WHERE a.k = b.k DWINDOW (a, b) = 700 EITHER WAY",
    "rows": "SELECT a.k FROM a [ROWS 30], b [ROWS 90] WHERE a.k = b.k",
    "rows of each": "SELECT a.k FROM a [PARTITION BY k ROWS 2], b [ROWS 90] WHERE a.k = b.k",
    "rows of all": "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 120 ROWS",
}


@pytest.mark.parametrize("query", KINDS.values(), ids=KINDS)
def test_every_kind_of_join_is_estimated(query):
    w = drawn_streams()
    text = w.explain(query)
    output = float(re.search(r"output +([\d.,]+) per tick", text)[1])
    assert output * 100_000 == pytest.approx(w.sql(query).to_arrow().num_rows, rel=0.15)
    assert re.search(r"cost +bew-hash: ", text)
    assert re.search(r"rejected +.*bew-nested-loop: ", text, re.DOTALL)


def test_what_comes_out_of_a_bestmatch_join_is_not_estimated():
    query = (
        "SELECT d.k FROM (SELECT a.k AS k, a.at AS at FROM a LEFT OUTER BESTMATCH JOIN b"
        " ON a.at MINDIST b.at WHERE a.k = b.k AND abs(a.at - b.at) <= 5) d, c"
        " WHERE d.k = c.k WINDOW = 10"
    )
    text = drawn_streams().explain(query)
    assert "cost        not estimated: how many rows d has is not known beforehand" in text


def test_matches_that_no_key_allows_leave_tuples_alone():
    joined = clique((1, 1), 1_000_000, (100, 20))
    assert matchless(joined, 0, 1) == pytest.approx(0.8)
    assert matchless(joined, 1, 0) == pytest.approx(0)


def test_a_pipeline_begins_with_the_streams_that_leave_fewest_combinations():
    joined = clique((100, 100, 1), 50, (10, 10, 10))

    def cost(work):
        return work.found

    order = best_pipeline(joined, cost, is_hashed=True)
    assert order[2] in {0, 1}
    usual = pipeline(joined, (0, 1, 2), is_hashed=True)
    assert cost(pipeline(joined, order, is_hashed=True)) < cost(usual)


def test_by_hash_a_pipeline_has_a_key_at_every_level():
    keys = (Key((10.0, 10.0, None)), Key((None, 10.0, 10.0)))
    upper = tuple(tuple(0 if a == b else 50 for b in range(3)) for a in range(3))
    joined = Joined((1.0, 1_000.0, 1.0), upper, keys)
    order = best_pipeline(joined, lambda work: work.touched, is_hashed=True)
    assert set(order[:2]) != {0, 2}


def test_the_output_of_a_join_below_is_the_rate_above():
    query = (
        "SELECT d.k FROM (SELECT a.k AS k, a.at AS at FROM a, b WHERE a.k = b.k WINDOW = 50) d, c "
        "WHERE d.k = c.k WINDOW = 10"
    )
    assert "rate(d) = 0.004 per tick (estimate by all 4,000 rows)" in drawn_streams().explain(query)


def by_order(rows: int = 3_000) -> Session:
    chance, found = np.random.default_rng(3), Session()
    for name in "abc":
        values = {
            "at": np.sort(chance.integers(0, rows, rows)),
            "x": chance.integers(0, 1_000, rows),
        }
        found.stream(name, pa.table(values), time="at")
    return found


ORDERED = (
    "SELECT a.x FROM a, b, c WHERE a.x < b.x - 900 AND b.x < c.x - 50"
    " WINDOW (a, b) = 5 AND WINDOW (b, c) = 500"
)


def test_a_sweep_looks_at_few_tuples_where_orders_are_selective():
    touched = {}
    for name in ("few", "bew"):
        result = by_order().sql(ORDERED, algorithm=name)
        result.to_arrow()
        touched[name] = result.progress.operators["WJoin a, b, c"]["comparisons"]
    assert touched["few"] < touched["bew"]


def test_conditions_that_exclude_each_other_are_looked_up_together():
    text = by_order().explain(ORDERED)
    shares = dict(re.findall(r"share\((.*)\) = ([\d.e-]+) \(sample", text))
    both = float(shares["a.x < b.x - 900 AND b.x < c.x - 50"])
    one, other = float(shares["a.x < b.x - 900"]), float(shares["b.x < c.x - 50"])
    assert both < one * other / 4


def test_what_a_sweep_tests_at_the_end_alone_is_priced_there():
    late = ORDERED.replace("a.x < b.x - 900", "(a.x + b.x) % 200 = 1").replace(
        "b.x < c.x - 50", "(b.x + c.x) % 2 = 1"
    )
    costs = {}
    for sql in (ORDERED, late):
        text = by_order().explain(sql, algorithm="few")
        number, unit = re.search(r"cost +few-nested-loop: ([\d.,]+) (\w+) of", text).groups()
        costs[sql] = float(number.replace(",", "")) * {"ns": 1e-3, "us": 1, "ms": 1e3}[unit]
    assert costs[late] > 10 * costs[ORDERED]
