"""Parts of a query's memory that follow what its buckets would hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.shed_joins import WINDOW, node, taken
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.load_shedding.join import ShedJoinOp
from windrow.physical.load_shedding.limits import Least, Shedding
from windrow.run.spark.shed_bucket_demand import Beforehand, Needs, part_of
from windrow.run.spark.shed_pane_counts import (
    MOST_SPANS,
    counts_of,
    most_held,
)
from windrow.schema import MAX_TICK, MIN_TICK

BUCKETS = 4
PANE = node().pane


def rows(seed: int, many: int = 300, ticks: int = 1_000) -> tuple[np.ndarray, np.ndarray]:
    """Times and buckets of rows, more of them in the first bucket."""
    dice = np.random.default_rng(seed)
    return dice.integers(0, ticks, many), np.minimum(dice.integers(0, 9, many), 3).astype(np.int32)


def told(parts: list[tuple[int, np.ndarray, np.ndarray]]) -> list[list[bytes]]:
    """What each bucket is told by tasks that send such parts of a batch."""
    found: list[list[bytes]] = [[] for _ in range(BUCKETS)]
    for port, times, buckets in parts:
        counts = counts_of(node(), times, buckets, BUCKETS)
        if counts is not None:
            for own, message in zip(found, counts.messages(port), strict=True):
                own.append(message)
    return found


def needs_of(blobs: list[bytes]) -> Needs:
    return Needs.told((), blobs)[0]


@pytest.mark.law
def test_every_bucket_knows_what_all_would_hold_however_tasks_cut_the_rows():
    sent = [(port, *rows(port)) for port in (0, 1)]
    cut = [(p, t[a:b], u[a:b]) for p, t, u in sent for a, b in ((0, 7), (7, 7), (7, 300))]
    for decided in (0, 330, 800):
        alive = decided - WINDOW
        for until in (500, MAX_TICK):
            known = [needs.held(node(), decided, until) for needs in map(needs_of, told(sent))]
            assert known == [
                needs.held(node(), decided, until) for needs in map(needs_of, told(cut))
            ]
            assert {whole for _, whole in known} == {sum(own for own, _ in known)}
            for bucket, (own, _) in enumerate(known):
                mine = np.concatenate([t[(u == bucket) & (t < until)] for _, t, u in sent])
                assert np.sum(mine >= alive) <= own <= np.sum(mine >= alive - PANE)


def test_needs_are_kept_from_one_batch_to_the_next_and_old_spans_forgotten():
    first, second = told([(0, *rows(1, ticks=300))])[0], told([(1, *rows(2, ticks=500))])[0]
    kept = needs_of(first).to_store(node(), 205)
    together, newest = Needs.told(kept, second)
    assert newest == {1: 499}
    at_once = needs_of([*first, *second])
    for decided in (200, 300):
        assert together.held(node(), decided, MAX_TICK) == at_once.held(node(), decided, MAX_TICK)
    assert together.to_store(node(), 400) == at_once.to_store(node(), 400)
    assert not together.to_store(node(), 2_000)
    # What has waited counts whatever panes are decided; what is at hand, with its pane.
    waited, _ = Needs.told(at_once.to_store(node(), 205), ())
    assert waited.held(node(), 200, 210) == at_once.held(node(), 200, MAX_TICK)
    assert together.held(node(), 200, 210) < at_once.held(node(), 200, MAX_TICK)


def test_rows_without_a_time_are_nobodys_and_long_spans_are_counted_together():
    none = np.full(3, MIN_TICK), np.zeros(3, np.int32)
    assert counts_of(node(), *none, BUCKETS) is None
    times = np.arange(0, 10_000_000, 997)
    counts = counts_of(node(), times, np.zeros(len(times), np.int32), BUCKETS)
    assert MOST_SPANS // 4 < len(counts.stops) <= MOST_SPANS
    assert counts.rows.sum() == len(times)


def test_rows_that_can_find_nothing_take_no_probes_and_no_room():
    times, buckets = np.array([5, 15, 25, 95]), np.zeros(4, np.int32)
    # The last one has no key, the first one is late.
    counts = counts_of(node(), times, buckets, BUCKETS, np.array([True, True, True, False]))
    told = [next(counts.messages(0))]
    needs, newest = Needs.told((), told, 10)
    assert newest == {0: 95}
    assert needs.held(node(), 10, MAX_TICK) == (2, 2)
    sent = list(needs.sent(node(), 10)(None, 100))
    assert [(own.first, own.whole) for own in sent if own.whole] == [(1, 1), (2, 1)]
    nobody = counts_of(node(), times, buckets, BUCKETS, np.zeros(4, np.bool_))
    assert Needs.told((), nobody.messages(0)) == (Needs({}, {}), {0: 95})


def test_the_most_that_a_bucket_would_hold_is_that_of_its_fullest_window():
    sent = [(port, *rows(port, many=500)) for port in (0, 1)]
    counted = [counts_of(node(), t, u, BUCKETS).table(p) for p, t, u in sent]
    most = most_held(node(), pa.Table.from_batches(counted), BUCKETS)
    for bucket, found in enumerate(most):
        windows = [
            sum(int(np.sum((t >= at - reach) & (t <= at) & (u == bucket))) for _, t, u in sent)
            for at in range(1_000)
            for reach in (WINDOW, WINDOW + 2 * PANE)
        ]
        assert max(windows[::2]) <= found <= max(windows[1::2])


WHOLE = Shedding(
    memory=100.0, service_rate=0.7, least_windows=(Least(30.0), Least(0.1, is_share=True))
)


def test_parts_make_the_whole_and_have_room_for_what_fits():
    equal, needs = WHOLE.part(BUCKETS), (61, 30, 9, 0)
    parts = [part_of(WHOLE, equal, own, sum(needs)) for own in needs]
    assert [part.memory for part in parts] == list(needs)
    assert sum(part.service_rate for part in parts) == pytest.approx(0.7)
    assert parts[1].service_rate == pytest.approx(0.3 * 0.7)
    assert parts[0].least_windows == (Least(18.3), Least(0.1, is_share=True))
    assert {part.parts for part in parts} == {BUCKETS}
    assert [part_of(WHOLE, equal, 3 * own, 300).memory for own in needs] == list(needs)
    assert part_of(WHOLE, equal, 0, 0) is equal


@pytest.mark.parametrize(("more", "is_equal"), [({}, False), ({"memory": 99.0}, True),
                                                ({"is_in_bytes": True}, True)])  # fmt: skip
def test_totals_have_equal_parts_unless_all_is_sure_to_fit(more, is_equal):
    whole = replace(Shedding(memory=100.0, is_estimated=True), **more)
    equal = whole.part(BUCKETS)
    assert (part_of(whole, equal, 70, 100) is equal) == is_equal


def batches_of(dice: np.random.Generator, steps: int) -> list[list[ChangeBatch]]:
    """Per step, the rows of both inputs: one key in three is that of half of them."""
    found = []
    for step in range(steps):
        inputs = []
        for name in "ab":
            times = step * 40 + dice.integers(0, 60, 40)
            keys = np.minimum(dice.integers(0, 6, 40), 3)
            columns = {f"{name}.k": pa.array(keys), f"{name}.v": pa.array(np.arange(40))}
            inputs.append(ChangeBatch(pa.record_batch(columns), times))
        found.append(inputs)
    return found


def run_in_buckets(steps: list[list[ChangeBatch]], whole: Shedding) -> tuple[Counter, list[int]]:
    """The results of all buckets, each made anew for every step, and what they store after each."""
    join = replace(node(), shedding=whole)
    states, stored = [None] * BUCKETS, [[]] * BUCKETS
    found, held = Counter(), []
    for number, inputs in enumerate(steps):
        homes = [(rows.columns.column(0).to_numpy() % BUCKETS).astype(np.int32) for rows in inputs]
        sent = [(port, rows.times, homes[port]) for port, rows in enumerate(inputs)]
        held.append(0)
        for bucket, blobs in enumerate(told(sent)):
            operator = ShedJoinOp(replace(join, shedding=whole.part(BUCKETS)))
            if states[bucket] is not None:
                operator.restore(states[bucket])
            needs, _ = Needs.told(stored[bucket], blobs)
            operator.follow(
                whole,
                lambda *span, own=needs: part_of(
                    whole, whole.part(BUCKETS), *own.held(join, *span)
                ),
                needs.sent(join, number * 40),
            )
            mine = [
                rows.take(np.flatnonzero(homes[port] == bucket)) for port, rows in enumerate(inputs)
            ]
            list(operator.push(mine))
            watermark = (number + 1) * 40
            found += taken(operator.advance(watermark))
            list(operator.settle())
            held[-1] += operator.counters.stored
            states[bucket], stored[bucket] = operator.snapshot(), needs.to_store(join, watermark)
    return found, held


@pytest.mark.law
@settings(max_examples=share_of(6), deadline=None, derandomize=True)
@given(seed=st.integers(0, 999), memory=st.integers(8, 200))
def test_buckets_together_never_hold_more_and_find_all_if_all_fits(seed, memory):
    steps = batches_of(np.random.default_rng(seed), 4)
    exact, most = run_in_buckets(steps, Shedding(memory=1e9))
    found, held = run_in_buckets(steps, Shedding(memory=float(memory), seed=seed))
    assert max(held) <= memory
    assert found <= exact
    # Panes are decided one by one: before a step ends some more may be held than after it.
    enough = float(max(most) + 2 * 40)
    assert run_in_buckets(steps, Shedding(memory=enough))[0] == exact
    # Two arrivals per tick; half of them are those of one bucket, which would have a quarter.
    assert run_in_buckets(steps, Shedding(memory=enough, service_rate=1.5))[0] == exact


@pytest.mark.parametrize("far", [-(10**15), 10**15])
def test_a_row_that_is_far_from_all_others_leaves_their_panes_as_they_are(far):
    times, buckets = rows(3)
    alone = needs_of(told([(0, times, buckets)])[0])
    beside = needs_of(told([(0, np.append(times, far), np.append(buckets, 0))])[0])
    assert beside.come == alone.come | {(0, far, far + PANE): (1, 1, 0)}


def test_late_rows_count_in_no_pane_that_was_over():
    join = node()
    stored = needs_of(told([(0, *rows(1, ticks=300))])[0]).to_store(join, 100)
    late = told([(0, *rows(2, ticks=300))])[0]
    needs, _ = Needs.told(stored, late)
    alone, _ = Needs.told(stored, ())
    assert [*needs.sent(join, 300)(None, 30)] == [*alone.sent(join, 300)(None, 30)]
    assert [*needs.sent(join, 200)(None, 20)] == [*alone.sent(join, 200)(None, 20)]
    assert [*needs.sent(join, 200)(20, 30)] != [*alone.sent(join, 200)(20, 30)]


def test_what_is_sent_is_the_same_by_messages_and_counted_beforehand():
    sent = [(port, *rows(port)) for port in (0, 1)]
    counted = [counts_of(node(), t, u, BUCKETS).table(p) for p, t, u in sent]
    beforehand = Beforehand.of(node(), pa.Table.from_batches(counted), BUCKETS)
    for bucket, blobs in enumerate(told(sent)):
        panes = [*needs_of(blobs).sent(node(), MIN_TICK)(None, 1_000)]
        assert panes == [*beforehand.sent(node(), bucket)(None, 1_000)]
        for own in panes:
            times = own.first * PANE, (own.first + 1) * PANE
            homes = np.concatenate([u[(t >= times[0]) & (t < times[1])] for _, t, u in sent])
            assert own.panes == 1
            assert own.whole == len(homes)
            assert (own.below, own.up_to) == (np.sum(homes < bucket), np.sum(homes <= bucket))
