"""What to do when memory and processor are both short: probe with one stream, keep the other.

Rates and full windows, which the paper does not state, are such that either stream could use all
there is. The last claims run the two single cases where the equations say that any split is as good
as any other: equal windows with the processor short, equal rates with memory short.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.allocation.loads import Allocation, Resources, StreamLoad
from windrow.allocation.strategies import allocate, allocate_by, equally
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.kang.combinations import PAPER
from windrow_papers.experiments.kang.shed_streams import (
    Run,
    Setting,
    favoring,
    output_chart,
    runs_of,
    runs_table,
)

SEED = 7
SERVICE_RATE, MEMORY = 10, 100
LOADS = (StreamLoad(rate=SERVICE_RATE, window=MEMORY), StreamLoad(rate=SERVICE_RATE, window=MEMORY))
VALUES = (100, 100)
THERE_IS = Resources(memory=MEMORY, service_rate=SERVICE_RATE)
SECONDS = {Size.tiny: 300, Size.quick: 2_000, Size.full: 20_000}
OPPOSITE = ("Max A / Max lambda-b", "Max B / Max lambda-a")
SAME_SIDE = ("Max A / Max lambda-a", "Max B / Max lambda-b")
EQUAL = "equal"
SPLITS = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_APART = 1.1
LEAST_GAIN = 1.8
"""The best over the equal allocation: what the paper measured, 1.9, less a little."""


def run(size: Size, say: Say) -> Findings:
    """Runs and decides."""
    setting = Setting(LOADS, VALUES, SECONDS[size])
    say(f"five strategies over {setting.seconds:,} s of 20 arrivals per s")
    runs = runs_of(setting, _strategies(), SEED)
    chosen = runs_of(setting, {"allocate": allocate(LOADS, THERE_IS)}, SEED)
    say("splits of the processor over equal windows, of memory at equal rates")
    of_processor = runs_of(setting, _splits_of_processor(), SEED)
    of_memory = runs_of(setting, _splits_of_memory(), SEED)
    return Findings(
        runs_table(
            {"both": [*runs, *chosen], "processor": of_processor, "memory": of_memory}
        ),
        (
            Finding(_opposite_best(runs), reason="another strategy gives as much"),
            Finding(_same_side_worst(runs), reason="another strategy gives as little"),
            Finding(_gain(runs), reason="the equal split finds more than the equations say"),
            Finding(
                _indifferent(of_processor).and_also(_indifferent(of_memory)),
                reason="the runs are too short to be alike",
            ),
        ),
        output_chart("Which arrivals probe, and which window is kept", runs),
    )  # fmt: skip


def _strategies() -> dict[str, Allocation]:
    """Those of figure 7: whose window is kept, and whose arrivals probe."""
    sides = dict(zip((*OPPOSITE, *SAME_SIDE), ((0, 1), (1, 0), (0, 0), (1, 1)), strict=True))
    made = {
        label: allocate_by(LOADS, THERE_IS, memory=favoring(kept), processor=favoring(probes))
        for label, (kept, probes) in sides.items()
    }
    return {**made, EQUAL: allocate_by(LOADS, THERE_IS, memory=equally, processor=equally)}


def _splits_of_processor() -> dict[str, Allocation]:
    full = (float(MEMORY), float(MEMORY))
    return {
        f"{share:.0%} of the probes to A": Allocation(
            (share * SERVICE_RATE, (1 - share) * SERVICE_RATE), full
        )
        for share in SPLITS
    }


def _splits_of_memory() -> dict[str, Allocation]:
    full = (float(SERVICE_RATE), float(SERVICE_RATE))
    return {
        f"{share:.0%} of the memory to A": Allocation(full, (share * MEMORY, (1 - share) * MEMORY))
        for share in SPLITS
    }


def _output(runs: Sequence[Run], labels: Sequence[str]) -> list[float]:
    return [run.per_second for run in runs if run.label in labels]


def _opposite_best(runs: Sequence[Run]) -> Reading:
    case = Case("", max(_output(runs, (*SAME_SIDE, EQUAL))), min(_output(runs, OPPOSITE)))
    text = f"the lesser of the two gives {case.ratio:.2f} of the best other"
    return Reading(case.ratio, text, holds=case.ratio > 1)


def _same_side_worst(runs: Sequence[Run]) -> Reading:
    most, least = max(_output(runs, SAME_SIDE)), min(_output(runs, (*OPPOSITE, EQUAL)))
    text = f"at most {most:.2f} results per second, the others at least {least:.2f}"
    return Reading(most, text, holds=most < least)


def _gain(runs: Sequence[Run]) -> Reading:
    (equal,) = _output(runs, [EQUAL])
    ratio = Case(EQUAL, equal, max(_output(runs, OPPOSITE))).ratio
    return Reading(ratio, f"{ratio - 1:.0%} more", holds=ratio >= LEAST_GAIN)


def _indifferent(runs: Sequence[Run]) -> Reading:
    outputs = [run.per_second for run in runs]
    ratio = Case("", min(outputs), max(outputs)).ratio
    what = runs[0].label.split(" of the ")[1].split(" to ")[0]
    text = f"splits of the {what} are at most {ratio - 1:.1%} apart"
    return Reading(ratio, text, holds=ratio <= MOST_APART)


EXPERIMENT = Experiment(
    name="shed-both",
    paper=PAPER,
    figure="figure 7, equations 17 to 19",
    setting="rates 10 and 10, 10 probes per second, memory for 100 tuples, selectivity 0.01",
    claims=(
        Claim(
            "keeping one stream and probing with the other is best, either way",
            "results of both such strategies over those of the best other: above 1",
        ),
        Claim(
            "keeping and probing with the same stream is worst",
            "results of both such strategies: below every other's",
        ),
        Claim(
            "the best allocation gives up to 90% more results than the equal one",
            "its results over those of the equal one: at least 1.8; by equation 19 they are 2",
        ),
        Claim(
            "with equal windows (processor short) or equal rates (memory short) the split does not "
            "matter",
            "most results over fewest, of five splits each: at most 1.1",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
