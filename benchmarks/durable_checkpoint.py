"""What a durable checkpoint costs: epochs of a join over a large window, with and without one.

Two streams are joined by a key over a window of a million tuples, 10,000 at a time, each batch an epoch.
Both ways run in turns, in processes of their own; the figures are medians over the epochs once the
window is full. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

JOIN = """
    SELECT a.k, a.ts AS a_ts, b.ts AS b_ts FROM a, b
    WHERE a.k = b.k WINDOW = INTERVAL '{seconds}' SECONDS
"""
PER_SECOND = 10_000


def measure(window: int, batch: int, epochs: int, folder: str | None) -> dict[str, float]:
    """Milliseconds of an epoch over a full window."""
    import windrow
    from windrow.io.generator import Generate, GeneratedRows

    class InBatches(GeneratedRows):
        """So many rows at a time, however many could be had."""

        def latest(self, since, most_rows=0):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG002
            return super().latest(since, batch // 2)

    ended: list[float] = []
    session = windrow.Session()
    rows = window // 2 + epochs * batch // 2
    for seed, name in enumerate("ab"):
        about = Generate(
            "k BIGINT, ts TIMESTAMP",
            rate=PER_SECOND,
            rows=rows,
            seed=seed,
            distinct={"k": window * 4},
            live=False,
        )
        session.stream(name, InBatches(about), time="ts")
    run = session.run(
        JOIN.format(seconds=window // 2 // PER_SECOND),
        to=windrow.call(lambda _rows, _epoch: ended.append(time.perf_counter())),
        checkpoint=folder,
        epoch="1 microsecond",
    )
    run.wait()
    took = [1_000 * (b - a) for a, b in pairwise(ended)][-epochs:-2]
    return {"ms": statistics.median(took), "mean_ms": statistics.fmean(took), "epochs": len(took)}


def main() -> None:
    """Measures both ways in turns, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--window", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", choices=("plain", "durable"))
    given = parser.parse_args()
    if given.way:
        with tempfile.TemporaryDirectory() as folder:
            place = folder if given.way == "durable" else None
            print(json.dumps(measure(given.window, given.batch, given.epochs, place)))
        return
    found: dict[str, list[dict[str, float]]] = {"plain": [], "durable": []}
    for _ in range(given.rounds):
        for way, own in found.items():
            command = [sys.executable, "-m", "benchmarks.durable_checkpoint", "--way", way]
            command += ["--window", str(given.window), "--batch", str(given.batch)]
            command += ["--epochs", str(given.epochs)]
            done = subprocess.run(
                command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
            )
            own.append(json.loads(done.stdout.strip().splitlines()[-1]))
    best = {way: min(own["mean_ms"] for own in figures) for way, figures in found.items()}
    ratio = round(best["durable"] / best["plain"], 2)
    print(json.dumps({"ways": found, "mean_ms": best, "ratio": ratio}))


if __name__ == "__main__":
    main()
