"""The bestmatch operator against the twin: any rows, any batches, any order within the promise."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.bestmatch import JUDGED, Rules, bestmatch, proofs

from windrow.operators import keys
from windrow.operators.base import Snapshot
from windrow.operators.bestmatch import MatwinBestmatchOp
from windrow.operators.changes import ChangeBatch
from windrow.operators.chunks import Chunk, ChunkSlice, decode, encode
from windrow.operators.partition import own_rows, route
from windrow.physical.partitioning import partitioning_of
from windrow.physical.specs import KeyClass, MatwinBestmatch, ScanStream
from windrow.plan.nodes import Dimension
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

EXAMPLES = settings(max_examples=200, deadline=None, derandomize=True)

ARROW = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "float": pa.float32(),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(6,1)": pa.decimal128(6, 1),
    "string": pa.string(),
    "date": pa.date32(),
}


def scan(alias, fields):
    schema = Schema(tuple(Field(f"{alias}.{name}", kind) for name, kind in fields))
    names = tuple(name for name, _ in fields)
    return ScanStream(alias, alias, names, schema, f"{alias}.t", "bigint", 0)


@dataclass(frozen=True)
class Case:
    """One join, its rows in arrival order, cut into micro-batches with their watermarks."""

    kinds: tuple[str, ...]
    key_kinds: tuple[str, ...]
    rules: Rules
    left: tuple[dict, ...]
    right: tuple[dict, ...]
    batches: tuple[tuple[tuple[int, ...], tuple[int, ...], int, bool], ...]
    """Left rows, right rows (by place), watermark after, and whether to restart then."""

    def spec(self):
        fields = [("t", "bigint"), ("id", "bigint")]
        fields += [(f"y{i}", kind) for i, kind in enumerate(self.kinds)]
        fields += [(f"k{i}", kind) for i, kind in enumerate(self.key_kinds)]
        dimensions = [
            Dimension(f"l.y{i}", f"r.y{i}", "mindist", None if eps is None else float(eps))
            for i, eps in enumerate(self.rules.eps)
        ]
        if self.rules.time_order is not None:
            dimensions.insert(0, Dimension("l.t", "r.t", "mindist", None, is_time=True))
        classes = tuple(
            KeyClass((f"l.k{i}", f"r.k{i}"), kind, self.rules.null_safe[i])
            for i, kind in enumerate(self.key_kinds)
        )
        schema = Schema((Field("l.id", "bigint"), Field("r.id", "bigint")))
        return MatwinBestmatch(
            left=scan("l", fields),
            right=scan("r", fields),
            dimensions=tuple(dimensions),
            classes=classes,
            lo=self.rules.lo,
            hi=self.rules.hi,
            keep=(("l.id",), ("r.id",)),
            keep_unmatched=self.rules.keep_unmatched,
            schema=schema,
            kind=self.rules.kind,
        )

    def batch(self, alias, places):
        rows = [(self.left if alias == "l" else self.right)[place] for place in places]
        if not rows:
            return None
        columns = {
            f"{alias}.t": pa.array([row["t"] for row in rows], pa.int64()),
            f"{alias}.id": pa.array([row["id"] for row in rows], pa.int64()),
        }
        for i, kind in enumerate(self.kinds):
            values = [arrow_value(row["y"][i], kind) for row in rows]
            columns[f"{alias}.y{i}"] = pa.array(values, ARROW[kind])
        for i, kind in enumerate(self.key_kinds):
            columns[f"{alias}.k{i}"] = pa.array([row["k"][i] for row in rows], ARROW[kind])
        times = np.array([row["t"] for row in rows], np.int64)
        return ChangeBatch(pa.RecordBatch.from_pydict(columns), times)


def arrow_value(value, kind):
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return value


def values_of(kind):
    if kind in ("double", "float"):
        usual = st.integers(-8, 8).map(lambda n: n / 4)
        odd = st.sampled_from([math.nan, math.inf, -math.inf, -0.0, None])
    elif kind.startswith("decimal"):
        usual = st.integers(-8, 8).map(lambda n: Fraction(n, 10))
        odd = st.just(None)
    else:
        usual = st.integers(-4, 4)
        odd = st.just(None) if kind == "int" else st.sampled_from([None, 2**63 - 1, -(2**63)])
    return st.one_of(usual, usual, usual, usual, odd)


@st.composite
def cases(draw, most_rows=24, key_kinds=("bigint", "string"), kind="left outer"):
    kinds = tuple(
        draw(st.lists(st.sampled_from(["bigint", "int", "double", "decimal(6,1)"]), max_size=3))
    )
    time_dimension = not kinds or draw(st.booleans())
    keyed = tuple(draw(st.lists(st.sampled_from(key_kinds), max_size=2))) if key_kinds else ()
    eps = tuple(draw(st.sampled_from([None, 0, Fraction(3, 2), 3, 5])) for _ in kinds)
    rules = Rules(
        eps=eps,
        null_safe=tuple(draw(st.booleans()) for _ in keyed),
        lo=draw(st.integers(-2, 6)),
        hi=draw(st.integers(-2, 6)),
        time_order="mindist" if time_dimension else None,
        keep_unmatched=draw(st.booleans()),
        kind=kind,
    )
    key_value = {
        "bigint": st.sampled_from([None, 1, 2]),
        "string": st.sampled_from([None, "", "a", "b"]),
    }

    def rows(alias):
        row = st.fixed_dictionaries(
            {
                "t": st.integers(0, 20),
                "y": st.tuples(*[values_of(kind) for kind in kinds]),
                "k": st.tuples(*[key_value[kind] for kind in keyed]),
            }
        )
        listed = draw(st.lists(row, max_size=most_rows))
        return tuple({**row, "id": place} for place, row in enumerate(listed))

    left, right = rows("l"), rows("r")
    return Case(kinds, keyed, rules, left, right, draw(schedules(left, right)))


@st.composite
def schedules(draw, left, right):
    """Cuts of both streams into batches: no row is below the watermark as its batch begins."""
    delays = st.integers(0, 6)
    arrivals = [("l", i, row["t"] + draw(delays)) for i, row in enumerate(left)]
    arrivals += [("r", i, row["t"] + draw(delays)) for i, row in enumerate(right)]
    arrivals.sort(key=lambda arrival: arrival[2])
    times = {"l": [row["t"] for row in left], "r": [row["t"] for row in right]}
    batches, watermark, rest = [], MIN_TICK, arrivals
    while rest:
        size = draw(st.integers(1, 6))
        now, rest = rest[:size], rest[size:]
        open_times = [times[side][i] for side, i, _ in rest]
        reachable = min(open_times, default=30)
        if draw(st.booleans()):
            watermark = max(watermark, reachable - draw(st.integers(0, 3)))
        batches.append(
            (
                tuple(i for side, i, _ in now if side == "l"),
                tuple(i for side, i, _ in now if side == "r"),
                watermark,
                draw(st.booleans()),
            )
        )
    return (*batches, ((), (), MAX_TICK, False))


def restarted(operator, spec, own=None):
    """Another operator with the first one's state, every chunk by way of its bytes."""
    snapshot = operator.snapshot()
    buffers = {}
    for name, slices in snapshot.buffers.items():
        buffers[name] = tuple(
            ChunkSlice(Chunk(batch, batch.times), part.skip)
            for part in slices
            for batch in [decode(encode(part.chunk.batch))]
        )
    fresh = MatwinBestmatchOp(spec, own)
    fresh.restore(Snapshot(snapshot.kind, buffers, snapshot.numbers, snapshot.version))
    return fresh


def held(operator, name):
    kept = operator.snapshot().buffers
    return [int(t) for part in kept.get(name, ()) for t in part.rows().times]


def ids(batches):
    return [(row["l.id"], row["r.id"]) for batch in batches for row in batch.columns.to_pylist()]


def check(case):
    """Runs a case step by step; what comes out, when, and what stays are all checked."""
    spec, rules = case.spec(), case.rules
    operator = MatwinBestmatchOp(spec)
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
            operator = restarted(operator, spec)
    assert produced == expected
    assert operator.counters.stored == 0
    assert operator.counters.state_bytes == 0


def in_buckets(case, buckets):
    """The answer of a case that is cut into cells, bucket by bucket."""
    spec = case.spec()
    cells = partitioning_of(spec, buckets)
    owns = [own_rows(spec, cells, bucket) for bucket in range(buckets)]
    operators = [MatwinBestmatchOp(spec, own) for own in owns]
    produced: Counter = Counter()
    for left, right, watermark, restart in case.batches:
        arrived = []
        for port, batch in enumerate([case.batch("l", left), case.batch("r", right)]):
            if batch is None:
                arrived.append(None)
            else:
                arrived.append((batch, *route(spec, cells, port, batch, buckets)))
        for bucket, own in enumerate(owns):
            operator = operators[bucket]
            batches = [
                None if found is None else found[0].take(found[1][found[2] == bucket])
                for found in arrived
            ]
            assert list(operator.push(batches)) == []
            produced.update(ids(operator.advance(watermark)))
            if restart:
                operators[bucket] = restarted(operator, spec, own)
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


@pytest.mark.parametrize("kind", list(JUDGED))
def test_every_pair_comes_once_as_soon_as_it_is_final_and_nothing_is_held_longer(kind):
    @EXAMPLES
    @given(cases(most_rows=16, kind=kind))
    def hold(case):
        check(case)

    hold()


@pytest.mark.parametrize("kind", list(JUDGED))
def test_every_pair_comes_from_one_bucket_however_the_rows_are_copied(kind):
    @EXAMPLES
    @given(cases(most_rows=16, key_kinds=(), kind=kind), st.integers(2, 5))
    def hold(case, buckets):
        expected = Counter(bestmatch(case.left, case.right, case.rules))
        assert in_buckets(case, buckets) == expected

    hold()


@EXAMPLES
@given(cases(most_rows=16, key_kinds=("string",)))
def test_keys_whose_hashes_collide_are_told_apart_by_value(case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "key_words", colliding_words)
        check(case)


def colliding_words(columns, *, nulls_match):
    """Words that are the same for nearly every value."""
    words = real_key_words(columns, nulls_match=nulls_match)
    return keys.KeyWords(words.words % np.uint64(2), words.valid, exact=False)


real_key_words = keys.key_words


@settings(max_examples=60, deadline=None, derandomize=True)
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
    unit = 0.25 if kind in ("double", "float") else 1

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
    check(Case((kind, "int"), (), rules, left, right, batches))


def whole_or_float(value, kind):
    return float(value) if kind in ("double", "float") else int(value)
