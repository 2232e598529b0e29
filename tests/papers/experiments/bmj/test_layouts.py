"""The fixed layouts of pages, and how evenly results are said to come."""

from __future__ import annotations

import numpy as np
import pytest

from windrow_papers.experiments.bmj.flow import Flow
from windrow_papers.experiments.bmj.pages import BANDS, COUNTEREXAMPLE, FIGURE, band
from windrow_papers.experiments.experiment import Size, conduct
from windrow_papers.experiments.registry import chosen

pytestmark = pytest.mark.slow


def test_the_layout_of_the_figures_and_the_counterexample_read_what_they_should():
    assert [FIGURE.reads(mode) for mode in ("gallop", "crabstep", "cheaper")] == [30, 21, 21]
    assert [COUNTEREXAMPLE.reads(mode) for mode in ("gallop", "crabstep", "cheaper")] == [6, 8, 6]


def test_layouts_fit_where_no_page_meets_more_than_there_are_buffers():
    assert band(9, 1, 4).fits
    assert not band(9, 1, 3).fits
    assert {one.fits for one in BANDS} == {True, False}
    assert FIGURE.pages == 14


def test_one_page_more_than_buffers_makes_crabstep_read_again_and_not_gallop():
    layout = band(50, 6, 13)
    assert not layout.fits
    assert not layout.thrashes
    assert layout.reads("crabstep") > layout.reads("gallop") == layout.pages


def test_a_flow_knows_its_largest_step_its_longest_pause_and_how_far_it_is_from_even():
    flow = Flow(np.array([0, 2, 2, 8, 10]), np.array([10, 20, 40, 70, 100]), np.arange(5.0))
    assert flow.largest_step == pytest.approx(0.6)
    assert flow.longest_pause == pytest.approx(0.5)
    assert flow.distance(flow.work) == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["bmj-pages", "bmj-flow"])
def test_what_holds_whatever_the_size_holds_at_the_smallest(name):
    (experiment,) = chosen([name])
    outcome = conduct(experiment, Size.tiny, lambda _: None)
    held = {verdict.claim.text: verdict.holds for verdict in outcome.verdicts}
    if name == "bmj-pages":
        assert all(held.values())
    else:
        assert held["steps appear only where the precision of y1 equals eps"]
