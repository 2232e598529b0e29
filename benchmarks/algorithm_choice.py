"""Which algorithm of window joins is fastest in process, and by how much, situation by situation.

`python -m benchmarks.algorithm_choice [--markdown]` asks for each algorithm by name, in situations that
one of them was made for, and prints its processor time over that of `bew`: the median of interleaved
runs, from the first batch to the last. All must give as many rows. Each situation is run
as streams in micro-batches, and as tables. One that takes more than `HOPELESS` times as long as the
fastest on a part of the tuples is not run on more of them: its ratio there is shown, after a `>`. With
more tuples it would be larger.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from windrow import Session
from windrow.errors import WindrowError

ALGORITHMS = (
    "bew", "few", "nlw", "hw", "asymmetric", "bew-tuple-at-a-time", "closure", "bew-graph", "gca", "lca",
    "ripple", "xjoin",
)  # fmt: skip
HOPELESS = 12.0
PARTS = (32, 8)
"""What is not hopeless on one in so many of the tuples is tried on more, and at last on all."""

VALUES = 1_000
BATCH = 500
"""Tuples of each stream in a micro-batch."""


@dataclass(frozen=True)
class Situation:
    """A join, and streams for it.

    Attributes:
        name: what is special about it.
        rates: tuples of each stream per tick.
        keys: different keys.
        where: the condition; x is uniform below 1,000.
        windows: as the query states them.
        burst: of the last stream, ticks of silence between two ticks that bring all its tuples.
    """

    name: str
    rates: tuple[float, ...]
    keys: int
    where: str
    windows: str
    burst: int = 0

    @property
    def names(self) -> str:
        """The streams."""
        return "abcde"[: len(self.rates)]

    @property
    def query(self) -> str:
        """The join as SQL."""
        shown = ", ".join(f"{name}.at AS {name}t" for name in self.names)
        return f"SELECT {shown} FROM {', '.join(self.names)} WHERE {self.where} {self.windows}"

    def session(self, tuples: int, *, is_table: bool) -> Session:
        """A session with about so many tuples of all streams."""
        rng, session = np.random.default_rng(7), Session()
        span = int(tuples / sum(self.rates))
        for name, rate in zip(self.names, self.rates, strict=True):
            rows = max(2, int(rate * span))
            at = np.sort(rng.integers(0, span, rows))
            if self.burst and name == self.names[-1]:
                at = at // self.burst * self.burst
            values = {"k": rng.integers(0, self.keys, rows), "x": rng.integers(0, VALUES, rows)}
            table = pa.table({**values, "at": at})
            size = max(1, int(BATCH * rate / max(self.rates)))
            parts = [table.slice(start, size) for start in range(0, rows, size)]
            session.stream(name, table if is_table else parts, time="at")
        return session


def _equal(names: str) -> str:
    return " AND ".join(f"{a}.k = {b}.k" for a, b in pairwise(names))


SITUATIONS = (
    Situation("2 streams, an equality", (1, 1), 50, _equal("ab"), "WINDOW = 100"),
    Situation("4 streams, an equality, even rates", (1, 1, 1, 1), 60, _equal("abcd"), "WINDOW = 60"),
    Situation(
        "3 streams, an equality, rates 1 : 5 : 20", (0.1, 0.5, 2), 50, _equal("abc"), "WINDOW = 100"
    ),
    Situation(
        "3 streams, an equality, the last comes in bursts", (2, 2, 0.1), 50, _equal("abc"),
        "WINDOW = 20", burst=200,
    ),
    Situation(
        "a path by an equality, windows 2 and 400", (1, 1, 1), 200, _equal("abc"),
        "WINDOW (a, b) = 2 AND WINDOW (b, c) = 400",
    ),
    Situation(
        "a path without an equality, even windows", (1, 1, 1), 50,
        "a.x < b.x - 600 AND b.x < c.x - 200", "WINDOW (a, b) = 30 AND WINDOW (b, c) = 30",
    ),
    Situation(
        "a path without an equality, windows 2 and 400", (1, 1, 1), 50,
        "a.x < b.x - 600 AND b.x < c.x - 200", "WINDOW (a, b) = 2 AND WINDOW (b, c) = 400",
    ),
    Situation(
        "a path without an equality, windows 400 and 2", (1, 1, 1), 50,
        "a.x < b.x - 600 AND b.x < c.x - 200", "WINDOW (a, b) = 400 AND WINDOW (b, c) = 2",
    ),
    Situation(
        "a graph of windows 5, 40 and 300, no equality", (1, 1, 1), 50,
        "(a.x + b.x + c.x) % 200 = 0",
        "WINDOW (a, b) = 5 AND WINDOW (b, c) = 40 AND WINDOW (a, c) = 300",
    ),
    Situation("2 streams, a band", (1, 1), 50, "abs(a.x - b.x) < 3", "WINDOW = 400"),
    Situation(
        "2 streams match rarely by an equality, a fast third by time", (1, 1, 20), 2_000, "a.k = b.k",
        "WINDOW = 20",
    ),
    Situation(
        "2 streams match rarely without an equality, a fast third by time", (1, 1, 20), 50,
        "a.x < b.x - 990", "WINDOW = 100",
    ),
)  # fmt: skip


def ratios(situation: Situation, tuples: int, runs: int, *, is_table: bool) -> dict[str, str]:
    """Per algorithm that can run, its time over that of `bew`, as text."""
    whole = situation.session(tuples, is_table=is_table)
    runnable = [name for name in ALGORITHMS if _can_run(whole, situation.query, name)]
    few = situation.session(tuples // PARTS[0], is_table=is_table)
    for name in runnable:
        _seconds(few, situation.query, name)  # compiles its loops
    shown: dict[str, str] = {}
    for part in PARTS:
        some = situation.session(tuples // part, is_table=is_table)
        left = [name for name in runnable if name not in shown]
        tried = {name: _seconds(some, situation.query, name)[0] for name in left}
        shown |= {
            name: f"> {tried[name] / tried['bew']:.0f}"
            for name in left
            if name != "bew" and tried[name] > HOPELESS * min(tried.values())
        }
    times: dict[str, list[float]] = {name: [] for name in runnable if name not in shown}
    rows = set()
    for _ in range(runs):
        for name, own in times.items():
            seconds, found = _seconds(whole, situation.query, name)
            own.append(seconds)
            rows.add(found)
    if len(rows) != 1:
        raise SystemExit(f"algorithms gave different numbers of rows: {rows}\n{situation}")
    usual = statistics.median(times["bew"])
    ran = {name: f"{statistics.median(own) / usual:.2f}" for name, own in times.items()}
    return {name: (ran | shown)[name] for name in runnable}


def _can_run(session: Session, query: str, algorithm: str) -> bool:
    try:
        session.explain(query, algorithm=algorithm)
    except WindrowError:
        return False
    return True


def _seconds(session: Session, query: str, algorithm: str) -> tuple[float, int]:
    """Seconds of processor that a run takes once it is planned, and the rows of its answer."""
    result = session.sql(query, algorithm=algorithm)
    started = time.process_time()
    rows = sum(batch.num_rows for batch in result)
    return time.process_time() - started, rows


def markdown(found: dict[str, dict[str, str]]) -> str:
    """A line per situation, a column per algorithm; the least of a line is bold."""
    lines = [
        f"| time over that of `bew` | {' | '.join(f'`{name}`' for name in ALGORITHMS[1:])} |",
        "|---|" + "---|" * (len(ALGORITHMS) - 1),
    ]
    for name, own in found.items():
        fastest = min((float(v), k) for k, v in own.items() if not v.startswith(">"))[1]
        cells = [
            f"**{own[one]}**" if one == fastest else own.get(one, "") for one in ALGORITHMS[1:]
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measures all situations."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuples", type=int, default=24_000, help="of all streams together")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    found = {}
    for situation in SITUATIONS:
        for is_table in (False, True):
            name = f"{situation.name}{', tables' if is_table else ''}"
            found[name] = ratios(situation, given.tuples, given.runs, is_table=is_table)
            if not given.markdown:
                print(json.dumps({name: found[name]}), flush=True)
    if given.markdown:
        print(markdown(found))


if __name__ == "__main__":
    main()
