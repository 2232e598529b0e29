"""Pathway over a file of tuples: `python pathway_over.py TUPLES WINDOW_S ANSWERS`.

One row per tuple: SUM and COUNT of its key over the tuples of the last WINDOW_S seconds, those of its
own instant included, as an interval join of the tuples with themselves and a `groupby` of the pairs:
Pathway has no OVER, and its `intervals_over` would answer for every key at every instant. The file is
read as a whole (mode "static"), on one thread. Run by Pathway's own Python; knows nothing of Windrow.
Prints one JSON line.
"""

from __future__ import annotations

import json
import sys
import time

import pathway as pw  # type: ignore[import-not-found]


class Tuples(pw.Schema):  # type: ignore[misc]
    """A line of the file."""

    row: int
    k: int
    ts: int
    x: int


def main() -> None:
    path, seconds, answers = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    started = time.perf_counter()
    tuples = pw.io.csv.read(path, schema=Tuples, mode="static")
    earlier = tuples.copy()
    window = pw.temporal.interval(-1_000 * seconds, 0)
    pairs = tuples.interval_join(
        earlier, tuples.ts, earlier.ts, window, tuples.k == earlier.k
    ).select(row=pw.left.row, x=pw.right.x)
    summed = pairs.groupby(pairs.row).reduce(
        pairs.row, total=pw.reducers.sum(pairs.x), n=pw.reducers.count()
    )
    pw.io.csv.write(summed, answers)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    print(json.dumps({"seconds": round(time.perf_counter() - started, 2)}))


if __name__ == "__main__":
    main()
