"""The bestmatch operator against the twin: any rows, any batches, any order within the promise."""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random

import numpy as np
import pytest
from case_share import share_of
from cases.match_runs import MatchRun, draw_match_run
from cases.tape import drawn
from colliding_words import colliding_words
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.bestmatch import JUDGED, Rules, bestmatch, proofs

from windrow.operators.bestmatch.bestmatch import MatwinBestmatchOp
from windrow.operators.columns import key_columns as keys
from windrow.operators.columns.chunks import Chunk, ChunkSlice, decode, encode
from windrow.operators.engine.base import Snapshot
from windrow.operators.routing.partition import own_rows, route
from windrow.schema import MAX_TICK, MIN_TICK

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(100), deadline=None, derandomize=True)


def restarted(operator, node, own=None):
    """Another operator with the first one's state, every chunk by way of its bytes."""
    snapshot = operator.snapshot()
    buffers = {}
    for name, slices in snapshot.buffers.items():
        buffers[name] = tuple(
            ChunkSlice(Chunk(batch, batch.times), part.skip)
            for part in slices
            for batch in [decode(encode(part.chunk.batch))]
        )
    fresh = MatwinBestmatchOp(node, own)
    fresh.restore(Snapshot(snapshot.kind, buffers, snapshot.numbers, snapshot.version))
    return fresh


def held(operator, name):
    kept = operator.snapshot().buffers
    return [int(t) for part in kept.get(name, ()) for t in part.rows().times]


def ids(batches):
    return [(row["l.id"], row["r.id"]) for batch in batches for row in batch.columns.to_pylist()]


def check(case):
    """Runs a case step by step; what comes out, when, and what stays are all checked."""
    node, rules = case.node(), case.rules
    operator = MatwinBestmatchOp(node)
    proven = proofs(case.left, case.right, rules)
    expected = Counter(proven.keys())
    produced: Counter = Counter()
    arrived: tuple[set[int], set[int]] = (set(), set())
    for left, right, watermark, restart in case.batches:
        arrived[0].update(left)
        arrived[1].update(right)
        assert list(operator.push([case.batch("l", left), case.batch("r", right)])) == []
        due, before = operator.due(), in_state(operator, rules)
        out = list(operator.advance(watermark))
        produced.update(ids(out))
        check_times(case, out)

        # Exactly what is proven has come out: none sooner, none later.
        here = {p for p in expected if all(p[i] is None or p[i] in arrived[i] for i in (0, 1))}
        assert produced == Counter({p: expected[p] for p in here if proven[p] < watermark})
        check_state(operator, rules, watermark)
        # Due says whether this watermark changes anything.
        after = in_state(operator, rules)
        assert (due <= watermark and due < MAX_TICK) == (before != after)
        assert operator.counters.stored == sum(map(len, after.values()))
        if restart:
            operator = restarted(operator, node)
    assert produced == expected
    assert operator.counters.stored == 0
    assert operator.counters.state_bytes == 0


def in_buckets(case, buckets):
    """The answer of a case that is cut into cells, bucket by bucket."""
    node = case.node()
    cells = node.partitioning(buckets)
    owns = [own_rows(node, cells, bucket) for bucket in range(buckets)]
    operators = [MatwinBestmatchOp(node, own) for own in owns]
    produced: Counter = Counter()
    for left, right, watermark, restart in case.batches:
        arrived = []
        for port, batch in enumerate([case.batch("l", left), case.batch("r", right)]):
            if batch is None:
                arrived.append(None)
            else:
                arrived.append((batch, *route(node, cells, port, batch, buckets)))
        for bucket, own in enumerate(owns):
            operator = operators[bucket]
            batches = [
                None if found is None else found[0].take(found[1][found[2] == bucket])
                for found in arrived
            ]
            assert list(operator.push(batches)) == []
            produced.update(ids(operator.advance(watermark)))
            if restart:
                operators[bucket] = restarted(operator, node, own)
    assert not any(operator.counters.stored for operator in operators)
    return produced


def in_state(operator, rules):
    """The times of the rows that wait to be judged, and of those that are kept to be met."""
    sides = {"l": "left", "r": "right"}
    state = {}
    for side, name in sides.items():
        is_judged = side in JUDGED[rules.kind]
        state[f"{side} waiting"] = held(operator, name) if is_judged else []
        state[f"{side} met"] = held(operator, f"{name} met" if is_judged else name)
    return state


def check_state(operator, rules, watermark):
    """What stays: rows that wait, and those that one of them or one to come can reach."""
    state = in_state(operator, rules)
    waits = {"l": rules.hi, "r": rules.lo}
    for side, other in ("lr", "rl"):
        assert all(t + waits[side] >= watermark for t in state[f"{side} waiting"])
        needed_from = min([watermark, *state[f"{other} waiting"]])
        assert all(t + waits[side] >= needed_from for t in state[f"{side} met"])
        longest = waits[side] + max(waits[other], 0)
        assert all(t + longest >= watermark for t in state[f"{side} met"])


def check_times(case, out):
    for batch in out:
        for (left, right), time in zip(ids([batch]), batch.times, strict=True):
            pair = [(case.left, left), (case.right, right)]
            assert time == max(rows[at]["t"] for rows, at in pair if at is not None)


@pytest.mark.parametrize("by_value", [False, True], ids=["by distance", "by value"])
@pytest.mark.parametrize("kind", list(JUDGED))
def test_every_pair_comes_once_as_soon_as_it_is_final_and_nothing_is_held_longer(kind, by_value):
    @EXAMPLES
    @given(drawn(partial(draw_match_run, kind=kind, by_value=by_value)))
    def hold(case):
        check(case)

    hold()


@pytest.mark.parametrize("kind", list(JUDGED))
def test_every_pair_comes_from_one_bucket_however_the_rows_are_copied(kind):
    @settings(EXAMPLES, max_examples=share_of(60))
    @given(drawn(partial(draw_match_run, kind=kind, key_kinds=())), st.integers(2, 5))
    def hold(case, buckets):
        expected = Counter(bestmatch(case.left, case.right, case.rules))
        assert in_buckets(case, buckets) == expected

    hold()


@pytest.mark.parametrize("kind", list(JUDGED))
@pytest.mark.parametrize("seed", range(15))
def test_pairs_over_the_borders_of_many_cells_come_from_one_bucket(kind, seed):
    """Places and times 8 cells wide: most rows lie within two reaches of a border."""
    random = Random(seed)
    eps, reach = random.choice([(2, 1), (1, 3)])

    def rows():
        return tuple(
            {
                "id": place,
                "t": random.randrange(48 * reach),
                "y": (random.randrange(-16 * eps, 16 * eps), random.randrange(3)),
                "k": (),
            }
            for place in range(250)
        )

    rules = Rules((eps, None), (), reach, reach, keep_unmatched=True, kind=kind)
    left, right = rows(), rows()
    batches = ((tuple(range(250)), tuple(range(250)), MAX_TICK, False),)
    case = MatchRun(("bigint",) * 2, ("mindist",) * 2, (), rules, left, right, batches)
    assert in_buckets(case, 6) == Counter(bestmatch(left, right, rules))


@pytest.mark.parametrize("by_value", [False, True], ids=["by distance", "by value"])
def test_keys_whose_hashes_collide_are_told_apart_by_value(by_value):
    @EXAMPLES
    @given(drawn(partial(draw_match_run, key_kinds=("string",), by_value=by_value)))
    def hold(case):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(keys, "key_words", colliding_words)
            check(case)

    hold()


@settings(max_examples=share_of(60), deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["bigint", "double", "decimal(10,2)", "float", "date"]),
    eps=st.sampled_from([0, 1, 3, 20]),
    spread=st.sampled_from([5, 60, 2000]),
    lo=st.integers(0, 40),
    hi=st.integers(0, 40),
)
def test_a_grid_finds_what_the_cross_product_finds(seed, kind, eps, spread, lo, hi):
    random = np.random.default_rng(seed)
    unit = 0.1 if kind == "float" else 0.25 if kind == "double" else 1

    def rows(count):
        return tuple(
            {
                "t": int(random.integers(0, 60)),
                "y": (random.integers(-spread, spread) * unit, int(random.integers(0, 9))),
                "k": (),
                "id": place,
            }
            for place in range(count)
        )

    left, right = rows(60), rows(250)
    for row in (*left, *right):
        row["y"] = (whole_or_float(row["y"][0], kind), row["y"][1])
    rules = Rules(eps=(eps * unit, 6), lo=lo, hi=hi, time_order="mindist" if seed % 2 else None)
    halves = [tuple(range(125)), tuple(range(125, 250))]
    batches = (
        (tuple(range(60)), halves[0], MIN_TICK, True),
        ((), halves[1], MIN_TICK, False),
        ((), (), 30, False),
        ((), (), MAX_TICK, False),
    )
    check(MatchRun((kind, "int"), ("mindist",) * 2, (), rules, left, right, batches))


def whole_or_float(value, kind):
    return {"double": float, "float": np.float32}.get(kind, int)(value)
