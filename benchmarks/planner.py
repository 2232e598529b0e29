"""Does the planner take the plan that is fastest?

`python -m benchmarks.planner` draws random joins (2 to 5 streams; rates, windows and numbers of
keys over orders of magnitude; some without an equality, by a band), runs every plan that could
answer each, in process, and compares the plan taken with the fastest: processor time, the median
of interleaved runs. All plans must give as many rows. Plans that are estimated to take more than
`--most` seconds are left out, and counted: they are not the fastest.

`--fit` prints, by algorithm, measured over estimated time: its median should be near 1.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from windrow import Session

TOTAL_WITHIN, EACH_WITHIN, LEAST_S = 1.15, 2.0, 0.05
"""Times the best that all plans taken may take together, and each whose best takes long enough."""

MOST_FOUND = 20
"""Results per tuple, at most: else a join measures how fast rows are written."""

_PLAN = re.compile(r"([a-z][a-z/-]+(?:, ordered by cost)?): ([\d.,]+) (s|ms|us|ns)\b")
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
ORDERED = ", ordered by cost"


@dataclass(frozen=True)
class Workload:
    """One join.

    Attributes:
        rates: tuples per 1,000 ticks of each stream.
        window: in ticks.
        keys: different keys.
        span: ticks from the first tuple to the last.
        is_band: by a band on the keys, not by their equality.
        seed: of the tuples.
    """

    rates: tuple[float, ...]
    window: int
    keys: int
    span: int
    is_band: bool
    seed: int

    @property
    def names(self) -> str:
        """The streams."""
        return "abcde"[: len(self.rates)]

    def session(self) -> Session:
        """A session with the streams as tables."""
        rng, session = np.random.default_rng(self.seed), Session()
        for name, rate in zip(self.names, self.rates, strict=True):
            rows = max(2, int(rate * self.span / 1_000))
            at = np.sort(rng.integers(0, self.span, rows))
            session.stream(
                name, pa.table({"k": rng.integers(0, self.keys, rows), "at": at}), time="at"
            )
        return session

    @property
    def query(self) -> str:
        """The join as SQL."""
        shown = ", ".join(f"{name}.k AS {name}k, {name}.at AS {name}t" for name in self.names)
        equal = " AND ".join(f"{a}.k = {b}.k" for a, b in pairwise(self.names))
        where = "abs(a.k - b.k) < 1" if self.is_band else equal
        return f"SELECT {shown} FROM {', '.join(self.names)} WHERE {where} WINDOW = {self.window}"


@dataclass
class Measured:
    """What the plans of a workload took.

    Attributes:
        workload: the join.
        taken: the plan that the planner takes.
        estimated_s: by plan, what the run was estimated to take.
        seconds: by plan, the median.
        left_out: plans that were not run.
    """

    workload: Workload
    taken: str
    estimated_s: dict[str, float]
    seconds: dict[str, float] = field(default_factory=dict)
    left_out: int = 0

    @property
    def best_s(self) -> float:
        """What the fastest plan took."""
        return min(self.seconds.values())

    @property
    def ratio(self) -> float:
        """The plan taken over the fastest one."""
        return self.seconds[self.taken] / self.best_s


def workloads(count: int, tuples: int, seed: int) -> Iterator[Workload]:
    """Random joins of about so many tuples each."""
    draw = random.Random(seed)
    for number in range(count):
        is_band = number % 6 == 5
        streams = 2 if is_band else draw.choice((2, 2, 3, 4, 5))
        rates = tuple(10 ** draw.uniform(1, 3.5) for _ in range(streams))
        mean = sum(rates) / streams
        window = max(1, int(1_000 * 10 ** draw.uniform(0.5, 3.3) / mean))
        keys = int(10 ** draw.uniform(1, 4))
        while _results_per_tuple(rates, window, keys) > MOST_FOUND:
            keys *= 2
        span = max(10, int(1_000 * tuples / sum(rates)))
        yield Workload(rates, window, keys, span, is_band, seed + number)


def _results_per_tuple(rates: tuple[float, ...], window: int, keys: int) -> float:
    held = np.array(rates) * window / 1_000 / keys
    results = sum(rate * np.prod(np.delete(held, at)) for at, rate in enumerate(rates))
    return float(results / sum(rates))


def measure(workload: Workload, runs: int, most_s: float) -> Measured:
    """Runs every plan of a workload several times, in turns."""
    session = workload.session()
    estimates = _estimates(session.explain(workload.query))
    found = Measured(
        workload,
        next(iter(estimates)),
        {name: cost * workload.span for name, cost in estimates.items()},
    )
    plans = [
        name
        for name, seconds in found.estimated_s.items()
        if name == found.taken or (ORDERED not in name and seconds <= most_s)
    ]
    found.left_out = len(estimates) - len(plans)
    times: dict[str, list[float]] = {name: [] for name in plans}
    rows: set[int] = set()
    for name in plans:  # compiles, and fills caches
        rows.add(_run(session, workload.query, _options(name, found.taken))[1])
    for _ in range(runs):
        for name in plans:
            seconds, own = _run(session, workload.query, _options(name, found.taken))
            times[name].append(seconds)
            rows.add(own)
    if len(rows) != 1:
        raise SystemExit(f"plans gave different numbers of rows: {rows}\n{workload}")
    found.seconds = {name: statistics.median(own) for name, own in times.items()}
    return found


def _estimates(text: str) -> dict[str, float]:
    """Seconds per tick of every plan that EXPLAIN shows, the one taken first."""
    costs = text[text.rindex("\n          cost ") :].split("\n04)", maxsplit=1)[0]
    return {
        name: float(number.replace(",", "")) * _SECONDS[unit]
        for name, number, unit in _PLAN.findall(costs)
    }


def _options(plan: str, taken: str) -> dict[str, Any]:
    """What asks for a plan; nothing for the one that is taken anyway."""
    if plan == taken:
        return {}
    return {"structure": plan} if "/" in plan else {"algorithm": plan}


def _run(session: Session, query: str, options: dict[str, Any]) -> tuple[float, int]:
    started = time.process_time()
    rows = sum(batch.num_rows for batch in session.sql(query, **options))
    return time.process_time() - started, rows


def summary(measured: list[Measured]) -> dict[str, Any]:
    """The figures that decide."""
    taken = sum(one.seconds[one.taken] for one in measured)
    best = sum(one.best_s for one in measured)
    slow = [one.ratio for one in measured if one.best_s > LEAST_S]
    worst = max(slow, default=1.0)
    return {
        "workloads": len(measured),
        "plans_run": sum(len(one.seconds) for one in measured),
        "plans_left_out": sum(one.left_out for one in measured),
        "taken_s": taken,
        "best_s": best,
        "total_ratio": taken / best,
        "worst_ratio": worst,
        "holds": taken <= TOTAL_WITHIN * best and worst <= EACH_WITHIN,
    }


def fitted(measured: list[Measured]) -> dict[str, float]:
    """By algorithm, the median of measured over estimated time."""
    ratios: dict[str, list[float]] = {}
    for one in measured:
        for name, seconds in one.seconds.items():
            kind = "asymmetric" if "/" in name else name.removesuffix(ORDERED)
            ratios.setdefault(kind, []).append(seconds / one.estimated_s[name])
    return {name: statistics.median(own) for name, own in ratios.items()}


def main() -> None:
    """Measures all workloads and prints what decides."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workloads", type=int, default=60)
    parser.add_argument("--tuples", type=int, default=100_000, help="about so many per workload")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--most", type=float, default=5.0, help="seconds that a plan may take")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    measured = []
    for workload in workloads(given.workloads, given.tuples, given.seed):
        found = measure(workload, given.runs, given.most)
        measured.append(found)
        if not given.json:
            best = min(found.seconds, key=found.seconds.__getitem__)
            print(f"{len(workload.rates)} streams, window {workload.window}, {workload.keys} keys:"
                  f" took {found.taken} {found.seconds[found.taken] * 1e3:,.0f} ms,"
                  f" best {best} {found.best_s * 1e3:,.0f} ms")  # fmt: skip
    figures = summary(measured) | (
        {"measured_over_estimated": fitted(measured)} if given.fit else {}
    )
    print(json.dumps(figures, indent=None if given.json else 1))


if __name__ == "__main__":
    main()
