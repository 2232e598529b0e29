"""MatWin on pages gives the bestmatch join by the book, whatever the pages, buffers and promises.

Values are few, so that there are ties, duplicates, and tuples exactly eps apart and on the borders of
cells.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, settings
from twins.bestmatch import Rules, bestmatch
from twins.page_schedules import gallop_reads

from windrow.kernels.epsilon_grid import KINDS_OF_WORK, SORT_TESTS
from windrow_papers.kernels.matwin.nested_loops import nested_loops
from windrow_papers.operators.matwin.matwin import GRID, JUDGED, STANDARD, MatWin, Setting
from windrow_papers.operators.matwin.pages import MODES, SCHEDULERS
from windrow_papers.operators.matwin.source import (
    GRID_ORDER,
    LATENESS,
    READ_AHEAD,
    SORTED,
    PageSource,
    Promise,
)

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)
BYTES = 640


class Case:
    """Two streams in the order in which their tuples come, what they promise, and how pages are kept."""

    def __init__(self, random: Random) -> None:
        dimensions = random.randrange(1, 4)
        self.eps = [random.randrange(1, 6)] + [random.randrange(6) for _ in range(dimensions - 1)]
        span = random.choice([12, 30, 100])
        self.promises = [self._promise(random) for _ in range(2)]
        self.streams = [self._stream(random, promise, span) for promise in self.promises]
        self.setting = Setting(
            page_rows=random.randrange(2, 6),
            buffers=random.randrange(4, 9),
            mode=random.choice(MODES),
            kind=random.choice(list(JUDGED)),
        )

    def _promise(self, random: Random) -> Promise:
        kind = random.choice(["sorted", LATENESS, READ_AHEAD, GRID_ORDER])
        if kind == "sorted":
            return SORTED
        amount = self.eps[0] if kind == GRID_ORDER else random.randrange(1, 9)
        return Promise(kind, amount)

    def _stream(self, random: Random, promise: Promise, span: int) -> np.ndarray:
        rows = [
            [random.randrange(span)] + [random.randrange(-6, 12) for _ in self.eps[1:]]
            for _ in range(random.randrange(22))
        ]
        rows.sort(key=lambda row: row[0])
        if promise.kind == LATENESS:
            rows.sort(key=lambda row: row[0] + random.randrange(promise.amount + 1))
        elif promise.kind == GRID_ORDER:
            rows.sort(key=lambda row: (row[0] // promise.amount, self.cells(row), row[0]))
        else:
            blocks = [rows[at : at + promise.amount] for at in range(0, len(rows), promise.amount)]
            rows = [row for block in blocks for row in random.sample(block, len(block))]
        return np.array(rows, np.int64).reshape(len(rows), len(self.eps))

    def cells(self, row: list[int]) -> list[int]:
        return [value // max(1, eps) for value, eps in zip(row[1:], self.eps[1:], strict=True)]

    def by_the_book(self, kind: str) -> list:
        rules = Rules(
            tuple(self.eps[1:]), lo=self.eps[0], hi=self.eps[0], time_order="mindist", kind=kind
        )
        left, right = (
            [{"id": i, "t": row[0], "y": row[1:]} for i, row in enumerate(stream.tolist())]
            for stream in self.streams
        )
        return sorted(bestmatch(left, right, rules))

    def matwin(self, setting: Setting) -> MatWin:
        sources = map(PageSource, self.streams, self.promises)
        return MatWin(*sources, self.eps, setting)

    def __repr__(self) -> str:
        streams = [stream.tolist() for stream in self.streams]
        return f"Case(eps={self.eps}, {streams}, {self.promises}, {self.setting})"


@EXAMPLES
@given(case=drawn(Case, BYTES))
def test_matwin_gives_the_best_pairs_and_reads_the_pages_it_foresaw(case):
    expected = case.by_the_book(case.setting.kind)
    for materialization, is_ordered in product((STANDARD, GRID), (True, False)):
        setting = replace(case.setting, materialization=materialization, is_grid_ordered=is_ordered)
        join = case.matwin(setting)
        pairs = [tuple(pair) for step in join.run() for pair in step.tolist()]
        assert sorted(pairs) == expected
        assert join.counts.reads_to_join == join.counts.foreseen
        if is_ordered and all(one.kind == GRID_ORDER for one in case.promises):
            assert join.counts.work[SORT_TESTS] == 0


@EXAMPLES
@given(case=drawn(Case, BYTES))
def test_nested_loops_give_the_best_pairs_whether_they_stop_or_not(case):
    for stops in (False, True):
        work = np.zeros(KINDS_OF_WORK, np.int64)
        pairs = nested_loops(*case.streams, np.array(case.eps), stops, work)
        assert sorted(map(tuple, pairs.tolist())) == case.by_the_book("left outer")


def columns_of(random: Random) -> tuple[list, int]:
    lefts = random.randrange(8)
    columns = [
        (left, sorted(random.sample(range(9), random.randrange(1, 9)))) for left in range(lefts)
    ]
    return columns, random.randrange(1, 6)


@EXAMPLES
@given(case=drawn(columns_of))
def test_every_schedule_compares_each_pair_of_pages_once_in_the_buffers_there_are(case):
    columns, buffers = case
    for mode, scheduler in SCHEDULERS.items():
        schedule = scheduler(columns, buffers)
        held: dict[int, int] = {}
        compared = []
        for visit in schedule.visits:
            for right, buffer, is_read in visit.pairs:
                if is_read:
                    held[buffer] = right
                assert held[buffer] == right, mode
                compared.append((visit.left, right))
        assert sorted(compared) == [(left, right) for left, rights in columns for right in rights]
        assert len(held) <= buffers
    gallop, crabstep, cheaper = (
        SCHEDULERS[m](columns, buffers).reads for m in ("gallop", "crabstep", "cheaper")
    )
    assert gallop == gallop_reads(columns, buffers)
    assert cheaper == min(gallop, crabstep)
