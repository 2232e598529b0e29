"""The state of a MINUS as EXPLAIN says it, and as the operator holds it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.aggregates.set_operation import SetOperationOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.optimize.cost.statistics import PlanStatistics
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.set_op import SetOp, s_minus
from windrow.physical.nodes.stateless import RangeRows
from windrow.plan.statistics import HINT, Figure, Statistics
from windrow.schema import Field, Schema

RATE, WINDOW, DIFFERENT = 5, 40, 30
SCHEMA = Schema((Field("k", "bigint"),))


def windowed(name: str) -> RangeRows:
    return RangeRows(ScanStream(name, name, ("k",), SCHEMA, "t", "bigint", 0), WINDOW)


def test_the_bound_is_the_papers():
    known = Figure(RATE * WINDOW, HINT), Figure(DIFFERENT, HINT)
    expected = 2 * (RATE * WINDOW + DIFFERENT) + RATE * WINDOW
    assert s_minus([known, known]).value == expected


@pytest.mark.law
@pytest.mark.parametrize("kind", ["except", "except all"])
def test_no_more_is_held_than_the_bound_of_known_rates_says(kind):
    statistics = Statistics(Figure(RATE, HINT), (("k", Figure(DIFFERENT, HINT)),))
    numbers = PlanStatistics({"s": statistics, "r": statistics})
    held = [numbers.held(windowed(name)) for name in ("s", "r")]
    bound = s_minus([figures for figures in held if figures is not None]).value
    operator = SetOperationOp(SetOp((windowed("s"), windowed("r")), kind))
    random, most = np.random.default_rng(1), 0
    for tick in range(4 * WINDOW):
        times = np.full(RATE, tick)
        batches = [
            ChangeBatch(
                pa.RecordBatch.from_pydict({"k": random.integers(0, DIFFERENT, RATE)}),
                times,
                times + WINDOW + 1,
            )
            for _ in range(2)
        ]
        list(operator.push(batches))
        list(operator.advance(tick + 1))
        counts = sum(map(len, operator.snapshot().buffers["groups"]))
        most = max(most, operator.counters.stored + 2 * counts)
    one_batch = 2 * RATE  # what comes at one instant is held beside the window
    assert 0.6 * bound < most <= bound + one_batch
