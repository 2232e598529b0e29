"""The plan that a worker takes, by the numbers of its bucket."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from plans import plans_of
from sessions import session

from windrow.optimize.choose.plans import REFERENCE_MACHINE
from windrow.optimize.cost.structures import KERNELS, KernelCost
from windrow.optimize.planner import QueryPlanner
from windrow.physical.options import Options
from windrow.plan.statistics import Figure

COLUMNS = pa.schema([("k", pa.int64()), ("x", pa.int64()), ("at", pa.int64())])
KEYED = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 50"
BAND = "SELECT a.x, b.x AS o FROM a, b WHERE abs(a.x - b.x) < 2 WINDOW = {}"


@dataclass
class Seen:
    """A bucket that shows what it is told to."""

    rates: tuple[float | None, ...]
    rows: int = 1_000
    keys: float | None = 100.0
    share: float = 0.001
    is_restored: bool = False

    def rate(self, port):
        rate = self.rates[port]
        return None if rate is None else Figure(rate, "seen")

    def different(self, port, column):
        del port, column
        return None if self.keys is None else Figure(self.keys, "seen")

    def rows_per_batch(self, port):
        return 0 if self.rates[port] is None else self.rows

    def within(self, left, right, low, high):
        del left, right, low, high
        return Figure(self.share, "seen")


def join(sql: str, **hints: Any):
    w = session({name: iter(()) for name in "abc"}, time="at", schema=COLUMNS, **hints)
    query, physical = plans_of(w, sql)
    node = physical.root
    while not hasattr(node, "classes"):
        node = node.input
    said = {name: info.statistics for name, info in w._registered.catalog.items()}
    return node, QueryPlanner(query, Options(), Options(), said, REFERENCE_MACHINE)


def planned(sql: str, seen: Seen, buckets: int = 1, **hints: Any):
    node, planner = join(sql, **hints)
    return planner.planned(node, node.partitioning(buckets), seen)


def test_a_band_over_many_rows_is_answered_by_trees():
    assert planned(BAND.format(5_000), Seen((1.0, 1.0))).structures
    assert planned(BAND.format(5), Seen((1.0, 1.0))).algorithm == "bew"


@pytest.mark.parametrize(("rows", "is_by_trees"), [(20_000, True), (2, False)])
def test_what_is_laid_out_in_every_micro_batch_counts(rows, is_by_trees):
    seen = Seen((1.0, 1.0), rows=rows, is_restored=True)
    assert bool(planned(BAND.format(3_000), seen).structures) == is_by_trees
    seen.is_restored = False
    assert planned(BAND.format(3_000), seen).structures


def test_hints_hold_for_a_bucket_in_proportion():
    node = planned(KEYED, Seen((0.5, None), keys=None), 4, rate=8, distinct={"k": 1_000})
    assert dict(node.estimate.known) == {
        "rate(a)": Figure(0.5, "seen"),
        "rate(b)": Figure(2.0, "hint"),
        "keys(a.k)": Figure(250.0, "hint"),
        "keys(b.k)": Figure(250.0, "hint"),
    }


def test_without_a_rate_the_join_stays_as_it_was_planned():
    node, planner = join(KEYED)
    assert planner.planned(node, node.partitioning(4), Seen((1.0, None))) is node


def test_keys_that_are_hashed_together_are_not_spread_one_by_one():
    both = "SELECT a.k FROM a, b WHERE a.k = b.k AND a.x = b.x WINDOW = 50"
    node = planned(both, Seen((1.0, 1.0)), 4, distinct={"k": 1_000})
    assert dict(node.estimate.known)["keys(a.k)"].value == 1_000


def test_plans_are_named_where_there_is_a_choice():
    node, planner = join(KEYED)
    names = planner.names(node)
    assert {"bew-hash", "bew-nested-loop", "hw", "nlw", "hash/ttree"} < set(names)
    assert not any(name.startswith("few") for name in names)  # they would answer later
    in_batch = replace(planner, is_bounded=True).names(node)
    assert {*names, "few-hash", "few-nested-loop"} == set(in_batch)
    three, _ = join("SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 50")
    assert "bew-hash, ordered by cost" in planner.names(three)
    for options in (Options(algorithm="few"), Options(order="a, b"), Options(memory=1 << 20)):
        assert replace(planner, options=options, hints={}).names(node) == ()


@pytest.mark.parametrize("is_bounded", [True, False])
def test_a_worker_takes_few_in_a_batch_run_alone(monkeypatch, is_bounded):
    cost = KernelCost(1e-6, lookup=0, touched=0, result=0)
    monkeypatch.setitem(KERNELS, "few-hash", cost)
    node, planner = join(KEYED)
    planner = replace(planner, is_bounded=is_bounded)
    found = planner.planned(node, node.partitioning(4), Seen((5.0, 5.0), keys=10.0))
    assert (found.algorithm == "few") == is_bounded
    assert found.plan_kind in planner.names(node)


def test_every_plan_taken_has_a_name_that_was_given():
    for rate in (0.01, 1.0, 100.0):
        for keys in (1.0, 10_000.0):
            for sql in (KEYED, BAND.format(500), KEYED.replace("FROM a, b", "FROM a, b, c")):
                node, planner = join(sql)
                seen = Seen((rate, 1.0, rate), keys=keys)
                found = planner.planned(node, node.partitioning(4), seen)
                assert found.plan_kind in planner.names(node)
