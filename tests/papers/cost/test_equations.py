"""The cost model gives the figures of the paper, and behaves at its edges."""

from __future__ import annotations

import itertools

import pytest

from windrow.optimize.cost.structures import (
    CostError,
    Direction,
    Sizes,
    Structure,
    direction_cost,
    touches,
)
from windrow_papers.cost.combinations import (
    PAPER,
    Combination,
    Workload,
    cheapest,
    combination_cost,
    every_cost,
)
from windrow_papers.cost.output import output_rate, selectivity_of_keys

SIZES = Sizes()
EIGHT = ("HH", "TT", "HT", "TH", "HN", "NH", "TN", "NT")
TABLE_3 = [
    (Workload(2, 998, 9_500, 500), (7.06, 9.56, 10.89, 5.74, 5.99, 2845.87, 4.67, 2849.69)),
    (Workload(800, 200, 7_000, 3_000), (7.06, 11.85, 6.46, 12.46, 722.39, 424.87, 727.78, 424.27)),
    (Workload(550, 450, 4_000, 6_000), (7.06, 11.60, 8.93, 9.73, 993.42, 543.84, 996.09, 545.71)),
]


@pytest.mark.parametrize(("workload", "figures"), TABLE_3)
def test_the_figures_of_table_3_come_out_to_the_last_digit(workload, figures):
    costs = [
        combination_cost(Combination.of(letters), workload, PAPER, SIZES).total for letters in EIGHT
    ]
    assert tuple(round(cost, 2) for cost in costs) == figures


@pytest.mark.parametrize(
    ("workload", "of_the_eight", "of_all"),
    [
        (TABLE_3[0][0], "TN", "BN"),  # the paper leaves B+trees out of its comparison
        (TABLE_3[1][0], "HT", "HT"),
        (TABLE_3[2][0], "HH", "HH"),
    ],
)
def test_the_winners_are_those_of_the_paper(workload, of_the_eight, of_all):
    costs = [str(cost.combination) for cost in every_cost(workload, PAPER, SIZES)]
    assert costs[0] == of_all
    assert next(letters for letters in costs if letters in EIGHT) == of_the_eight


def test_there_are_sixteen_combinations_in_the_order_of_their_costs():
    costs = every_cost(TABLE_3[0][0], PAPER, SIZES)
    every = {"".join(pair) for pair in itertools.product("NHBT", repeat=2)}
    assert {str(cost.combination) for cost in costs} == every
    assert [cost.total for cost in costs] == sorted(cost.total for cost in costs)


def test_a_combination_costs_the_sum_of_its_directions():
    workload = Workload(30, 70, 5_000, 2_000)
    cost = combination_cost(Combination.of("TN"), workload, PAPER, SIZES)
    into_a, into_b = Direction(5_000, 70, 30), Direction(2_000, 30, 70)
    assert cost.window_a == direction_cost(Structure.ttree, into_a, PAPER, SIZES)
    assert cost.window_b == direction_cost(Structure.buffer, into_b, PAPER, SIZES)
    assert cost.total == cost.window_a + cost.window_b


def test_the_cheapest_structures_of_the_windows_make_the_cheapest_combination():
    workload = Workload(3, 97, 5_000, 2_000)
    best = every_cost(workload, PAPER, SIZES)[0].combination
    assert best.a is cheapest(workload.into_a, PAPER, SIZES)
    assert best.b is cheapest(workload.into_b, PAPER, SIZES)


@pytest.mark.parametrize(
    ("letter", "window", "searched", "updated"),
    [
        ("N", 5_000, 5_000, 1),
        ("H", 5_000, 10, 1),
        ("H", 4, 4, 1),  # a window of four has no bucket of ten
        ("T", 5_000, 14.5, 14.5),  # 50 nodes, height 6: 1.5 * 5 + 7
        ("T", 6_400, 14.5, 14.5),  # 64 nodes, the most of height 6
        ("T", 6_401, 16.0, 16.0),
        ("T", 100, 7, 7),  # one node: nothing to pass
        ("T", 0, 7, 7),
        ("B", 5_000, 14, 14),  # the root and a leaf
        ("B", 10_100, 14, 14),  # 101 leaves under one root
        ("B", 10_101, 21, 21),
        ("B", 50, 7, 7),
    ],
)
def test_a_search_and_an_update_touch_as_many_tuples_as_the_paper_says(
    letter, window, searched, updated
):
    found = touches(Structure(letter), window, SIZES)
    assert (found.search, found.update) == (searched, updated)


def test_buckets_and_nodes_have_the_sizes_asked_for():
    assert touches(Structure.hash, 5_000, Sizes(bucket=2)).search == 2
    assert touches(Structure.btree, 5_000, Sizes(node=10)).search == 4 * 4  # 500 leaves: 3 levels
    assert touches(Structure.ttree, 5_000, Sizes(node=10)).search == 1.5 * 8 + 4


def test_the_output_rate_is_equation_12():
    assert output_rate(Workload(800, 200, 100, 200), 0.01) == pytest.approx(1_800)
    assert selectivity_of_keys(200, 100) == 1 / 200


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Workload(-1, 1, 1, 1),
            "CostError[bad-cost-number]: rate a is -1\n  hint: it must be a number from 0 on",
        ),
        (
            lambda: Workload(1, 1, 1, float("nan")),
            "CostError[bad-cost-number]: window b is nan\n  hint: it must be a number from 0 on",
        ),
        (
            lambda: Sizes(bucket=0),
            "CostError[bad-cost-number]: the bucket size is 0\n  hint: it must be 1 to 1,000,000",
        ),
        (
            lambda: Sizes(node=2),
            "CostError[bad-cost-number]: the node size is 2\n  hint: it must be 3 to 1,000,000",
        ),
        (
            lambda: output_rate(Workload(1, 1, 1, 1), 2),
            "CostError[bad-cost-number]: the selectivity is 2\n  hint: it must be between 0 and 1",
        ),
        (
            lambda: selectivity_of_keys(10, 0),
            "CostError[bad-cost-number]: the number of keys of B is 0\n"
            "  hint: it must be 1 or more",
        ),
    ],
)
def test_numbers_that_cannot_be_are_refused(make, message):
    with pytest.raises(CostError) as raised:
        make()
    assert str(raised.value) == message
