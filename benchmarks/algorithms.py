"""What a tuple costs each of the papers' window joins, for 2 to 6 streams.

`python -m benchmarks.algorithms [--markdown]` prints a table per setting: service time in
microseconds and counted work (look-ups and comparisons) per input tuple, averaged over the second
half of the run, when the windows are full. All give the same number of combinations, checked.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass

from windrow_papers.experiments.contest import (
    BEW,
    BEW_HASH,
    FEW,
    FEW_HASH,
    HW,
    NLW,
    Algorithm,
    Series,
    measure,
    uniform,
)
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.experiments.workloads.synthetic import synthetic

ALGORITHMS = (BEW, FEW, NLW, BEW_HASH, FEW_HASH, HW)
COUNTS = (2, 3, 4, 5, 6)
WINDOW_S = 0.5
VALUES = 50
SEED = 23
FILLED = 0.5
"""The share of the run that fills the windows, left out."""


@dataclass(frozen=True)
class Setting:
    """Streams of one kind."""

    name: str
    title: str
    fastest_per_s: float
    slowest_per_s: float

    def rates(self, streams: int) -> list[float]:
        """The rate of each stream, evenly spread from the fastest to the slowest."""
        step = (self.fastest_per_s - self.slowest_per_s) / (streams - 1)
        return [self.fastest_per_s - step * number for number in range(streams)]


SETTINGS = (
    Setting("even", "even rates, 100 tuples per s each", 100, 100),
    Setting("uneven", "uneven rates, from 190 down to 10 tuples per s", 190, 10),
)


def costs(setting: Setting, streams: int, tuples: int) -> dict[str, dict[str, float]]:
    """Service time and work per input tuple, by algorithm."""
    rates = setting.rates(streams)
    drawn = synthetic(rates, values=VALUES, seconds=tuples / sum(rates), seed=SEED)
    join, turns = uniform(streams, int(WINDOW_S * SECOND)), drawn.live()
    ran = {
        algorithm: measure(algorithm, join, drawn, turns, is_ended=True) for algorithm in ALGORITHMS
    }
    found = {series.found for series in ran.values()}
    if len(found) != 1:
        raise SystemExit(f"the algorithms found different numbers of combinations: {found}")
    return {algorithm.name: _figures(series) for algorithm, series in ran.items()}


def _figures(series: Series) -> dict[str, float]:
    return {
        "us": series.per_tuple(series.seconds, FILLED) * 1e6,
        "work": series.per_tuple(series.work, FILLED),
        "found": series.found,
    }


def table(setting: Setting, rows: dict[int, dict[str, dict[str, float]]]) -> str:
    """The figures of a setting as Markdown: microseconds, and work in parentheses."""
    names = [_title(algorithm) for algorithm in ALGORITHMS]
    lines = [
        f"| streams, {setting.title} | {' | '.join(names)} | combinations |",
        "|---|" + "---|" * (len(names) + 1),
    ]
    for streams, by_algorithm in rows.items():
        cells = [
            f"{figures['us']:,.2f} ({figures['work']:,.1f})" for figures in by_algorithm.values()
        ]
        found = next(iter(by_algorithm.values()))["found"]
        lines.append(f"| {streams} | {' | '.join(cells)} | {found:,.0f} |")
    return "\n".join(lines)


def _title(algorithm: Algorithm) -> str:
    plain = {"bew": "bew, nested loop", "few": "few, nested loop"}
    return plain.get(algorithm.name, algorithm.name.replace(" hash", ", hash"))


def main() -> None:
    """Measures all settings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuples", type=int, default=40_000, help="input tuples per run")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    measured = {
        setting.name: {streams: costs(setting, streams, given.tuples) for streams in COUNTS}
        for setting in SETTINGS
    }
    if given.json:
        print(json.dumps(measured))
        return
    for setting in SETTINGS:
        print(table(setting, measured[setting.name]), end="\n\n")


if __name__ == "__main__":
    main()
