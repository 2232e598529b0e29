"""Operators of one stage: what they give, hold and count is what they do one after the other."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from cases.driving import step
from plans import planned
from sessions import session

from windrow.errors import DataError
from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.driver import MicroBatch, OperatorDriver, Setting
from windrow.operators.engine.memory import Memory
from windrow.operators.engine.scheduler import Scheduler, stage_scheduler
from windrow.operators.expressions.evaluate import Evaluator
from windrow.physical.partitioning.shared_stages import below, stages
from windrow.run.spark.state import apart, together
from windrow.schema import MAX_TICK, MIN_TICK

JOIN = (
    "SELECT j.k, j.n FROM (SELECT i.k, COUNT(*) AS n FROM "
    "(SELECT b.k FROM a, b WHERE a.k = b.k WINDOW = 3) i [RANGE 4] GROUP BY i.k) j"
)
BESTMATCH = (
    "SELECT i.k, COUNT(*) AS n FROM (SELECT a.k FROM a LEFT OUTER BESTMATCH JOIN b "
    "ON a.ts MINDIST b.ts WHERE abs(a.ts - b.ts) <= 5) i [RANGE 4] GROUP BY i.k"
)
QUERIES = {
    "an aggregate of a join": (JOIN, 2),
    "DISTINCT over an aggregate of a join": (JOIN.replace("SELECT", "SELECT DISTINCT", 1), 3),
    "DISTINCT over an aggregate whose rows are delayed": (
        f"SELECT DISTINCT d.n, d.k FROM ({BESTMATCH}) d",
        2,
    ),
}


def last_stage(sql: str):
    w = session({name: {"ts": [1], "k": [1], "v": [1]} for name in ("a", "b")}, time="ts")
    return stages(planned(w, sql).root, 4)[-1].nodes


class OneAfterTheOther:
    """The slow twin: each operator has its whole turn before the next one is handed anything."""

    def __init__(self, nodes) -> None:
        self.drivers = [OperatorDriver(node) for node in nodes]

    def step(self, batches, before, after):
        results = step(self.drivers[0], batches, before, after)
        for driver in self.drivers[1:]:
            evaluator, between = Evaluator(), below(driver.node)[1]
            for node in between:
                results = [evaluator.apply(node, batch) for batch in results]
            pushed = [row for batch in results for row in driver.push([batch], MIN_TICK)]
            results = [*pushed, *driver.advance(after), *driver.settle()]
        return results


class Stage:
    """A stage as a worker has it: run, and its state taken and put back, as a whole."""

    def __init__(self, nodes, **setting: Any) -> None:
        self.scheduler: Scheduler = stage_scheduler(nodes, Setting(**setting))
        self.drivers = self.scheduler.operators[::-1]

    @property
    def counters(self):
        return [driver.counters for driver in self.drivers]

    def step(self, batches, before, after, ahead=None):
        return list(self.scheduler.run(MicroBatch({}, before, after, handed=batches), ahead))

    def due(self) -> int:
        return self.scheduler.due()

    def snapshot(self):
        return together([driver.snapshot() for driver in self.drivers])

    def restore(self, snapshot) -> None:
        for driver, own in zip(self.drivers, apart(snapshot), strict=True):
            driver.restore(own)


def drawn(node, random: Random, watermark: int) -> list[ChangeBatch | None]:
    """Rows for each port of a node, some of them late."""
    found: list[ChangeBatch | None] = []
    for port in node.inputs:
        times = sorted(random.randrange(watermark - 1, watermark + 8) for _ in range(6))
        columns = [
            pa.array([random.randrange(3) for _ in times], f.type)
            for f in arrow_schema(port.schema)
        ]
        rows = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(port.schema))
        ends = np.array(times) + 5
        found.append(ChangeBatch(rows, np.array(times), ends) if random.random() < 0.8 else None)
    return found


def figures(counters) -> list[dict[str, int]]:
    return [one.as_dict() for one in counters]


@pytest.mark.parametrize(("sql", "operators"), QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("seed", range(5))
def test_a_chain_does_what_its_operators_do_one_after_the_other(
    sql: str, operators: int, seed: int
) -> None:
    nodes, random = last_stage(sql), Random(seed)
    assert len(nodes) == operators
    alone, stage = OneAfterTheOther(nodes), Stage(nodes)
    restored = Stage(nodes)  # a new one in every micro-batch
    given, before = Counter(), 5
    for after in (*range(9, 41, 4), 60, MAX_TICK):
        batches = drawn(nodes[0], random, before) if after < 41 else [None] * len(nodes[0].inputs)
        expected = bag(alone.step(batches, before, after))
        assert bag(stage.step(batches, before, after)) == expected
        assert figures(stage.counters) == figures(one.counters for one in alone.drivers)
        snapshot = restored.snapshot()
        restored = Stage(nodes)
        restored.restore(snapshot)
        assert bag(restored.step(batches, before, after)) == expected
        assert stage.due() == restored.due() == min(one.due() for one in alone.drivers)
        given += expected
        before = after
    assert given
    assert [one.stored for one in stage.counters] == [0] * len(nodes)


def test_the_watermark_of_each_operator_is_less_the_delay_below_it() -> None:
    stage = Stage(last_stage(QUERIES["DISTINCT over an aggregate whose rows are delayed"][0]))
    schema = arrow_schema(stage.drivers[0].node.inputs[0].schema)
    columns = pa.RecordBatch.from_arrays([pa.array([1], f.type) for f in schema], schema=schema)
    rows = ChangeBatch(columns, np.array([10]), np.array([15]))
    # The row comes 5 ticks behind the watermark at most: its count at 10 is final beyond 15.
    assert stage.step([rows], 5, 15) == []
    assert stage.due() == 16
    assert bag(stage.step([None], 15, 16)) == {(1, 1, 10, 1): 1}
    assert stage.due() == 21


def test_only_rows_of_streams_can_be_late() -> None:
    nodes = last_stage(JOIN)
    stage, random = Stage(nodes), Random(3)
    while not stage.counters[0].late:
        stage.step(drawn(nodes[0], random, 20), 20, 20)
    assert [one.late for one in stage.counters[1:]] == [0]


def test_the_lowest_may_go_on_to_a_watermark_that_those_above_do_not() -> None:
    nodes = last_stage(JOIN)
    schema = arrow_schema(nodes[0].inputs[0].schema)
    rows = ChangeBatch(
        pa.RecordBatch.from_arrays([pa.array([1], f.type) for f in schema], schema=schema),
        np.array([10]),
    )
    other = rows.columns.rename_columns(nodes[0].inputs[1].schema.names)
    stage = Stage(nodes)
    batches = [rows, ChangeBatch(other, np.array([10]))]
    assert stage.step(batches, 5, 5, ahead=30) == []
    assert [one.stored for one in stage.counters] == [0, 1]
    assert stage.due() == 11
    assert sum(bag(stage.step([None, None], 5, 11)).values()) == 1


def test_memory_is_that_of_all_operators_together() -> None:
    nodes = last_stage(JOIN)
    stage = Stage(nodes, memory=Memory(60, may_spill=False, is_tuples=True))
    schema = [arrow_schema(port.schema) for port in nodes[0].inputs]
    batches = [
        ChangeBatch(
            pa.RecordBatch.from_arrays([pa.array([1] * 9, f.type) for f in own], schema=own),
            np.full(9, 10),
        )
        for own in schema
    ]
    # 18 tuples in the join, and 81 pairs in the aggregate.
    with pytest.raises(DataError, match="SlidingAggregate"):
        stage.step(batches, 5, 5)


def test_the_state_of_one_operator_alone_stays_as_it_is() -> None:
    nodes = last_stage(JOIN)
    stage = Stage(nodes[:1])
    snapshot = stage.snapshot()
    assert together([snapshot]) is snapshot
    assert apart(snapshot) == [snapshot]
    assert snapshot == OperatorDriver(nodes[0]).snapshot()
    both = Stage(nodes).snapshot()
    assert together(apart(both)) == both
