"""The strategies of figures 5 to 7 divide processor and memory as the figures say."""

from __future__ import annotations

import pytest

from windrow.allocation.loads import Resources, StreamLoad, output_rate
from windrow.allocation.strategies import (
    allocate_by,
    by_rates,
    by_windows,
    equally,
    inverse_to_rates,
)
from windrow_papers.experiments.kang.shed_streams import favoring

FIGURE_5 = [StreamLoad(800, 100), StreamLoad(200, 200)], Resources(service_rate=100)
FIGURE_6 = [StreamLoad(10, 1_000), StreamLoad(50, 1_000)], Resources(memory=1_000)
FIGURE_7 = [StreamLoad(10, 100), StreamLoad(10, 100)], Resources(memory=100, service_rate=10)


@pytest.mark.parametrize(
    ("strategy", "rates", "output"),
    [
        (favoring(0), (100, 0), 200),
        (favoring(1), (0, 100), 100),
        (equally, (50, 50), 150),
        (by_rates, (80, 20), 180),
        (by_windows, (100 / 3, 200 / 3), 400 / 3),
    ],
)
def test_the_strategies_of_figure_5_divide_the_processor(strategy, rates, output):
    found = allocate_by(*FIGURE_5, processor=strategy)
    assert found.rates == pytest.approx(rates)
    assert found.windows == (100, 200)
    assert output_rate(found, 0.01) == pytest.approx(output)


@pytest.mark.parametrize(
    ("strategy", "windows", "output"),
    [
        (favoring(0), (1_000, 0), 250),
        (favoring(1), (0, 1_000), 50),
        (equally, (500, 500), 150),
        (by_rates, (1_000 / 6, 5_000 / 6), 500 / 6),
        (inverse_to_rates, (5_000 / 6, 1_000 / 6), 1_300 / 6),
    ],
)
def test_the_strategies_of_figure_6_divide_memory(strategy, windows, output):
    found = allocate_by(*FIGURE_6, memory=strategy)
    assert found.windows == pytest.approx(windows)
    assert output_rate(found, 0.005) == pytest.approx(output)


@pytest.mark.parametrize(
    ("probes", "kept", "output"),
    [(1, 0, 10), (0, 1, 10), (0, 0, 0), (1, 1, 0)],
)
def test_the_strategies_of_figure_7_divide_both(probes, kept, output):
    found = allocate_by(*FIGURE_7, processor=favoring(probes), memory=favoring(kept))
    assert output_rate(found, 0.01) == pytest.approx(output)


def test_equal_shares_of_both_lie_between():
    assert output_rate(allocate_by(*FIGURE_7), 0.01) == pytest.approx(5)
