"""The 3-way window join on one core: the compiled search, the operator, and larger windows.

    python -m benchmarks.kernel_join [--json]

Three streams of 1,000,000 tuples over 1,000 s, 10,000 integer keys, WINDOW = 5 s: about 750,000
results. Seconds are of processor time, compilation excluded.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import Chunk
from windrow.operators.engine.base import Counters
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.operators.joins.bew_search import Search
from windrow.operators.joins.bew_window import JoinWindow
from windrow.operators.joins.join_steps import Predicates, route_from
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.time_join import TimeJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import Field, Schema

TUPLES, KEYS, SPAN_S, WINDOW_S = 1_000_000, 10_000, 1_000, 5
SECOND = 1_000_000
NAMES = ("a", "b", "c")


def three_way(window_s: float, method: str = "hash") -> TimeJoin:
    """SELECT every id and the key FROM a, b, c WHERE keys are equal WINDOW = window_s."""
    width = int(window_s * SECOND)
    bounds = tuple(Bound(i, j, width, width) for i in range(3) for j in range(i + 1, 3))
    keep = (("a.k", "a.v"), ("b.v",), ("c.v",))
    schema = Schema(tuple(Field(name, "bigint") for names in keep for name in names))
    scans = tuple(ScanStream(n, n, (), Schema(()), "ts", "timestamp", 0) for n in NAMES)
    key = KeyClass(tuple(f"{name}.k" for name in NAMES), "bigint")
    return TimeJoin(scans, NAMES, (key,), WindowGraph(NAMES, bounds), keep, method, schema)


def stream(
    name: str, *, rows: int, keys: int, first_s: float, span_s: float, seed: int
) -> ChangeBatch:
    """Uniform keys at uniform times, in time order."""
    random = np.random.default_rng([seed, ord(name)])
    times = np.sort(random.integers(int(first_s * SECOND), int((first_s + span_s) * SECOND), rows))
    columns = {f"{name}.k": random.integers(0, keys, rows), f"{name}.v": np.arange(rows)}
    return ChangeBatch(pa.record_batch(columns), times)


def best_of(runs: int, work: Callable[[], int]) -> tuple[int, float]:
    """The work's answer, and its least processor seconds."""
    seconds = []
    for _ in range(runs):
        started = time.process_time()
        answer = work()
        seconds.append(time.process_time() - started)
    return answer, min(seconds)


def search_all(node: TimeJoin, batches: list[ChangeBatch]) -> int:
    """Indexes and joins whole streams at once; combinations are found but not gathered."""
    windows = [JoinWindow((), Chunk(batch, batch.times)) for batch in batches]
    search = Search(node, windows, Counters(), Predicates(node))
    routes = [route_from(node, start) for start in range(len(windows))]
    return sum(len(found) for route in routes for found in search.combinations(route))


def push_all(node: TimeJoin, batches: list[ChangeBatch], rows: int) -> int:
    """The same through the operator: pushes of some rows per stream, results gathered."""
    operator = BewJoinOp(node)
    total = 0
    for start in range(0, TUPLES, rows):
        cut = [batch.slice(start, min(start + rows, TUPLES)) for batch in batches]
        total += sum(map(len, operator.push(cut)))
        list(operator.advance(min(int(batch.times[-1]) for batch in cut)))
    return total


class Steady:
    """A join whose window is full, pushed to once per second of event time."""

    def __init__(self, window_s: int, keys: int, rows: int) -> None:
        self.operator = BewJoinOp(three_way(window_s))
        self.keys, self.rows = keys, rows
        self.number, self.results, self.seconds = 0, 0, 0.0
        for _ in range(window_s + 1):
            self.push()
        self.results, self.seconds = 0, 0.0

    def push(self) -> None:
        """One micro-batch: push, then advance to its first instant."""
        batches = [
            stream(n, rows=self.rows, keys=self.keys, first_s=self.number, span_s=1,
                   seed=self.number)
            for n in NAMES
        ]  # fmt: skip
        started = time.process_time()
        self.results += sum(map(len, self.operator.push(batches)))
        list(self.operator.advance(self.number * SECOND))
        self.seconds += time.process_time() - started
        self.number += 1


def growth(rows: int, pushes: int) -> float:
    """Two joins side by side: ten times the window and the keys, the same batches and results."""
    joins = [Steady(2 * times, 2 * rows * times, rows) for times in (1, 10)]
    for _ in range(pushes):
        for join in joins:
            join.push()
    for join in joins:
        print(
            f"push of {3 * rows:,} into {join.operator.counters.stored:,} stored: "
            f"{join.results // pushes:,} results, {join.seconds / pushes * 1e3:.1f} ms"
        )
    small, large = joins
    ratio = large.seconds / small.seconds
    print(f"ten times the window costs {ratio:.2f} times as much")
    return ratio


def main() -> None:
    """Prints the three figures, with --json once more as one line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    figures: dict[str, float] = {}
    node = three_way(WINDOW_S)
    batches = [stream(n, rows=TUPLES, keys=KEYS, first_s=0, span_s=SPAN_S, seed=1) for n in NAMES]
    small = [batch.slice(0, 20_000) for batch in batches]
    search_all(node, small)  # compiles
    found, seconds = best_of(5, lambda: search_all(node, batches))
    rate = 3 * TUPLES / seconds / 1e6
    figures["kernel_million_tuples_per_s"] = round(rate, 1)
    print(f"index and search: {found:,} results in {seconds:.3f} s, {rate:.1f} M tuples/s")
    for rows in (50_000, 200_000):
        found, seconds = best_of(3, lambda: push_all(node, batches, rows))  # noqa: B023
        rate = 3 * TUPLES / seconds / 1e6
        print(f"operator, {rows:,} per push: {found:,} results in {seconds:.3f} s, "
              f"{rate:.1f} M tuples/s")  # fmt: skip
        figures[f"operator_{rows}_per_push_million_tuples_per_s"] = round(rate, 1)
    figures["ten_times_the_window_costs"] = round(growth(rows=50_000, pushes=40), 2)
    if as_json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
