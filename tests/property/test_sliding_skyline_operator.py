"""The best pairs of each instant, against asking at every one: any pairs, orders, batches, restarts."""

from __future__ import annotations

import pickle
from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.match_runs import FUNCTIONS, both
from cases.tape import tapes
from hypothesis import given, settings
from twins.bestmatch import BETTER, EQUAL, less_is_better, superset_is_better

from windrow.operators.bestmatch import dominance as rival_pairs
from windrow.operators.bestmatch import sliding_skyline
from windrow.operators.bestmatch.sliding_skyline import SlidingSkylineOp, ever_best
from windrow.operators.columns.changes import ChangeBatch, concat
from windrow.physical.nodes.bestmatch import SlidingSkyline
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.stateless import RangeRows
from windrow.plan.nodes.bestmatch_join import MINDIST, SUBSET, Dimension
from windrow.schema import MAX_TICK, Field, Schema

pytestmark = pytest.mark.law

FIELDS = {"id": "bigint", "x": "bigint", "p": "bigint", "tags": "array<string>"}
SCHEMA = Schema(tuple(Field(f"{side}.{n}", t) for side in "ab" for n, t in FIELDS.items()))
ARROW = {"bigint": pa.int64(), "array<string>": pa.list_(pa.string())}
GROUPS = {"plain": ((),), "left outer": (("a.id",),), "full outer": (("a.id",), ("b.id",))}
ORDERS = {
    "x": (Dimension("a.x", "b.x", MINDIST, 3), less_is_better, lambda a, b: abs(a - b)),
    "tags": (
        Dimension("a.tags", "b.tags", SUBSET, None),
        superset_is_better,
        lambda a, b: (frozenset(a) & frozenset(b)) - {None},
    ),
    "p": (
        Dimension("a.p", "b.p", "both", None, function=FUNCTIONS["both"]),
        lambda one, other: both(*one, *other),
        lambda a, b: (a, b),
    ),
}


class Case:
    """Pairs, each with the times at which it is alive, and rows that stand for having no pair."""

    def __init__(self, kind: str, random: Random) -> None:
        self.kind = kind
        self.keeps = kind != "plain" and random.random() < 0.5
        self.orders = random.sample(list(ORDERS), random.randrange(1, 4))
        self.rows = [self._row(random) for _ in range(random.randrange(14))]
        self.batches = self._batches(random)
        scan = ScanStream("s", "s", SCHEMA.names, SCHEMA, "t", "bigint", 0)
        dimensions = tuple(ORDERS[name][0] for name in self.orders)
        marks = ("a.id", "b.id") if self.keeps else ()
        shown = Schema(tuple(f for f in SCHEMA.fields if f.type == "bigint"))
        groups = GROUPS[kind]
        self.node = SlidingSkyline(
            RangeRows(scan, 5), kind, dimensions, groups, groups[0], shown, marks
        )

    def _row(self, random: Random):
        row = {f.name: _value(random, f.name[2:]) for f in SCHEMA.fields}
        if self.keeps and random.random() < 0.4:
            lacking = random.choice("ab") if self.kind == "full outer" else "b"
            row |= {name: None for name in row if name[0] == lacking}
        first = random.randrange(9)
        last = MAX_TICK if self.kind == "plain" and random.random() < 0.3 else first
        return row, first, last if last == MAX_TICK else first + random.randrange(6)

    def _batches(self, random: Random):
        """Which rows come together, in the order of time but for disorder, and watermarks."""
        order = sorted(range(len(self.rows)), key=lambda i: self.rows[i][1] + random.randrange(4))
        batches = []
        while order:
            size = random.randrange(1, 6)
            own, order = order[:size], order[size:]
            least = min([self.rows[i][1] for i in order], default=20)
            batches.append((own, least if random.random() < 0.7 else None, random.random() < 0.5))
        return [*batches, ([], MAX_TICK, False)]

    def batch(self, places):
        rows = [self.rows[i] for i in places]
        columns = [pa.array([r[0][f.name] for r in rows], ARROW[f.type]) for f in SCHEMA.fields]
        times, ends = (np.array([r[i] for r in rows], np.int64) for i in (1, 2))
        names = list(SCHEMA.names)
        return ChangeBatch(pa.RecordBatch.from_arrays(columns, names=names), times, ends)

    def changes(self, sent=lambda batch: batch):
        """Every change as (time, sign, row); `sent` is what becomes of a batch on its way."""
        operator, found, watermark = SlidingSkylineOp(self.node), [], 0
        for places, to, stops in self.batches:
            if places:
                assert not list(operator.push([sent(self.batch(places))]))
            watermark = watermark if to is None else max(watermark, to)
            for batch in operator.advance(watermark):
                rows = [tuple(row.values()) for row in batch.columns.to_pylist()]
                found += zip(batch.times.tolist(), batch.signs.tolist(), rows, strict=True)
                assert batch.ends is None
            assert operator.due() > watermark or watermark == MAX_TICK
            held = [part.rows() for part in operator.snapshot().buffers["there"]]
            assert all((rows.ends_or_never() >= watermark).all() for rows in held)
            if stops:
                saved = pickle.loads(pickle.dumps(operator.snapshot()))
                operator = SlidingSkylineOp(self.node)
                operator.restore(saved)
        return found

    def expected(self, instant):
        there = [row for row, first, end in self.rows if first <= instant < end]
        alone = [row for row in there if None in (row["a.id"], row["b.id"])]
        pairs = [row for row in there if row not in alone and self._is_candidate(row)]
        sides = [names[0] if names else None for names in GROUPS[self.kind]]

        def is_best(row, side):
            rivals = [p for p in pairs if side is None or p[side] == row[side]]
            return not any(self._dominates(p, row) for p in rivals)

        best = [row for row in pairs if any(is_best(row, side) for side in sides)]
        best += [
            row
            for row in alone
            if not any(
                p[side] == row[side] for p in pairs for side in sides if row[side] is not None
            )
        ]
        return Counter(tuple(v for n, v in row.items() if n[2:] != "tags") for row in best)

    def _is_candidate(self, row):
        values = [row[f"{side}.{name}"] for name in self.orders for side in "ab"]
        near = "x" not in self.orders or None in values or abs(row["a.x"] - row["b.x"]) <= 3
        return None not in values and near

    def _dominates(self, one, other):
        found = []
        for name in self.orders:
            _, compare, worth = ORDERS[name]
            found.append(compare(*(worth(r[f"a.{name}"], r[f"b.{name}"]) for r in (one, other))))
        return all(said in (BETTER, EQUAL) for said in found) and BETTER in found


def _value(random: Random, name: str):
    if name == "id":
        return random.randrange(3)
    if name == "tags":
        return random.choice(
            [None, [], [None], ["q"], ["q", "r"], ["r", None], ["r", "q", "q"], [None, "q", None]]
        )
    return random.choice([None, 0, 0, 1, 2, 5])


def at(changes, instant):
    answer = Counter()
    for time, sign, row in changes:
        if time <= instant:
            answer[row] += sign
    assert min(answer.values(), default=0) >= 0
    return +answer


@pytest.mark.parametrize("kind", GROUPS)
@settings(max_examples=share_of(70), deadline=None, derandomize=True)
@given(random=tapes(1024))
def test_what_comes_and_goes_is_what_is_best(kind, random):
    case = Case(kind, random)
    with pytest.MonkeyPatch.context() as patch:
        # So few comparisons at a time that a group is judged in several blocks.
        patch.setattr(rival_pairs, "MOST_COMPARISONS", random.choice([1, 4, 1 << 16]))
        # And so few pairs that the best of those that wait are looked for, again and again.
        patch.setattr(sliding_skyline, "MOST_UNJUDGED", random.choice([1, 2, 5, 1 << 17]))
        patch.setattr(sliding_skyline.SlidingSkylineOp, "step_rows", random.choice([1, 3, 1 << 16]))
        changes = case.changes()
        sent = case.changes(lambda batch: ever_best(case.node, batch))
    for instant in range(16):
        assert at(changes, instant) == case.expected(instant)
        assert at(sent, instant) == case.expected(instant)


def test_a_step_writes_the_pairs_that_change_and_no_others():
    case = Case("left outer", Random(1))
    many = 5000
    node = SlidingSkyline(
        case.node.input, "left outer", (ORDERS["x"][0],), (("a.id",),), ("a.id",), SCHEMA
    )
    operator = SlidingSkylineOp(node)

    def pairs(ids, x, time):
        columns = {f.name: pa.nulls(len(ids), ARROW[f.type]) for f in SCHEMA.fields}
        columns |= {"a.id": pa.array(ids), "a.x": pa.array([0] * len(ids)), "b.x": pa.array(x)}
        times = np.full(len(ids), time)
        return ChangeBatch(pa.RecordBatch.from_pydict(columns), times, times + 100)

    list(operator.push([pairs(list(range(many)), [2] * many, 1)]))
    assert sum(map(len, operator.advance(2))) == many
    before = {id(part.chunk) for part in operator.snapshot().buffers["there"]}
    compared = operator.counters.comparisons
    list(operator.push([pairs([7, 9], [1, 3], 2)]))
    changes = concat(list(operator.advance(3)))
    assert changes.signs.tolist() == [-1, 1]
    assert operator.counters.comparisons - compared == 2
    slices = operator.snapshot().buffers["there"]
    # The pair of 7 is out for good, and the new ones are written: one shown, one for later.
    assert sum(len(part) for part in slices if id(part.chunk) not in before) == 2
    assert operator.counters.stored == many + 1


def test_pairs_that_wait_are_no_more_than_may_be_in_the_answer_and_those_that_came_last():
    """However many candidates a push brings: one left tuple, and ever nearer and farther ones."""
    case = Case("left outer", Random(1))
    node = SlidingSkyline(
        case.node.input, "left outer", (ORDERS["x"][0],), (("a.id",),), ("a.id",), SCHEMA
    )
    operator, slice_rows, best = SlidingSkylineOp(node), 50, 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliding_skyline, "MOST_UNJUDGED", slice_rows)
        for _ in range(100):
            columns = {f.name: pa.nulls(30, ARROW[f.type]) for f in SCHEMA.fields}
            columns |= {"a.id": pa.array([*range(best)] * 10), "a.x": pa.array([0] * 30)}
            columns["b.x"] = pa.array([0] * best + [2] * (30 - best))
            times = np.ones(30, np.int64)
            batch = ChangeBatch(pa.RecordBatch.from_pydict(columns), times, times + 100)
            assert not list(operator.push([batch]))
            # Of every push the nearest stay, all as good.
            pushes = operator.counters.rows_in // 30
            assert operator.counters.stored <= 2 * best * pushes + slice_rows
    assert sum(map(len, operator.advance(2))) == best * 100
