"""Predicates of a window join: when they can be tested, what they say, in blocks of which size."""

from __future__ import annotations

import math
from dataclasses import replace
from operator import ge, gt, le, lt, ne

import numpy as np
import pyarrow as pa
import pytest
from plans import expr
from sessions import session

import windrow
from windrow.errors import DataError
from windrow.operators.joins import bew_search
from windrow.operators.joins.join_steps import Predicates
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.probe_orders import probe_order
from windrow.plan.exprs import Comparison, Expr, Side
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import Field, Schema

ALL_INPUTS = 3


def spec_of(*predicates: Expr, classes=(), streams: str = "abc") -> TimeJoin:
    aliases = tuple(streams)
    scans = [Schema((Field(f"{a}.x", "double"), Field(f"{a}.y", "int"))) for a in aliases]
    bounds = tuple(Bound(0, i, 10, 10) for i in range(1, len(aliases)))
    return TimeJoin(
        tuple(
            ScanStream(a, a, ("x", "y"), s, "ts", "bigint", 0)
            for a, s in zip(aliases, scans, strict=True)
        ),
        aliases, classes, WindowGraph(aliases, bounds), tuple((f"{a}.x",) for a in aliases),
        "hash" if classes else "nested-loop",
        Schema(tuple(Field(f"{a}.x", "double") for a in aliases)),
        predicates=predicates,
    )  # fmt: skip


A_B, B_C, ALL = expr("a.x < b.x"), expr("b.y <> c.y"), expr("a.y + b.y > c.y")
A_ALONE, NOTHING = expr("a.x > 1"), expr("1 < 2")


def compared(left: str, operator: str, right: str, type_: str = "double", shift: int = 0) -> Expr:
    """A comparison that names the columns alone, so that only ranks can answer it."""
    comparison = Comparison(Side(left, 0, type_), operator, Side(right, shift, type_))
    text = expr(f"{left} {operator} {right} + {shift}")
    return replace(text, comparisons=(comparison,))


def test_a_predicate_is_ready_with_the_last_input_that_it_reads():
    predicates = Predicates(spec_of(A_B, B_C, ALL))
    assert [predicates.inputs(n) for n in range(3)] == [{0, 1}, {1, 2}, {0, 1, 2}]
    assert predicates.first_ready([0], 1) == (0,)
    assert predicates.first_ready([0, 1], 2) == (1, 2)
    assert predicates.first_ready([2], 0) == ()


def test_what_reads_one_input_or_none_is_ready_at_the_start():
    predicates = Predicates(spec_of(A_ALONE, NOTHING))
    assert predicates.first_ready((), 0) == (0, 1)
    assert predicates.first_ready((), 1) == (1,)
    assert predicates.first_ready([1], 0) == (0,)


def test_the_columns_are_those_that_the_predicates_read():
    predicates = Predicates(spec_of(A_B, ALL))
    assert predicates.columns((0, 1)) == ("a.x", "b.x", "a.y", "b.y", "c.y")
    assert predicates.columns((0, 1), port=1) == ("b.x", "b.y")


@pytest.mark.parametrize("predicate", [A_B, compared("a.x", "<", "b.x")])
def test_null_counts_as_false_and_nan_is_above_everything(predicate):
    columns = {
        "a.x": pa.array([1.0, None, 2.0, math.inf, math.nan, -0.0]),
        "b.x": pa.array([2.0, 2.0, None, math.nan, math.nan, 0.0]),
    }
    mask = Predicates(spec_of(predicate)).mask((0,), columns, 6, 2)
    assert mask.tolist() == [True, False, False, True, False, False]


def test_predicates_are_asked_of_what_those_before_leave():
    guard, division = expr("a.y <> b.y"), expr("10 / (a.y - b.y) > 1")
    columns = {"a.y": pa.array([3, 1, 9]), "b.y": pa.array([3, 0, 1])}
    mask = Predicates(spec_of(guard, division)).mask((0, 1), columns, 3, 2)
    assert mask.tolist() == [False, True, True]


def test_a_predicate_that_comes_later_may_reject_what_an_earlier_one_has_no_value_for():
    division, guard = expr("10 / (a.y - b.y) > 1"), expr("abs(a.y - b.y) > 0")
    columns = {"a.y": pa.array([3, 1, 9]), "b.y": pa.array([3, 0, 1])}
    mask = Predicates(spec_of(division, guard)).mask((0, 1), columns, 3, ALL_INPUTS)
    assert mask.tolist() == [False, True, True]


def test_two_that_have_no_value_may_reject_each_others_rows():
    one, other = expr("10 / a.y > 6"), expr("10 / b.y > 6")
    columns = {"a.y": pa.array([0, 5, 1]), "b.y": pa.array([5, 0, 1])}
    mask = Predicates(spec_of(one, other)).mask((0, 1), columns, 3, ALL_INPUTS)
    assert mask.tolist() == [False, False, True]


def test_a_row_that_nothing_rejects_is_an_error_once_it_is_complete():
    division = expr("10 / (a.y - b.y) > 1")
    columns = {"a.y": pa.array([3, 1]), "b.y": pa.array([3, 1])}
    predicates = Predicates(spec_of(division, A_B))
    assert predicates.asked((1,), ALL_INPUTS) == (1,)
    assert predicates.mask((0,), columns, 2, inputs=2).tolist() == [True, True]
    assert predicates.asked((1,), inputs=2) == (1,)
    assert predicates.asked((1,), ALL_INPUTS) == [0, 1]
    with pytest.raises(DataError, match=r"10 / \(a\.y - b\.y\) > 1 cannot be computed"):
        predicates.mask((0,), columns, 2, ALL_INPUTS)


def test_without_predicates_everything_holds():
    assert Predicates(spec_of()).mask((), {}, 3, 2).tolist() == [True] * 3


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "<>"])
@pytest.mark.parametrize("type_", [pa.int32(), pa.int64()])
@pytest.mark.parametrize("shift", [9, -9, 2**63, -(2**64)])
def test_a_sum_that_leaves_its_type_has_a_verdict(operator, type_, shift):
    most = 2 ** (type_.bit_width - 1) - 1
    numbers = [-most - 1, -9, 0, 9, most, None]
    pairs = [(left, right) for left in numbers for right in numbers]
    columns = {
        name: pa.array(side, type_)
        for name, side in zip(("a.y", "b.y"), zip(*pairs, strict=True), strict=True)
    }
    predicate = compared("a.y", operator, "b.y", "int", shift=shift)
    said = {"<": lt, "<=": le, ">": gt, ">=": ge, "<>": ne}[operator]
    mask = Predicates(spec_of(predicate)).mask((0,), columns, len(pairs), 2)
    assert mask.tolist() == [
        left is not None and right is not None and said(left, right + shift)
        for left, right in pairs
    ]


def test_a_distance_of_whole_numbers_that_overflows_has_a_verdict():
    rows = pa.table({"x": pa.array([-2_000_000_000, 2_000_000_000, 7], pa.int32()), "ts": range(3)})
    w = session(dict.fromkeys("ab", rows), time="ts")
    query = "SELECT a.x, b.x AS y FROM a, b WHERE abs(a.x - b.x) <= 5 WINDOW = 5"
    found = w.sql(query, algorithm="bew-nested-loop").to_arrow()
    assert sorted(found["x"].to_pylist()) == [-2_000_000_000, 7, 2_000_000_000]
    assert found["x"] == found["y"]


def test_an_input_that_a_predicate_connects_is_met_before_one_that_nothing_does():
    assert probe_order(spec_of(expr("a.x < c.x")), 0) == [2, 1]
    assert probe_order(spec_of(expr("b.x < c.x")), 0) == [1, 2]


def test_an_equality_comes_before_a_predicate():
    key = KeyClass(("a.y", "b.y", None), "int")
    assert probe_order(spec_of(expr("a.x < c.x"), classes=(key,)), 0) == [1, 2]


def test_candidates_are_tested_in_blocks_of_bounded_size_whatever_the_fan_out(monkeypatch):
    # 400 x 400 rows at one instant: 160,000 candidates of which one function sees all.
    monkeypatch.setattr(bew_search, "MOST_FOUND", 1_000)
    seen = []

    def close(left, right):
        seen.append(len(left))
        return pa.array(np.abs(np.asarray(left) - np.asarray(right)) < 1)

    session = windrow.Session()
    session.function("close", close, arguments=["bigint", "bigint"])
    for name in "ab":
        session.stream(name, pa.table({"ts": [7] * 400, "x": range(400)}), time="ts")
    found = session.sql("SELECT a.x FROM a, b WHERE close(a.x, b.x) WINDOW = 0").to_arrow()
    assert found.num_rows == 400
    assert sum(seen) == 160_000
    assert max(seen) == 1_000


def test_a_third_input_is_only_joined_to_what_the_first_predicate_leaves():
    w = session({name: {"ts": [0] * 50, "x": range(50)} for name in "abc"}, time="ts")
    result = w.sql(
        "SELECT a.x FROM a, b, c WHERE a.x + 48 < b.x AND b.x = c.x WINDOW = 0",
        algorithm="bew-nested-loop",
    )
    assert result.to_arrow()["x"].to_pylist() == [0]
    # All of a, b and c against one another would be 125,000 candidates.
    (counted,) = result.progress.operators.values()
    assert counted["comparisons"] < 20_000
