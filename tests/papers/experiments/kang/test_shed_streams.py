"""What the experiments on shedding count is what a join of shed windows gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.allocation.loads import Allocation, StreamLoad, everything
from windrow.operators.load_shedding.draws import Purpose, draws_of, row_words
from windrow_papers.experiments.kang.shed_streams import (
    Setting,
    arrived,
    results_per_second,
    runs_of,
)

SETTING = Setting((StreamLoad(rate=7, window=20), StreamLoad(rate=5, window=30)), (4, 8), seconds=6)
SEED = 3


def counted(allocation):
    """Tuple by tuple, in the order of arrival."""
    came = arrived(SETTING, SEED)
    kept, probes = [], []
    for stream, (keys, load) in enumerate(zip(came.keys, SETTING.loads, strict=True)):
        words = row_words([pa.array(keys)], np.arange(len(keys)))
        kept_share = allocation.windows[stream] / load.window
        probing_share = allocation.rates[stream] / load.rate
        kept.append(draws_of(words, SEED, stream, Purpose.keep) < kept_share)
        probes.append(draws_of(words, SEED, stream, Purpose.probe) < probing_share)
    found = [0] * SETTING.seconds
    for prober, window in ((0, 1), (1, 0)):
        there = int(SETTING.loads[prober].window)
        size = int(SETTING.loads[window].window)
        for number, before in enumerate(came.before[prober]):
            at = there + number
            if probes[prober][at]:
                found[came.second[prober][number]] += sum(
                    kept[window][other] and came.keys[window][other] == came.keys[prober][at]
                    for other in range(before - size, before)
                )
    return found


@pytest.mark.law
@pytest.mark.parametrize(
    "allocation",
    [everything(SETTING.loads), Allocation((3, 4), (8, 25)), Allocation((7, 0), (0, 30))],
)
def test_results_are_those_of_the_join_tuple_by_tuple(allocation):
    came = arrived(SETTING, SEED)
    assert results_per_second(SETTING, came, allocation, SEED).tolist() == counted(allocation)


def test_an_arrival_sees_what_came_before_it():
    came = arrived(SETTING, SEED)
    unseen = [len(came.keys[1 - stream]) - max(came.before[stream]) for stream in (0, 1)]
    # The very last arrival has seen all of the other stream.
    assert min(unseen) == 0


def test_a_run_without_shedding_gives_what_the_equation_says():
    loads = (StreamLoad(rate=50, window=100), StreamLoad(rate=20, window=40))
    (run,) = runs_of(Setting(loads, (10, 10), seconds=200), {"all": everything(loads)}, SEED)
    assert run.deviation < 0.02
