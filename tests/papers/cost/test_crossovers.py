"""Where the cheapest combination changes: equations 8 to 11, and every ratio in between."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from windrow.optimize.cost.structures import Sizes, Structure, Weight
from windrow_papers.cost.combinations import PAPER, Workload, every_cost
from windrow_papers.cost.crossovers import PAPER_STRUCTURES, crossing, paper_crossovers, reigns

SIZES = Sizes()


def ratios(window_a, window_b, sizes=SIZES):
    return [found.ratio for found in paper_crossovers(window_a, window_b, PAPER, sizes)]


def test_the_crossovers_are_the_papers_equations():
    window_a, window_b, p_of_a, p_of_b = 9_000, 2_000, 16.0, 13.0
    assert ratios(window_a, window_b) == pytest.approx(
        [
            13.6 / (3 * window_b - 55),
            (55 - 2.6 * p_of_a) / (5.4 * p_of_a - 15.6),
            (5.4 * p_of_b - 15.6) / (55 - 2.6 * p_of_b),
            (3 * window_a - 55) / 13.6,
        ]
    )


def test_a_window_of_500_crosses_at_the_ratio_that_the_paper_names():
    assert round(ratios(5_000, 500)[0], 4) == 0.0094


def test_hash_gives_way_to_trees_at_the_ends_of_figure_2():
    assert ratios(5_000, 5_000)[1] == pytest.approx(0.276, abs=0.0005)  # the paper reads 20/80


def test_the_winners_are_those_of_figure_2_in_its_order():
    found = reigns(5_000, 5_000, PAPER, SIZES, PAPER_STRUCTURES)
    assert [str(reign.combination) for reign in found] == ["TN", "TH", "HH", "HT", "NT"]
    assert [reign.last for reign in found[:-1]] == ratios(5_000, 5_000)
    assert (found[0].first, found[-1].last) == (0.0, math.inf)


def test_small_buckets_leave_trees_no_place():
    found = reigns(5_000, 5_000, PAPER, Sizes(bucket=2), PAPER_STRUCTURES)
    assert [str(reign.combination) for reign in found] == ["HN", "HH", "NH"]
    assert ratios(5_000, 5_000, Sizes(bucket=2))[1:3] == [None, None]


@pytest.mark.parametrize("windows", [(5_000, 5_000), (9_500, 500), (90, 3_000_000)])
@pytest.mark.parametrize("structures", [tuple(Structure), PAPER_STRUCTURES])
def test_a_reign_is_where_the_combination_is_cheapest(windows, structures):
    found = reigns(*windows, PAPER, SIZES, structures)
    for reign in found:
        inside = math.sqrt((reign.first or reign.last / 4) * min(reign.last, reign.first * 4 + 1))
        workload = Workload(inside, 1, *windows)
        best = every_cost(workload, PAPER, SIZES, structures)[0]
        assert best.combination == reign.combination, reign
    assert all(one.last == other.first for one, other in itertools.pairwise(found))


def test_structures_that_search_at_the_same_cost_never_cross():
    assert crossing(Structure.hash, Structure.hash, 5_000, PAPER, SIZES) is None


def test_a_crossover_the_other_way_round_is_not_one_of_the_papers():
    # A buffer that is dear to update and cheap to search takes the place of the hash table.
    weights = replace(PAPER, buffer=Weight(search=1e-9, update=1.0))
    assert paper_crossovers(5_000, 5_000, weights, SIZES)[0].ratio is None
