"""Bestmatch joins whose windows go to pages: the answer, when it comes, and the memory it takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
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
from twins.bestmatch import JUDGED, Rules, proofs

from windrow.operators.bestmatch.bestmatch import MatwinBestmatchOp
from windrow.operators.bestmatch.match_index import MatchIndexer
from windrow.operators.bestmatch.pages.lines import LineCoder
from windrow.operators.bestmatch.pages.page_file import PageCounts
from windrow.operators.bestmatch.pages.page_search import PageSearch
from windrow.operators.bestmatch.pages.paged_bestmatch import PagedBestmatchOp
from windrow.operators.bestmatch.pages.paged_windows import PagedWindows, PageSizes
from windrow.operators.columns import key_columns as keys
from windrow.operators.columns.chunks import Chunk, ChunkSlice, decode, encode
from windrow.operators.engine.base import Counters, Snapshot, build
from windrow.operators.engine.memory import Memory
from windrow.operators.routing.partition import own_rows, route
from windrow.physical.algorithms import GRID_PAGES, PAGED

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(60), deadline=None, derandomize=True)
BYTES = 4_000


class Bounded:
    """A join by pages within a memory, in bytes or tuples, from one restart to the next.

    With tiny pages there are as many as there need to be, beyond what memory has room for.
    """

    def __init__(self, random: Random, case: MatchRun, own=None, *, is_tiny=False) -> None:
        self.random, self.node, self.own = random, case.node(), own
        self.is_tuples = random.random() < 0.5
        self.limit = random.randrange(24, 60) if self.is_tuples else random.randrange(1_300, 6_000)
        self.sizes = None
        if is_tiny:
            self.limit = 20 if self.is_tuples else 1_000
            self.sizes = PageSizes(random.randrange(2, 5), random.randrange(6, 10), 10**6)
        self.work: Counter = Counter()
        self.start(None)

    def start(self, snapshot: Snapshot | None) -> None:
        """Begins, or goes on from a state, now and then by the algorithm without pages."""
        is_paged = snapshot is None or self.random.random() < 0.8
        self.operator = (
            build(self.node, self.own) if is_paged else MatwinBestmatchOp(self.node, self.own)
        )
        assert isinstance(self.operator, PagedBestmatchOp) == is_paged
        self.memory = Memory(self.limit, may_spill=True, is_tuples=self.is_tuples)
        self.memory.watch("join", self.operator)
        if self.sizes is not None and is_paged:
            self.operator._sizes = lambda _: self.sizes
        if snapshot is not None:
            self.operator.restore(snapshot)

    def step(self, batches, watermark):
        """One micro-batch; no more stays in memory than may, after the push and at the end."""
        assert list(self.operator.push(batches)) == []
        self.settle()
        out = list(self.operator.advance(watermark))
        self.settle()
        return out

    def settle(self) -> None:
        pages = getattr(self.operator, "_pages", None)
        if pages is not None:  # every frame that nothing fills has been given back
            assert pages.frames.free == pages.sizes.buffers - sum(s.filled for s in pages.sides)
        if self.sizes is None:
            self.memory.settle()
            assert self.memory.held <= self.limit

    def restart(self) -> None:
        self.work += Counter(self.operator.counters.as_dict())
        kept = self.operator.snapshot()
        buffers = {
            name: tuple(
                ChunkSlice(Chunk(batch, batch.times), part.skip)
                for part in slices
                for batch in [decode(encode(part.chunk.batch))]
            )
            for name, slices in kept.buffers.items()
        }
        self.start(Snapshot(kept.kind, buffers, kept.numbers, kept.version))


def ids(batches):
    return [(row["l.id"], row["r.id"]) for batch in batches for row in batch.columns.to_pylist()]


def check(drawn_case, *, is_tiny=False):
    case, random = drawn_case
    proven = proofs(case.left, case.right, case.rules)
    run = Bounded(random, case, is_tiny=is_tiny)
    produced: Counter = Counter()
    arrived: tuple[set[int], set[int]] = (set(), set())
    for left, right, watermark, restart in case.batches:
        arrived[0].update(left)
        arrived[1].update(right)
        produced.update(ids(run.step([case.batch("l", left), case.batch("r", right)], watermark)))
        # Exactly what is proven has come out: none sooner, none later.
        here = {p for p in proven if all(p[i] is None or p[i] in arrived[i] for i in (0, 1))}
        assert produced == Counter({p: 1 for p in here if proven[p] < watermark})
        if restart:
            run.restart()
    assert produced == Counter(proven.keys())
    assert (run.operator.counters.stored, run.operator.counters.state_bytes) == (0, 0)
    return run.work + Counter(run.operator.counters.as_dict())


def draw_run(random: Random, kind: str, most_rows: int = 50, key_kinds=("bigint", "string")):
    case = draw_match_run(random, kind=kind, most_rows=most_rows, key_kinds=key_kinds)
    return replace(case, algorithm=random.choice(PAGED)), random


@pytest.mark.parametrize("kind", list(JUDGED))
def test_no_more_is_held_than_may_be_and_every_pair_comes_once_as_soon_as_it_is_final(kind):
    @EXAMPLES
    @given(drawn(partial(draw_run, kind=kind), BYTES))
    def hold(case):
        check(case)

    hold()


@pytest.mark.parametrize("kind", list(JUDGED))
def test_the_answer_is_the_same_from_any_pages(kind):
    @EXAMPLES
    @given(drawn(partial(draw_run, kind=kind, most_rows=30), BYTES))
    def hold(case):
        check(case, is_tiny=True)

    hold()


def test_keys_whose_hashes_collide_are_told_apart_by_value():
    @EXAMPLES
    @given(drawn(partial(draw_run, kind="left outer", most_rows=20, key_kinds=("string",)), BYTES))
    def hold(case):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(keys, "key_words", colliding_words)
            check(case, is_tiny=True)

    hold()


def test_a_full_join_in_buckets_gives_each_pair_once_from_pages():
    """Rows are copied to several buckets, and of one time some wait there and some are met."""

    @EXAMPLES
    @given(drawn(partial(draw_run, kind="full outer", most_rows=25, key_kinds=()), BYTES))
    def hold(drawn_case):
        case, random = drawn_case
        node, buckets = case.node(), 3
        cells = node.partitioning(buckets)
        runs = [
            Bounded(random, case, own_rows(node, cells, bucket), is_tiny=True)
            for bucket in range(buckets)
        ]
        produced: Counter = Counter()
        for left, right, watermark, restart in case.batches:
            arrived = [
                None if batch is None else (batch, *route(node, cells, port, batch, buckets))
                for port, batch in enumerate([case.batch("l", left), case.batch("r", right)])
            ]
            for bucket, run in enumerate(runs):
                batches = [
                    None if found is None else found[0].take(found[1][found[2] == bucket])
                    for found in arrived
                ]
                produced.update(ids(run.step(batches, watermark)))
                if restart:
                    run.restart()
        assert produced == Counter(proofs(case.left, case.right, case.rules).keys())

    hold()


def stored_rows(random: Random, count: int, spread: int, first: int) -> tuple:
    return tuple(
        {
            "id": place,
            "t": first + random.randrange(40),
            "y": (random.randrange(spread), random.randrange(spread) / 2),
            "k": (random.randrange(3),),
        }
        for place in range(count)
    )


def skylines(case: MatchRun) -> set[tuple[int, int, int]]:
    """Per left row, the times and ids of its best mates."""
    found = set()
    y = np.array([row["y"] for row in case.right])
    t = np.array([row["t"] for row in case.right])
    k = np.array([row["k"][0] for row in case.right])
    for row in case.left:
        apart = np.abs(y - np.array(row["y"]))
        is_near = (apart <= np.array(case.rules.eps)).all(axis=1) & (k == row["k"][0])
        is_near &= (t >= row["t"] - case.rules.lo) & (t <= row["t"] + case.rules.hi)
        own = np.flatnonzero(is_near)
        for one in own:
            is_no_worse = (apart[own] <= apart[one]).all(axis=1)
            if not (is_no_worse & (apart[own] < apart[one]).any(axis=1)).any():
                found.add((row["id"], int(t[one]), int(one)))
    return found


@pytest.mark.parametrize("algorithm", PAGED)
def test_a_search_finds_the_best_in_hundreds_of_pages_and_reads_what_it_foresaw(algorithm):
    counted: Counter = Counter()

    @settings(EXAMPLES, max_examples=60)  # all of them: both ways of reading must have come
    @given(st.integers(0, 2**32))
    def hold(seed):
        random = Random(seed)
        rules = Rules(
            (random.randrange(4), 1.5), (False,), random.randrange(9), random.randrange(9)
        )
        spread = random.choice([6, 30])
        # Left rows may begin later: what is below their reach is forgotten.
        sides = [
            stored_rows(random, random.randrange(1, 200), spread, first)
            for first in (random.choice([0, 20]), 0)
        ]
        case = MatchRun(("bigint", "double"), ("mindist",) * 2, ("bigint",), rules, *sides, ())
        indexer = MatchIndexer(case.node(), 0)
        counts, sizes = (
            PageCounts(),
            PageSizes(random.randrange(2, 9), random.randrange(6, 20), 10**6),
        )
        coder = LineCoder(indexer)
        windows = PagedWindows(coder, sizes, counts, by_cell=algorithm == GRID_PAGES)
        for start in range(0, len(case.right), 40):
            places = tuple(range(start, min(start + 40, len(case.right))))
            windows.add(1, case.batch("r", places), np.array(places))
        lower = min(row["t"] for row in case.left) - rules.lo
        windows.settle(1, lower)
        search = PageSearch(windows, indexer, 0, Counters())
        asked = case.batch("l", tuple(range(len(case.left))))
        found, is_exact = search.find(asked, np.arange(len(asked)), is_pruned=True)
        pairs = [tuple(map(int, pair)) for pair in zip(*found[:3], strict=True)]
        assert sorted(pairs) == sorted(skylines(case))
        assert counts.reads_to_join == counts.foreseen
        assert (is_exact, windows.frames.free) == (True, sizes.buffers - windows.sides[1].filled)
        counted.update(gallops=counts.gallops, crabsteps=counts.crabsteps, writes=counts.writes)

    hold()
    assert min(counted["gallops"], counted["crabsteps"]) > 2
