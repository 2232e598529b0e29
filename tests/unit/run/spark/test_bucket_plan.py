"""Plans chosen in a streaming worker, without Spark: when, by what, and that no answer changes."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from random import Random

import pytest
from twins.join import Bound, Equal, Row, window_join
from unit.run.spark.fake_worker import Worker, compiled, planned

from windrow.optimize.choose.plans import REFERENCE_MACHINE
from windrow.optimize.planner import QueryPlanner
from windrow.physical.options import Options
from windrow.run.spark.bucket_plan import Chosen, Remembered, chosen_in_batch
from windrow.run.spark.stages import Spread, plan_stage, stateful_nodes
from windrow.schema import MIN_TICK

pytestmark = pytest.mark.slow

KEYED = "SELECT a.ts, b.ts AS bts FROM a, b WHERE a.k = b.k WINDOW = 5"
BAND = "SELECT a.ts, b.ts AS bts, a.v, b.v AS bv FROM a, b WHERE abs(a.v - b.v) < 2 WINDOW = 300"
FORCED = {
    "bew-hash": {"algorithm": "bew-hash"},
    "bew-nested-loop": {"algorithm": "bew-nested-loop"},
    "hw": {"algorithm": "hw"},
    "hash/ttree": {"structure": "hash/ttree"},
    "btree/buffer": {"structure": "btree/buffer"},
}


def spec_of(sql: str, **options: str):
    return stateful_nodes(planned(sql, **options).root)[0]


def worker(sql: str, planner=None, buckets: int = 1, **options: str) -> Worker:
    logical, query = compiled(sql, **options)
    usual = QueryPlanner(logical, Options(), query.options, {}, REFERENCE_MACHINE)
    planner = planner or usual
    (node,) = stateful_nodes(query.root)
    return Worker(plan_stage(query, (node,), 0, Spread(buckets, buckets), planner=planner))


class InTurn:
    """Plans by the next of some plans whenever it is asked."""

    def __init__(self, sql: str, *names: str) -> None:
        self.asked = 0
        self._nodes = [spec_of(sql, **FORCED[name]) for name in names]

    def names(self, node):
        del node
        return tuple(FORCED)

    def usual(self, node):
        return replace(node, algorithm="bew", method="hash", structures=())

    def planned(self, node, partitioning, seen):
        del node, partitioning, seen
        self.asked += 1
        return replace(self._nodes[(self.asked - 1) % len(self._nodes)], estimate=None)


def drawn(seed: int, start: int, rows: int, ticks: int):
    chance = Random(seed)
    return [
        (start + chance.randrange(ticks), chance.randrange(4), chance.randrange(900))
        for _ in range(rows)
    ]


def test_a_bucket_goes_on_by_trees_once_rows_come_thick() -> None:
    stage = worker(BAND)
    found, streams = [], ([], [])
    for number, rows in enumerate((6, 6, 9_000)):
        batches = [drawn(2 * number + port, 300 * number, rows, 300) for port in range(2)]
        for port in range(2):
            streams[port].extend(batches[port])
        found += stage.batch(MIN_TICK, *batches)
        (plan,) = stage.plans
        assert ("tree" in plan) == (rows == 9_000), plan
        assert stage.figures["plan_changes"] == (rows == 9_000)
    others = defaultdict(list)
    for at, _, v in streams[1]:
        others[v].append(at)
    expected = sorted(
        (at, v, then, w, max(at, then))
        for at, _, v in streams[0]
        for w in (v - 1, v, v + 1)
        for then in others[w]
        if abs(at - then) <= 300
    )
    assert found
    assert sorted(found) == expected


def test_trees_are_not_taken_where_each_micro_batch_would_rebuild_a_far_larger_window() -> None:
    stage = worker(BAND.replace("= 300", "= 100000"))
    stage.batch(MIN_TICK, *(drawn(port, 0, 1_000, 1_000) for port in range(2)))
    assert "tree" in stage.plans[0]
    stage.batch(MIN_TICK, [(1_001, 1, 5)], [(1_002, 1, 5)])
    assert stage.plans == ["bew-nested-loop"]


@pytest.mark.law
@pytest.mark.parametrize("name", ["bew-nested-loop", "hw", "hash/ttree", "btree/buffer"])
def test_the_state_is_the_same_whatever_plan_ran(name: str) -> None:
    stages = [worker(KEYED, InTurn(KEYED, one)) for one in ("bew-hash", name)]
    for number in range(7):
        batches = [drawn(9 * number + port, 4 * number, 5, 6) for port in range(2)]
        first, second = (stage.batch(4 * number - 2, *batches) for stage in stages)
        assert first == second
        assert stages[0].handle.entries == stages[1].handle.entries
        assert _manifests(stages[0]) == _manifests(stages[1])
    assert stages[1].plans == [name]


def _manifests(stage: Worker) -> list[dict]:
    """What the store has beside chunks, without the figures of the last step."""
    found = [json.loads(value[0]) for _, value in sorted(stage.handle.values.items())]
    return [
        {k: v for k, v in one.items() if k not in {"state_bytes", "intermediate"}} for one in found
    ]


@pytest.mark.law
def test_a_plan_that_changes_with_every_micro_batch_changes_no_answer() -> None:
    stage = worker(KEYED, InTurn(KEYED, *FORCED), buckets=2)
    found, streams = [], ([], [])
    for number in range(8):
        # Six times as many, then as few: each time a reason to plan anew.
        rows = 3 * 6 ** (number % 2)
        batches = [drawn(7 * number + port, 6 * number, rows, 6) for port in range(2)]
        for port in range(2):
            streams[port].extend(batches[port])
        found += stage.batch(MIN_TICK, *batches)
    inputs = [[Row({"k": k}, t) for t, k, _ in stream] for stream in streams]
    pairs = window_join(inputs, [Equal({0: "k", 1: "k"})], [Bound(0, 1, 5, 5)])
    expected = sorted((*(row.time for row in pair.rows), pair.time) for pair in pairs)
    assert sorted(found) == expected
    assert stage.planner.asked > 8


def test_a_plan_stays_while_its_numbers_do() -> None:
    stage = worker(KEYED, InTurn(KEYED, "bew-hash", "hash/ttree"))
    for number, rows in enumerate((40, 60, 25, 40)):
        stage.batch(MIN_TICK, *(drawn(number, 40 * number, rows, 40) for _ in range(2)))
    assert stage.planner.asked == 1
    stage.batch(MIN_TICK, *(drawn(9, 160, 400, 40) for _ in range(2)))
    assert stage.planner.asked == 2
    assert stage.plans == ["hash/ttree"]


def test_without_rows_nothing_is_chosen() -> None:
    stage = worker(KEYED, InTurn(KEYED, "hash/ttree"))
    stage.batch(MIN_TICK, [(1, 1, 1), (2, 1, 1)], [(3, 1, 1)])
    assert stage.batch(900, [], []) == []
    assert (stage.planner.asked, stage.plans, stage.figures["stored"]) == (1, [], 0)


@pytest.mark.parametrize("options", [{"algorithm": "bew"}, {"structure": "hash/hash"}])
def test_a_plan_that_was_asked_for_stays(options) -> None:
    assert worker(KEYED, **options).plan.choice is None


def test_what_is_no_inner_join_by_time_has_no_plans_to_choose() -> None:
    for sql in (
        "SELECT a.ts FROM a LEFT JOIN b ON a.k = b.k WINDOW = 5",
        "SELECT a.ts FROM a [ROWS 3], b [ROWS 3] WHERE a.k = b.k",
        "SELECT SUM(v) AS s FROM a [RANGE 5]",
    ):
        assert worker(sql).plan.choice is None, sql


def test_a_worker_forgets_the_buckets_of_long_ago() -> None:
    planner = InTurn(KEYED, "bew-hash")
    stage = worker(KEYED, planner).plan
    memory = Remembered(most=2)
    come = [None, None]
    for bucket in (1, 2, 1, 3, 1, 2):
        assert isinstance(chosen_in_batch(memory, bucket, stage, come), Chosen)
    assert planner.asked == 4  # 1, 2, 3, and 2 once more


def test_a_checkpoint_is_not_bound_to_a_choice() -> None:
    chosen, forced = worker(KEYED), worker(KEYED, structure="btree/hash")
    assert chosen.plan.identity == forced.plan.identity
    chosen.batch(MIN_TICK, [(1, 7, 0)], [])
    forced.handle.values, forced.handle.entries = chosen.handle.values, chosen.handle.entries
    assert forced.batch(MIN_TICK, [], [(4, 7, 0)]) == [(1, 4, 4)]
