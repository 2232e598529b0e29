"""What the cost model alone decides of the paper's claims."""

from __future__ import annotations

from windrow_papers.experiments.experiment import Size, conduct
from windrow_papers.experiments.registry import chosen


def verdicts(name):
    (experiment,) = chosen([name])
    outcome = conduct(experiment, Size.tiny, lambda _: None)
    return outcome, {verdict.claim.text: verdict for verdict in outcome.verdicts}


def test_the_24_figures_of_table_3_are_the_papers():
    outcome, (verdict,) = (found := verdicts("cost-table"))[0], found[1].values()
    assert verdict.holds
    assert verdict.measured == "counts 24 of 24 figures alike"
    assert len(outcome.found.table.rows) == 3 * 16
    assert ("highly skewed", "TN", "4.67", "4.67") in outcome.found.table.rows
    assert ("highly skewed", "BN", "4.15", "") in outcome.found.table.rows


def test_the_crossovers_hold_but_for_the_trees_that_grow_with_their_window():
    _, found = verdicts("cost-crossovers")
    assert {text for text, verdict in found.items() if not verdict.holds} == {
        "a larger A with a smaller B moves every crossover to the right"
    }
    moved = found["a larger A with a smaller B moves every crossover to the right"]
    assert moved.measured.startswith("counts 0.37 x (HH/HT, windows 9,500 and 500)")
    assert "follow the height of the T-trees" in moved.reason
    winners = found["the winners are TN, TH, HH, HT, NT in that order"]
    assert winners.measured == "counts TN, TH, HH, HT, NT"
