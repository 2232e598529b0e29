"""The planner's numbers, costs and choices."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow import Session
from windrow.errors import BindError, PlanError
from windrow.optimize.cost.joins import Condition, Joined, Key, best_orders, output

KEYED = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 50"
BAND = "SELECT a.x FROM a, b WHERE abs(a.x - b.x) < 1 WINDOW = 20000"


def session(rows=4_000, span=100_000, values=1_000, **hints: Any):
    rng = np.random.default_rng(5)
    found = Session()
    for name in "abc":
        table = pa.table(
            {
                "k": rng.integers(0, 40, rows),
                "x": rng.integers(0, values, rows),
                "at": np.sort(rng.integers(0, span, rows)),
            }
        )
        found.stream(name, table, time="at", **hints)
    return found


def streaming(**hints: Any):
    """Streams of which nothing but their hints is known."""
    found = Session()
    columns = pa.schema([("k", pa.int64()), ("x", pa.int64()), ("at", pa.timestamp("us"))])
    for name in "abc":
        found.stream(name, iter(()), time="at", schema=columns, **hints)
    return found


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
    joined = clique((1, 1), 10, None, [Condition(frozenset({0, 1}), 0.25)])
    assert output(joined) == pytest.approx(20 * 0.25)


def test_new_tuples_meet_first_the_stream_that_leaves_fewest_combinations():
    assert best_orders(clique((1, 100, 1), 50, (10, 10, 10)))[0] == (2, 1)


def test_numbers_of_a_table_are_counted_and_say_so():
    text = session().explain(KEYED)
    assert "rate(a) = 0.04 per tick (all 4,000 rows)" in text
    assert "keys(a.k) = 40 (all 4,000 rows)" in text


def test_a_large_table_is_sampled():
    rng = np.random.default_rng(1)
    w = Session()
    for name in "ab":
        at = np.arange(150_000)
        w.stream(name, pa.table({"k": rng.integers(0, 70, 150_000), "at": at}), time="at")
    assert "keys(a.k) = 70 (sample of 100,000 rows)" in w.explain(KEYED)


def test_hints_go_before_what_the_data_says():
    text = session(rate=2, distinct={"k": 7}).explain(KEYED)
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


@pytest.mark.parametrize("rate", ["many", "5 per week and day", 0, -1, "3 per fortnight"])
def test_what_is_no_rate_is_refused(rate):
    with pytest.raises(BindError, match=r"bad-rate.*of the stream a cannot be used"):
        streaming(rate=rate)


def test_a_rate_needs_a_time_that_knows_its_unit():
    with pytest.raises(BindError, match="bigint, which has no second"):
        session(rate="5 per second")


def test_distinct_names_columns_and_counts_them():
    with pytest.raises(BindError, match="has no column 'z' whose values could be counted"):
        streaming(distinct={"z": 5})
    with pytest.raises(BindError, match=r"is no number of different values of a\.k"):
        streaming(distinct={"k": 0})


def test_every_plan_that_is_rejected_has_its_cost():
    text = session().explain(KEYED)
    rejected = text.split("rejected", 1)[1]
    for name in ("few-hash", "hw", "hash/hash"):
        assert re.search(rf"{name}: [\d.,]+ (s|ms|us|ns)", rejected), name


def test_a_narrow_band_over_wide_windows_is_answered_by_trees():
    text = session().explain(BAND)
    assert "algorithm   Asymmetric, " in text
    assert "tree" in text.split("algorithm", 1)[1].split("\n")[0]
    assert "why         of all plans that could run it costs least" in text


def test_a_band_that_nearly_all_pass_is_scanned():
    text = session(values=2).explain(BAND.replace("< 1", "< 5"))
    assert "algorithm   BEW, nested loop" in text


def test_nothing_is_changed_by_numbers_that_are_assumed():
    query = BAND.replace("20000", "INTERVAL '1' HOUR")
    assert "algorithm   BEW, nested loop" in streaming(rate=1000).explain(query)


def test_a_user_may_force_any_plan():
    w = session()
    assert "algorithm   BEW, nested loop" in w.explain(BAND, algorithm="bew")
    assert "Asymmetric, buffer/ttree" in w.explain(BAND, structure="buffer/ttree")
    three = "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 50"
    text = w.explain(three, order="C, b, a")
    assert "a new a meets c, then b" in text
    assert "a new b meets c, then a" in text
    assert "cost        bew-hash, in the order asked for" in text


@pytest.mark.parametrize("order", ["a", "a, a, b", "a,,b", ""])
def test_an_order_lists_streams(order):
    with pytest.raises(PlanError, match="bad-order"):
        session().explain(KEYED, order=order)


def test_an_order_of_other_streams_is_refused():
    with pytest.raises(PlanError, match="does not name the streams of the join of a, b"):
        session().explain(KEYED, order="a, c")


def test_an_order_is_for_the_algorithm_that_has_one():
    with pytest.raises(PlanError, match="the algorithm hw has no order to choose"):
        session().explain(KEYED, order="b, a", algorithm="hw")


def test_an_order_can_be_a_hint():
    text = session().explain(KEYED.replace("SELECT", "SELECT /*+ order(b, a) */"))
    assert "in the order asked for" in text


def test_a_bound_on_memory_leaves_the_plan_as_it_is():
    assert "algorithm   BEW, nested loop" in session().explain(BAND, memory="64 MB")


def test_the_rate_of_a_filtered_stream_is_marked_as_assumed():
    text = session().explain(KEYED.replace("WINDOW", "AND a.x > 5 WINDOW"))
    assert "filtered: 1 in 3 per condition assumed" in text


def test_the_output_of_a_join_below_is_the_rate_above():
    query = (
        "SELECT d.k FROM (SELECT a.k AS k, a.at AS at FROM a, b WHERE a.k = b.k WINDOW = 50) d, c "
        "WHERE d.k = c.k WINDOW = 10"
    )
    assert "rate(d) = 0.004 per tick (estimate by all 4,000 rows)" in session().explain(query)
