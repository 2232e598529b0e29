"""Does the planner take the plan that is fastest?

`python -m benchmarks.planner` draws random joins (2 to 5 streams; rates, windows and numbers of
keys over orders of magnitude), runs every plan that could answer each, in process, and compares the
plan taken with the fastest: processor time, the median of interleaved runs. By what streams are joined:

    keys     an equality between each stream and the next
    band     of two streams, `abs(a.k - b.k) < 1`, no equality
    theta    2 to 4 streams, `a.x < b.x - d` between each and the next, no equality
    mixed    3 or 4 streams, some pairs by an equality and others by `<`

From three streams on, half have one window for all, and half a window of its own for each pair of
neighbors, up to some hundred times as wide as another. All plans must give as many rows. Half of the
joins are of tables, which are planned by samples; half of streams in micro-batches, of which nothing is
known beforehand: what is taken for these is what the query comes to by itself, and its first batches
are part of its time.

Every plan is first tried on a tenth of the tuples. One that then takes more than `--hopeless` times
as long as the fastest is not run again, and takes no further part. Such plans are counted: they are
most, by far the slowest, and would take most of the time. `--hopeless inf` has all of them run.

`--fit` prints, by algorithm, measured over estimated time: its median should be near 1. `--rows` writes
what was measured, plan by plan, as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from windrow import Session

TOTAL_WITHIN, EACH_WITHIN, LEAST_S = 1.15, 2.0, 0.05
"""Times the best that all plans taken may take together, and each whose best takes long enough."""

KINDS = (
    "keys",
    "theta",
    "keys",
    "mixed",
    "keys",
    "band",
    "theta",
    "keys",
    "mixed",
    "keys",
    "band",
    "keys",
)
"""What a dozen joins are joined by; every second one is of streams."""

VALUES = 1_000_000
"""x is uniform below it."""

MOST_TOUCHED = 20_000
"""Tuples that one of a join without a key looks at, at most: else it is scans alone that are measured."""

MOST_FOUND = 20
"""Results per tuple, at most: else a join measures how fast rows are written."""

TRIED = 10
"""All plans are tried on one in so many of the tuples."""

WARM_TUPLES = 2_000
"""Tuples of the runs that have loops compiled, or read from their cache, before any is measured."""

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_COST = rf"([\d.,]+) ({'|'.join(_SECONDS)})\b"
_PLAN = re.compile(rf"^ +(?:cost +|rejected +)?([a-z][^\n]*?): {_COST} of processor", re.MULTILINE)
_PAIR = re.compile(rf"\b([a-z]+/[a-z]+): {_COST}")


@dataclass(frozen=True)
class Workload:
    """One join.

    Attributes:
        rates: tuples per 1,000 ticks of each stream.
        windows: in ticks: one for all, or one for each stream and the next.
        keys: different keys.
        span: ticks from the first tuple to the last.
        kind: what streams are joined by, one of `KINDS`.
        shares: per stream and the next, of pairs compared by `<` those that pass; None: by their keys.
        seed: of the tuples.
        batch: tuples of all streams per micro-batch of each; None: tables.
    """

    rates: tuple[float, ...]
    windows: tuple[int, ...]
    keys: int
    span: int
    kind: str
    shares: tuple[float | None, ...]
    seed: int
    batch: int | None = None

    @property
    def names(self) -> str:
        """The streams."""
        return "abcde"[: len(self.rates)]

    @property
    def tuples(self) -> int:
        """Of all streams together."""
        return int(sum(self.rates) * self.span / 1_000)

    def session(self, tuples: int | None = None) -> Session:
        """A session with the streams, or with about so many tuples of them."""
        rng, session = np.random.default_rng(self.seed), Session()
        share = 1.0 if tuples is None else tuples / self.tuples
        span = max(10, int(self.span * share))
        for name, rate in zip(self.names, self.rates, strict=True):
            rows = max(2, int(rate * span / 1_000))
            at = np.sort(rng.integers(0, span, rows))
            values = {name: rng.integers(0, most, rows) for name, most in self._columns}
            table = pa.table({**values, "at": at})
            session.stream(name, self._as_it_comes(table, rate), time="at")
        return session

    @property
    def _columns(self) -> list[tuple[str, int]]:
        """The columns beside the time, with how many values each has."""
        columns = [("k", self.keys), ("x", VALUES)]
        return columns if any(share is not None for share in self.shares) else columns[:1]

    def _as_it_comes(self, table: pa.Table, rate: float) -> pa.Table | list[pa.Table]:
        """All of it, or micro-batches that last as long as those of the other streams."""
        if self.batch is None:
            return table
        size = max(1, round(self.batch * rate / sum(self.rates)))
        return [table.slice(start, size) for start in range(0, len(table), size)]

    @property
    def query(self) -> str:
        """The join as SQL."""
        shown = ", ".join(f"{name}.k AS {name}k, {name}.at AS {name}t" for name in self.names)
        pairs = list(pairwise(self.names))
        conditions = [
            f"{a}.k = {b}.k" if share is None else f"{a}.x < {b}.x - {_distance(share)}"
            for (a, b), share in zip(pairs, self.shares, strict=True)
        ]
        where = "abs(a.k - b.k) < 1" if self.kind == "band" else " AND ".join(conditions)
        windows = f"WINDOW = {self.windows[0]}"
        if len(self.windows) > 1:
            stated = zip(pairs, self.windows, strict=True)
            windows = " AND ".join(f"WINDOW ({a}, {b}) = {ticks}" for (a, b), ticks in stated)
        return f"SELECT {shown} FROM {', '.join(self.names)} WHERE {where} {windows}"

    @property
    def held(self) -> int:
        """About so many tuples lie in the windows."""
        return int(sum(self.rates) * max(self.windows) / 1_000)

    def each_pair(self) -> list[tuple[int, float]]:
        """Per stream and the next, the window and the share of pairs that belong together."""
        count = len(self.rates) - 1
        windows = self.windows if len(self.windows) > 1 else self.windows * count
        passing = [1 / self.keys if share is None else share for share in self.shares]
        return list(zip(windows, passing, strict=True))


def _distance(share: float) -> int:
    """What one value must be below another, both uniform, so that a share of pairs passes."""
    return int(VALUES * (1 - (2 * share) ** 0.5))


@dataclass
class Measured:
    """What the plans of a workload took.

    Attributes:
        workload: the join.
        taken: the plan that the planner takes.
        estimated_s: by plan, what the run was estimated to take.
        tried: by plan, what it took on a tenth of the tuples.
        times: by plan that is not hopeless, what each run took.
        rows: of the answer.
    """

    workload: Workload
    taken: str
    estimated_s: dict[str, float]
    tried: dict[str, float] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)
    rows: int = 0

    @property
    def seconds(self) -> dict[str, float]:
        """By plan, the median."""
        return {name: statistics.median(own) for name, own in self.times.items()}

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
        kind = KINDS[number % len(KINDS)]
        streams = _streams(kind, draw)
        rates = tuple(10 ** draw.uniform(1, 3.5) for _ in range(streams))
        batch = int(10 ** draw.uniform(2.7, 4)) if number % 2 == 0 else None
        span = max(10, int(1_000 * tuples / sum(rates)))
        windows = _windows(rates, draw)
        keys = int(10 ** draw.uniform(1, 4))
        shares = _shares(kind, streams, draw)
        found = Workload(rates, windows, keys, span, kind, shares, seed + number, batch)
        while _results_per_tuple(found) > MOST_FOUND:
            found = replace(found, keys=found.keys * 2, shares=_halved(found.shares))
        while kind != "keys" and _touched_per_tuple(found) > MOST_TOUCHED:
            found = replace(found, windows=tuple(max(1, ticks // 2) for ticks in found.windows))
        yield found


def _streams(kind: str, draw: random.Random) -> int:
    choices = {"band": (2,), "theta": (2, 3, 3, 4), "mixed": (3, 3, 4)}
    return draw.choice(choices.get(kind, (2, 2, 3, 4, 5)))


def _windows(rates: tuple[float, ...], draw: random.Random) -> tuple[int, ...]:
    """One window for all streams, or from three streams on, for half of all joins, one per pair."""
    mean = sum(rates) / len(rates)
    is_one = len(rates) == 2 or draw.random() < 0.5
    held = [10 ** draw.uniform(0.5, 3.3) for _ in range(1 if is_one else len(rates) - 1)]
    return tuple(max(1, int(1_000 * tuples / mean)) for tuples in held)


def _shares(kind: str, streams: int, draw: random.Random) -> tuple[float | None, ...]:
    """What passes of pairs that are compared; of mixed joins the first pair is not, the last is."""
    drawn = [10 ** draw.uniform(-2.5, -0.4) for _ in range(streams - 1)]
    if kind == "theta":
        return tuple(drawn)
    if kind == "mixed":
        keyed = [True, *(draw.random() < 0.5 for _ in range(streams - 3)), False]
        turned = keyed if draw.random() < 0.5 else keyed[::-1]
        return tuple(None if own else share for own, share in zip(turned, drawn, strict=True))
    return (None,) * (streams - 1)


def _halved(shares: tuple[float | None, ...]) -> tuple[float | None, ...]:
    return tuple(None if share is None else share / 2 for share in shares)


def _results_per_tuple(workload: Workload) -> float:
    """About so many; of one window for all it is a bound from above."""
    rates = np.array(workload.rates) / 1_000
    results = rates[0]
    for rate, (window, share) in zip(rates[1:], workload.each_pair(), strict=True):
        results *= rate * 2 * window * share
    return float(results / rates.sum())


def _touched_per_tuple(workload: Workload) -> float:
    """About so many tuples that backward evaluation looks at, along the pairs in either direction."""
    rates = np.array(workload.rates) / 1_000
    touched, pairs = 0.0, workload.each_pair()
    for own, steps in ((rates, pairs), (rates[::-1], pairs[::-1])):
        combinations = own[0]
        for rate, (window, share) in zip(own[1:], steps, strict=True):
            touched += combinations * rate * 2 * window
            combinations *= rate * 2 * window * share
    return float(touched / rates.sum())


class Bench:
    """Runs workloads.

    Args:
        runs: how often each plan is run.
        hopeless: times the fastest beyond which a plan is not run again.
    """

    def __init__(self, runs: int, hopeless: float) -> None:
        self._runs = runs
        self._hopeless = hopeless
        self._warm: set[tuple[int, str, bool, bool, str]] = set()

    def measure(self, workload: Workload) -> Measured:
        """Runs every plan of a workload several times, in turns."""
        session = workload.session()
        first = session.sql(workload.query)
        rows = {sum(batch.num_rows for batch in first)}
        estimates = _estimates(first.explain())  # of streams, as they turned out
        found = Measured(
            workload,
            next(iter(estimates)),
            {name: cost * workload.span for name, cost in estimates.items()},
        )
        self._compile(workload, list(estimates))
        self._try(found)
        for _ in range(self._runs):
            for name in found.times:
                seconds, own = _run(session, workload.query, _options(name, found.taken))
                found.times[name].append(seconds)
                rows.add(own)
        if len(rows) != 1:
            raise SystemExit(f"plans gave different numbers of rows: {rows}\n{workload}")
        found.rows = rows.pop()
        return found

    def _try(self, found: Measured) -> None:
        """Tries all plans, and lets those go on that are not hopeless; the one taken always."""
        workload = found.workload
        small = workload.session(workload.tuples // TRIED)
        for name in found.estimated_s:
            found.tried[name] = _run(small, workload.query, _options(name, ""))[0]
        most = self._hopeless * min(found.tried.values())
        found.times = {
            name: []
            for name, seconds in found.tried.items()
            if name == found.taken or seconds <= most
        }

    def _compile(self, workload: Workload, plans: list[str]) -> None:
        few = None
        for name in plans:
            shape = workload.kind, len(workload.windows) > 1, workload.batch is None
            key = len(workload.rates), *shape, name.split(",")[0]
            if key not in self._warm:
                few = few or workload.session(WARM_TUPLES)
                _run(few, workload.query, _options(name, ""))
                self._warm.add(key)


def _estimates(text: str) -> dict[str, float]:
    """Seconds per tick of every plan that EXPLAIN shows, the one taken first."""
    costs = text[text.rindex("\n          cost ") :].split("\n04)", maxsplit=1)[0]
    return {
        name: float(number.replace(",", "")) * _SECONDS[unit]
        for name, number, unit in [*_PLAN.findall(costs), *_PAIR.findall(costs)]
    }


def _options(plan: str, taken: str) -> dict[str, Any]:
    """What asks for a plan; nothing for the one that is taken anyway."""
    if plan == taken:
        return {}
    name, _, order = plan.partition(", order ")
    options = {"structure": name} if "/" in name else {"algorithm": name}
    return options | {"order": order} if order else options


def _run(session: Session, query: str, options: dict[str, Any]) -> tuple[float, int]:
    """Seconds of processor that a run takes once it is planned, and the rows of its answer."""
    result = session.sql(query, **options)
    started = time.process_time()
    rows = sum(batch.num_rows for batch in result)
    return time.process_time() - started, rows


def summary(measured: list[Measured], runs: int) -> dict[str, Any]:
    """The figures that decide."""
    taken = sum(one.seconds[one.taken] for one in measured)
    best = sum(one.best_s for one in measured)
    slow = [one.ratio for one in measured if one.best_s > LEAST_S]
    worst = max(slow, default=1.0)
    plans, run = (sum(len(getattr(one, part)) for one in measured) for part in ("tried", "times"))
    return {
        "workloads": len(measured),
        "plans": plans,
        f"plans_run_{runs}_times": run,
        "hopeless_plans_tried_on_a_tenth": plans - run,
        "took_the_fastest": sum(one.ratio == 1 for one in measured),
        "taken_s": round(taken, 3),
        "best_s": round(best, 3),
        "total_ratio": round(taken / best, 3),
        "best_over_50_ms": len(slow),
        "worst_ratio_of_these": round(worst, 3),
        "by_kind": _by_kind(measured),
        "holds": taken <= TOTAL_WITHIN * best and worst <= EACH_WITHIN,
    }


def _by_kind(measured: list[Measured]) -> dict[str, dict[str, float]]:
    """By what streams are joined by, and whether windows differ: joins, all taken over all best."""
    groups: dict[str, list[Measured]] = {}
    for one in measured:
        differ = ", windows differ" if len(one.workload.windows) > 1 else ""
        groups.setdefault(one.workload.kind + differ, []).append(one)
    return {
        kind: {
            "joins": len(own),
            "total_ratio": round(
                sum(one.seconds[one.taken] for one in own) / sum(one.best_s for one in own), 3
            ),
        }
        for kind, own in sorted(groups.items())
    }


def fitted(measured: list[Measured]) -> dict[str, dict[str, float]]:
    """By algorithm, measured over estimated time: quartiles."""
    ratios: dict[str, list[float]] = {}
    for one in measured:
        for name, seconds in one.seconds.items():
            kind = "asymmetric" if "/" in name else name.split(",")[0]
            ratios.setdefault(kind, []).append(seconds / one.estimated_s[name])
    shown = ("lower", "median", "upper")
    return {
        kind: dict(
            zip(shown, (round(q, 2) for q in np.quantile(own, (0.25, 0.5, 0.75))), strict=True)
        )
        for kind, own in ratios.items()
    }


def main() -> None:
    """Measures all workloads and prints what decides."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workloads", type=int, default=60)
    parser.add_argument("--tuples", type=int, default=100_000, help="about so many per workload")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--hopeless", type=float, default=2.0, help="times the fastest")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--rows", type=Path, help="a file for all that was measured")
    parser.add_argument("--kind", help="only joins of this kind")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    bench, measured = Bench(given.runs, given.hopeless), []
    for workload in workloads(given.workloads, given.tuples, given.seed):
        if given.kind not in {None, workload.kind}:
            continue
        found = bench.measure(workload)
        measured.append(found)
        if not given.json:
            best = min(found.seconds, key=found.seconds.__getitem__)
            print(f"{len(workload.rates)} {'tables' if workload.batch is None else 'streams'} by"
                  f" {workload.kind}, {len(workload.windows)} windows of {workload.held:,} tuples,"
                  f" {workload.keys:,} keys:"
                  f" took {found.taken} {found.seconds[found.taken] * 1e3:,.0f} ms,"
                  f" best {best} {found.best_s * 1e3:,.0f} ms", flush=True)  # fmt: skip
    if given.rows is not None:
        given.rows.write_text("".join(json.dumps(asdict(one)) + "\n" for one in measured))
    figures = summary(measured, given.runs)
    if given.fit:
        figures["measured_over_estimated"] = fitted(measured)
    print(json.dumps(figures, indent=None if given.json else 1))


if __name__ == "__main__":
    main()
