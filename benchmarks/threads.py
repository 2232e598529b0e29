"""Queries in process on one thread and on several, in turns: how much faster, with equal answers.

    python -m benchmarks.threads [--threads 2] [--rounds 5]

`wall` is what a clock shows, best of all rounds: it says something where the cores are free. `path` is
processor time along the longest path, by the clocks of the threads: of each step that several share, that
of the slowest. It holds beside other work as well; what threads wait for one another's turn of the
interpreter is not in it. Prints one JSON line per query, after one with what a clock shows of sorting,
which needs no interpreter: that is what the cores allow at the moment.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import windrow
from benchmarks.streaming import JOIN
from benchmarks.workloads import SCHEMA, ThreeStreams
from windrow.operators.engine import team
from windrow.operators.engine.team import Team

GROUPED = "SELECT k, {what} FROM a [RANGE INTERVAL {window} SECONDS] GROUP BY k"

QUERIES = {
    "join of three": (JOIN.format(window=5), 1_000_000),
    "join of three, many results": (JOIN.format(window=40), 400_000),
    "COUNT, SUM": (GROUPED.format(what="COUNT(*) AS n, SUM(v) AS s", window=5), 1_000_000),
    "MIN, MAX, STDDEV": (
        GROUPED.format(what="MIN(v) AS least, MAX(v) AS most, STDDEV(v) AS d", window=60),
        600_000,
    ),
    "MEDIAN, COUNT(DISTINCT)": (
        GROUPED.format(what="MEDIAN(v) AS m, COUNT(DISTINCT v) AS n", window=60),
        400_000,
    ),
    "DISTINCT": ("SELECT DISTINCT k FROM a [RANGE INTERVAL 5 SECONDS]", 1_000_000),
}


class LongestPath(Team):
    """Counts for how long others of a team work on after the one that asked, by processor time."""

    waited_ns = 0

    def each(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        """Does all tasks, and notes how long each thread was at work."""
        spent: Counter[int] = Counter()

        def timed(task: Callable[[], Any]) -> Any:
            started = time.thread_time_ns()
            try:
                return task()
            finally:
                spent[threading.get_ident()] += time.thread_time_ns() - started

        done = super().each([partial(timed, task) for task in tasks])
        LongestPath.waited_ns += max(spent.values()) - spent[threading.get_ident()]
        return done


def run(sql: str, streams: Sequence[Sequence[pa.RecordBatch]], threads: int) -> dict[str, float]:
    """One run: rows, a sum that does not depend on their order, and times in seconds."""
    session = windrow.Session()
    for name, batches in zip("abc", streams, strict=True):
        reader = pa.RecordBatchReader.from_batches(SCHEMA, batches)
        session.stream(name, reader, time="ts", lateness="1 second")
    LongestPath.waited_ns = 0
    started, worked = time.perf_counter(), time.thread_time()
    batches = list(session.sql(sql, threads=threads))
    wall, path = time.perf_counter() - started, time.thread_time() - worked
    rows = sum(batch.num_rows for batch in batches)
    total = sum(int(sum(batch.column("k").to_pylist())) for batch in batches)
    return {"wall": wall, "path": path + LongestPath.waited_ns / 1e9, "rows": rows, "total": total}


def measure(name: str, threads: int, rounds: int, batch: int) -> dict[str, object]:
    """Both ways in turns, best of all rounds."""
    sql, tuples = QUERIES[name]
    workload = ThreeStreams(tuples=tuples, batch=batch)
    streams = [list(workload.batches(stream)) for stream in range(3)]
    runs: dict[int, list[dict[str, float]]] = {1: [], threads: []}
    for _ in range(1 + rounds):  # the first compiles
        for own, found in runs.items():
            found.append(run(sql, streams, own))
    answers = {(one["rows"], one["total"]) for found in runs.values() for one in found}
    best = {
        (clock, own): min(one[clock] for one in found[1:])
        for own, found in runs.items()
        for clock in ("wall", "path")
    }
    return {
        "query": name,
        "threads": threads,
        "rows": int(runs[1][0]["rows"]),
        "is_equal": len(answers) == 1,
        **{
            clock: {
                "one_s": round(best[clock, 1], 3),
                "several_s": round(best[clock, threads], 3),
                "times_faster": round(best[clock, 1] / best[clock, threads], 2),
            }
            for clock in ("wall", "path")
        },
    }


def control(threads: int, rounds: int) -> dict[str, object]:
    """What the cores allow just now: arrays sorted by numpy, with the interpreter let go of."""
    arrays = [np.random.default_rng(n).random(1_000_000) for n in range(2 * threads)]
    tasks = [partial(np.sort, array) for array in arrays]
    best = {1: float("inf"), threads: float("inf")}
    for _ in range(1 + rounds):
        for own in (1, threads):
            started = time.perf_counter()
            Team(own).each(tasks)
            best[own] = min(best[own], time.perf_counter() - started)
    return {"control": "sorting", "times_faster": round(best[1] / best[threads], 2)}


def main() -> None:
    """Parses the command line and prints the measurements."""
    parser = argparse.ArgumentParser()
    parser.add_argument("query", nargs="*", choices=[*QUERIES, []])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=200_000)
    given = parser.parse_args()
    print(json.dumps(control(given.threads, given.rounds)), flush=True)
    team.Team = LongestPath  # type: ignore[misc]
    for name in given.query or QUERIES:
        print(json.dumps(measure(name, given.threads, given.rounds, given.batch)), flush=True)


if __name__ == "__main__":
    main()
