"""Which window should be kept when memory does not suffice for both: that of the slower stream.

All arrivals probe; of each window a random part is kept. Five ways to divide the memory, over the
same tuples, and the one that `allocate` decides on. The paper does not state the full windows: here
either could use all of the memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.allocation.loads import Resources, StreamLoad
from windrow.allocation.strategies import (
    allocate,
    allocate_by,
    by_rates,
    equally,
    inverse_to_rates,
)
from windrow_papers.experiments.claims import Claim, Finding, Reading
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.kang.combinations import PAPER
from windrow_papers.experiments.kang.shed_streams import (
    Run,
    Setting,
    best_of,
    favoring,
    output_chart,
    runs_of,
    runs_table,
)

SEED = 6
MEMORY = 1_000
LOADS = (StreamLoad(rate=10, window=MEMORY), StreamLoad(rate=50, window=MEMORY))
VALUES = (200, 100)
THERE_IS = Resources(memory=MEMORY)
SECONDS = {Size.tiny: 100, Size.quick: 600, Size.full: 3_000}
STRATEGIES = {
    "MaxA": favoring(0),
    "MaxB": favoring(1),
    "proportional to rates": by_rates,
    "inverse to rates": inverse_to_rates,
    "equal": equally,
}


def run(size: Size, say: Say) -> Findings:
    """Runs and decides."""
    setting = Setting(LOADS, VALUES, SECONDS[size])
    arrivals = sum(load.rate for load in LOADS)
    say(f"{len(STRATEGIES)} strategies over {setting.seconds:,} s of {arrivals:,} arrivals per s")
    runs = runs_of(
        setting,
        {
            label: allocate_by(LOADS, THERE_IS, memory=strategy)
            for label, strategy in STRATEGIES.items()
        },
        SEED,
    )
    chosen = runs_of(setting, {"allocate": allocate(LOADS, THERE_IS)}, SEED)
    return Findings(
        runs_table({"memory": [*runs, *chosen]}),
        (
            Finding(best_of(runs, "MaxA"), reason="another strategy gives as much"),
            Finding(_in_order(runs), reason="the samples are too small to tell them apart"),
        ),
        output_chart("Which window is kept", runs),
    )


def _in_order(runs: Sequence[Run]) -> Reading:
    """That more memory for A, the slower stream, is more output."""
    ordered = sorted(runs, key=lambda run: -run.allocation.windows[0])
    outputs = [run.per_second for run in ordered]
    text = ", ".join(f"{run.label} {run.per_second:.0f}/s" for run in ordered)
    return Reading(outputs[0], text, holds=outputs == sorted(outputs, reverse=True))


EXPERIMENT = Experiment(
    name="shed-memory",
    paper=PAPER,
    figure="figure 6, equations 15 and 16",
    setting="rates 10 and 50, memory for 1,000 tuples, selectivities 0.005 and 0.01",
    claims=(
        Claim(
            "the most memory to the slower stream is best",
            "results over those of the best other strategy: above 1",
        ),
        Claim(
            "the more memory it gets, the more results",
            "the five strategies in order of what they keep of A: results in the same order",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
