"""A join that sheds: exact where all fits, repeatable and within its bounds where not."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.bew_join import BewJoinOp
from windrow.operators.changes import ChangeBatch
from windrow.operators.shedding.join import ShedJoinOp
from windrow.physical.shedding import Least, Shedding
from windrow.physical.specs import KeyClass, ScanStream, WJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import MAX_TICK, Field, Schema

WINDOW = 80


def spec(size=2):
    names = tuple("abc"[:size])
    bounds = [Bound(i, j, WINDOW, WINDOW) for i in range(size) for j in range(i + 1, size)]
    kept = tuple((f"{name}.v",) for name in names)
    return WJoin(
        tuple(ScanStream(n, n, (), Schema(()), "ts", "bigint", 0) for n in names),
        names, (KeyClass(tuple(f"{n}.k" for n in names), "bigint"),),
        WindowGraph(names, tuple(bounds)), kept, "hash",
        Schema(tuple(Field(name, "bigint") for part in kept for name in part)),
    )  # fmt: skip


def shedding(seed=0, least=None, **there_is: float):
    minima = () if least is None else (Least(least, is_share=True),) * 2
    return Shedding(seed=seed, least_windows=minima, least_rates=minima, **there_is)


def streams(size=2, rows=900, span=1_000, keys=5):
    """Random tuples, equal ones among them, in no order of time."""
    dice = np.random.default_rng(4)
    made = []
    for name in "abc"[:size]:
        columns = {
            f"{name}.k": pa.array(dice.integers(0, keys, rows)),
            f"{name}.v": pa.array(dice.integers(0, 3, rows)),
        }
        made.append(ChangeBatch(pa.record_batch(columns), dice.integers(0, span, rows)))
    return made


def taken(batches):
    found = Counter()
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns.columns]
        found.update(zip(*columns, batch.times.tolist(), strict=True))
    return found


def run(operator, batches, cuts=1, restored=None):
    """All rows, in so many parts by time; `restored` makes a new operator between the parts."""
    found, most = Counter(), 0
    edges = np.linspace(0, 1_000, cuts + 1).astype(int)
    for low, high in pairwise(edges):
        for port, batch in enumerate(batches):
            ports = [None] * len(batches)
            ports[port] = batch.take(np.flatnonzero((batch.times >= low) & (batch.times < high)))
            found += taken(operator.push(ports))
        found += taken(operator.advance(int(high)))
        most = max(most, sum(buffer.rows for buffer in operator.buffers()[: len(batches)]))
        if restored is not None:
            before, operator = operator, restored()
            operator.restore(before.snapshot())
    found += taken(operator.advance(MAX_TICK))
    return found, most, operator


@pytest.mark.parametrize("size", [2, 3])
def test_where_all_fits_the_join_is_exact(size):
    batches = streams(size, rows=200)
    exact, *_ = run(BewJoinOp(spec(size)), batches)
    plenty = shedding(memory=10_000, service_rate=10_000)
    found, _, operator = run(ShedJoinOp(spec(size), plenty), batches, cuts=7)
    assert found == exact
    counted = operator.counters
    assert counted.shed_found == exact.total()
    assert counted.shed_estimated == counted.shed_expected == 1_000 * exact.total()


@pytest.mark.parametrize("there_is", [{"memory": 70}, {"service_rate": 0.4},
                                      {"memory": 70, "service_rate": 0.4}])  # fmt: skip
def test_the_answer_depends_on_the_tuples_alone(there_is):
    batches = streams()
    made = shedding(**there_is)
    whole, *_ = run(ShedJoinOp(spec(), made), batches)
    exact, *_ = run(BewJoinOp(spec()), batches)
    assert 0 < whole.total() < exact.total()
    assert whole <= exact
    order = np.random.default_rng(9).permutation(len(batches[0]))
    shuffled = [batch.take(order) for batch in batches]
    assert run(ShedJoinOp(spec(), made), shuffled, cuts=13)[0] == whole
    again = run(ShedJoinOp(spec(), made), batches, 9, lambda: ShedJoinOp(spec(), made))
    assert again[0] == whole
    assert run(ShedJoinOp(spec(), shedding(1, **there_is)), batches)[0] != whole


def test_no_more_is_held_than_there_is_memory_for():
    _, most, operator = run(ShedJoinOp(spec(), shedding(memory=70)), streams(), cuts=50)
    assert 60 <= most <= 70
    assert operator.counters.stored == 0


def test_no_more_probes_than_the_service_rate_allows():
    batches = streams(keys=1)
    operator = ShedJoinOp(spec(), shedding(service_rate=0.5))
    exact, *_ = run(BewJoinOp(spec()), batches)
    found, *_ = run(operator, batches)
    # 1.8 arrivals per tick, of which 0.5 probe.
    assert found.total() / exact.total() == pytest.approx(0.5 / 1.8, rel=0.1)


@pytest.mark.parametrize(
    "there_is",
    [{"memory": 60}, {"service_rate": 0.5}],
)
def test_combinations_are_estimated_where_every_stream_has_a_minimum(there_is):
    batches = streams(rows=700)
    exact = run(BewJoinOp(spec()), batches)[0].total()
    limits = [shedding(seed, 0.34, **there_is) for seed in range(8)]
    runs = [run(ShedJoinOp(spec(), limit), batches)[2] for limit in limits]
    estimates = [one.counters.shed_estimated / 1_000 for one in runs]
    error = np.std(estimates, ddof=1) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - exact) < 4 * error
    assert np.mean(estimates) == pytest.approx(exact, rel=0.1)


def test_a_pane_waits_for_the_watermark():
    operator = ShedJoinOp(spec(), shedding(memory=10))
    assert operator.pane == WINDOW // 8
    assert operator.due() == MAX_TICK
    row = ChangeBatch(pa.record_batch({"a.k": [1], "a.v": [1]}), np.array([25]))
    assert not list(operator.push([row, None]))
    assert operator.due() == 30
    assert not list(operator.advance(29))
    assert operator.buffers()[0].rows == 0
    assert not list(operator.advance(30))
    assert operator.buffers()[0].rows == 1
    # Dropped at 106, when the pane is over in which that is.
    assert operator.due() == 110
