"""Which arrivals should probe when not all can: those that probe the bigger window.

Every arrival is kept in its window; so many per second probe. Five ways to divide these between the
streams, over the same tuples, and the one that `allocate` decides on.
"""

from __future__ import annotations

from windrow.allocation.loads import Resources, StreamLoad
from windrow.allocation.strategies import (
    allocate,
    allocate_by,
    by_rates,
    by_windows,
    equally,
)
from windrow_papers.experiments.claims import Claim, Finding
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.kang.combinations import PAPER
from windrow_papers.experiments.kang.shed_streams import (
    Setting,
    best_of,
    favoring,
    near_the_equation,
    output_chart,
    runs_of,
    runs_table,
    worst_of,
)

SEED = 5
LOADS = (StreamLoad(rate=800, window=100), StreamLoad(rate=200, window=200))
VALUES = (100, 100)
THERE_IS = Resources(service_rate=100)
MOST_OFF = 0.1
SECONDS = {Size.tiny: 20, Size.quick: 100, Size.full: 600}
STRATEGIES = {
    "MaxA": favoring(0),
    "MaxB": favoring(1),
    "proportional to rates": by_rates,
    "proportional to windows": by_windows,
    "equal": equally,
}


def run(size: Size, say: Say) -> Findings:
    """Runs and decides."""
    setting = Setting(LOADS, VALUES, SECONDS[size])
    say(f"{len(STRATEGIES)} strategies over {setting.seconds} s of {sum(_RATES):,} arrivals per s")
    runs = runs_of(
        setting,
        {
            label: allocate_by(LOADS, THERE_IS, processor=strategy)
            for label, strategy in STRATEGIES.items()
        },
        SEED,
    )
    chosen = runs_of(setting, {"allocate": allocate(LOADS, THERE_IS)}, SEED)
    return Findings(
        runs_table({"processor": [*runs, *chosen]}),
        (
            Finding(best_of(runs, "MaxA"), reason="another strategy gives as much"),
            Finding(worst_of(runs, "MaxB"), reason="another strategy gives as little"),
            Finding(near_the_equation(runs, MOST_OFF), reason="the streams are not uniform"),
        ),
        output_chart("Which arrivals probe", runs),
    )


_RATES = tuple(round(load.rate) for load in LOADS)

EXPERIMENT = Experiment(
    name="shed-cpu",
    paper=PAPER,
    figure="figure 5, equations 13 and 14",
    setting="rates 800 and 200, windows 100 and 200 tuples, selectivity 0.01, 100 probes per second",
    claims=(
        Claim(
            "the most probes to A, whose arrivals meet the bigger window, is best",
            "results over those of the best other strategy: above 1",
        ),
        Claim("the most probes to B is worst", "results of every other strategy over its own: above 1"),
        Claim(
            "the output is that of equation 13",
            "results per second of all five strategies: within 10%",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)  # fmt: skip
