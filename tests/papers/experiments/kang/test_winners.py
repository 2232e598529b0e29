"""Who wins by the model and who when run: how the two are held against each other."""

from __future__ import annotations

import pytest

from windrow.optimize.cost.structures import Sizes, Structure
from windrow_papers.cost.combinations import PAPER, Combination, Workload
from windrow_papers.experiments.kang.combinations import EIGHT
from windrow_papers.experiments.kang.joins import Metered, arrivals, metered
from windrow_papers.experiments.kang.structure_memory import (
    COMPARED,
    MemorySize,
    btree_above,
    bytes_per_tuple,
)
from windrow_papers.experiments.kang.winners import agreement, meeting, predicted_costs, winner

pytestmark = pytest.mark.slow

HH, TH = Combination.of("HH"), Combination.of("TH")


def met(rate_a, cheapest):
    """The paper's model at a rate, and runs that a given combination won."""
    workload = Workload(rate_a, 100 - rate_a, 5_000, 5_000)
    runs = {one: Metered(0, 1 if one == cheapest else 2) for one in EIGHT}
    return meeting(workload, PAPER, Sizes(), runs, lambda run: run.work)


def test_predicted_winners_that_won_agree():
    reading = agreement([met(10, TH), met(50, HH)])
    assert reading.holds
    assert reading.text == "2 of 2 rates, 0 more being near a crossover"


def test_a_rate_near_a_crossover_does_not_count():
    # TH and HH cross at a ratio of 0.276: 21.6 of 100 arrivals.
    assert [met(rate, HH).is_near for rate in (15, 17, 26, 28)] == [False, True, True, False]
    assert agreement([met(18, HH), met(50, HH)]).holds


def test_another_winner_is_named_with_what_the_predicted_one_cost():
    reading = agreement([met(10, HH), met(50, HH)])
    assert not reading.holds
    assert reading.text == (
        "1 of 2 rates, 0 more being near a crossover; at 10/90 HH won, and TH cost 2.00 x"
    )


def test_costs_are_predicted_per_arrival():
    workload = Workload(550, 450, 4_000, 6_000)
    costs = predicted_costs(EIGHT, workload, PAPER, Sizes())
    assert costs[HH] == pytest.approx(7.06 / 1_000)
    assert winner(costs) == HH


def test_all_combinations_run_over_the_same_arrivals_in_the_proportion_of_the_rates():
    came = arrivals(Workload(20, 80, 300, 100), 50, seed=1)
    assert (len(came.window_a), len(came.window_b), int(came.sides.sum())) == (300, 100, 40)
    told: list[str] = []
    runs = metered(EIGHT, came, Sizes(), told.append)
    assert told[0] == "rates 20/80: 50 arrivals, run 1 of 5"
    again = metered(EIGHT, came, Sizes(), told.append)
    assert {one: run.work for one, run in runs.items()} == {
        one: run.work for one, run in again.items()
    }
    # 40 arrivals of B scan window A, 10 of A look into buckets; each arrival is put and removed.
    assert runs[Combination.of("NH")].work > 40 / 50 * 300


@pytest.mark.parametrize("structure", [Structure.hash, Structure.btree, Structure.ttree])
def test_larger_parts_take_less_memory(structure):
    small, large = (bytes_per_tuple(structure, part, MemorySize(1_000, 1)) for part in (5, 100))
    assert 16 < large < small


def test_a_buffer_takes_a_key_and_an_entry():
    assert bytes_per_tuple(Structure.buffer, 1, MemorySize(1_000, 1)) == pytest.approx(16, abs=0.2)


def test_a_structure_is_above_another_only_if_it_is_in_every_window():
    def window(hashed, btree, ttree):
        return dict(zip(COMPARED, (hashed, btree, ttree), strict=True))

    always = btree_above([window(30.0, 30.3, 29.0), window(30.0, 30.1, 29.0)])
    assert always.holds
    mostly = btree_above([window(30.0, 30.3, 29.0), window(30.0, 29.9, 29.0)])
    assert not mostly.holds
    assert mostly.figure > 1
    assert "above both in 1 of 2 windows" in mostly.text
