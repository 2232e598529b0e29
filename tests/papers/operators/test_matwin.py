"""MatWin on pages: its schedules, its pages, and when pairs come."""

from __future__ import annotations

import numpy as np
import pytest
from twins.page_schedules import band

from windrow.errors import InternalError
from windrow.kernels.epsilon_grid import SORT_TESTS
from windrow.operators.bestmatch.pages.page_file import Frames
from windrow.operators.bestmatch.pages.page_search import cheaper, crabstep, gallop
from windrow_papers.operators.matwin.matwin import GRID, STANDARD, MatWin, Setting
from windrow_papers.operators.matwin.source import (
    GRID_ORDER,
    LATENESS,
    LEAST,
    MOST,
    READ_AHEAD,
    SORTED,
    PageSource,
    Promise,
)

pytestmark = pytest.mark.slow

EPS = 10


def streams(count: int, dimensions: int, *, seed: int = 7) -> list[np.ndarray]:
    made = []
    for stream in range(2):
        values = np.random.default_rng([seed, stream]).integers(0, 100, (count, dimensions))
        made.append(values[np.argsort(values[:, 0], kind="stable")])
    return made


def in_grid_order(values: np.ndarray) -> np.ndarray:
    cells = [values[:, k] // EPS for k in range(values.shape[1])]
    return values[np.lexsort((values[:, 0], *cells[:0:-1], cells[0]))]


def run(values, setting: Setting, promise: Promise = SORTED) -> MatWin:
    join = MatWin(
        *(PageSource(own, promise) for own in values), [EPS] * values[0].shape[1], setting
    )
    for _ in join.run():
        pass
    return join


def test_seven_pages_that_reach_two_pages_are_read_as_in_figures_7_and_8():
    """Four buffers; crabstep stops before (2, 4), and goes on there once (5, 3) is compared."""
    columns = band(7, 2)
    assert gallop(columns, 3).reads == 30
    stepping = crabstep(columns, 3)
    assert stepping.reads == 21
    compared = [(visit.left, right) for visit in stepping.visits for right, _, _ in visit.pairs]
    assert compared[compared.index((2, 3)) + 1] == (3, 1)
    assert compared[compared.index((5, 3)) + 1] == (2, 4)
    assert cheaper(columns, 3).mode == "crabstep"


def test_crabstep_may_read_more_and_then_gallop_is_run():
    columns = [(1, [1, 2, 3, 4]), (2, [3, 4])]
    assert gallop(columns, 3).reads == 6
    assert crabstep(columns, 3).reads == 8
    assert cheaper(columns, 3).mode == "gallop"


@pytest.mark.law
@pytest.mark.parametrize("reach", [0, 1])
def test_gallop_reads_every_page_once_while_what_a_page_meets_fits(reach):
    assert gallop(band(9, reach), 3).reads == 18


def test_what_is_assured_follows_from_each_promise():
    def assured(promise, given):
        values = np.array([[y1] for y1 in (*given, 99)])
        source, row, seen = PageSource(values, promise), np.empty(2, np.int64), []
        for _ in given:
            source.read_into(row)
            seen.append(source.assured)
        source.read_into(row)
        assert source.assured == MOST
        return seen

    assert assured(SORTED, [3, 5, 5, 9]) == [3, 5, 5, 9]
    assert assured(Promise(LATENESS, 3), [3, 8, 6, 9]) == [0, 5, 5, 6]
    assert assured(Promise(READ_AHEAD, 2), [3, 8, 6, 9]) == [LEAST, 3, 6, 6]
    assert assured(Promise(GRID_ORDER, 5), [3, 1, 8, 6]) == [0, 0, 5, 5]
    assert PageSource(np.empty((0, 1), np.int64)).assured == MOST


@pytest.mark.parametrize("materialization", [STANDARD, GRID])
def test_a_tuple_that_breaks_the_promise_is_counted_and_no_part_of_the_answer(materialization):
    left, right = streams(60, 2)
    late = np.insert(left, 40, left[3], axis=0)
    setting = Setting(page_rows=4, buffers=4, materialization=materialization)
    source = PageSource(late)
    pairs = [
        (number - (number > 40), mate)
        for step in MatWin(source, PageSource(right), [EPS, EPS], setting).run()
        for number, mate in step.tolist()
    ]
    kept = MatWin(PageSource(left), PageSource(right), [EPS, EPS], setting)
    assert sorted(pairs) == sorted(tuple(pair) for step in kept.run() for pair in step.tolist())
    assert source.late == 1


def test_pairs_come_while_the_streams_are_read_and_in_order_of_the_left_tuple():
    left, right = streams(200, 2)
    source = PageSource(left)
    join = MatWin(source, PageSource(right), [EPS, EPS], Setting(page_rows=4, buffers=4))
    newest, read_at_first = -1, None
    for step in join.run():
        for number, _ in step.tolist():
            read_at_first = source.taken if read_at_first is None else read_at_first
            assert left[number, 0] >= newest
        if len(step):
            newest = left[step[:, 0], 0].max()
    assert read_at_first < 60


def test_a_source_in_grid_order_is_neither_sorted_nor_merged():
    values = streams(300, 2)
    setting = Setting(page_rows=8, buffers=6)
    sorted_here = run(values, setting).counts
    declared = run([in_grid_order(own) for own in values], setting, Promise(GRID_ORDER, EPS)).counts
    assert declared.work[SORT_TESTS] == 0 < sorted_here.work[SORT_TESTS]
    assert declared.writes < sorted_here.writes / 2


def test_grid_materialization_rewrites_last_pages_where_standard_rewrites_windows():
    values = streams(300, 2)
    standard, grid = (
        run(values, Setting(page_rows=4, buffers=8, materialization=one)).counts
        for one in (STANDARD, GRID)
    )
    assert grid.writes < standard.writes / 2
    assert grid.reads_to_store < standard.reads_to_store / 2


def test_without_the_grid_order_every_new_tuple_meets_the_whole_other_window():
    values = streams(300, 2)
    plain, ordered = (
        run(values, Setting(page_rows=4, buffers=8, is_grid_ordered=one)).counts
        for one in (False, True)
    )
    assert ordered.work.tolist()[2] < plain.work.tolist()[2] / 2
    assert ordered.reads_to_join < plain.reads_to_join


@pytest.mark.law
def test_more_pages_than_buffers_are_never_held():
    frames = Frames(2, 3, 2)
    assert [frames.take(), frames.take()]
    with pytest.raises(InternalError, match="all 2 page frames are in use"):
        frames.take()
