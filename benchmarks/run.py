"""All benchmarks, one after the other, each in processes of its own: `make bench`.

Prints a table per question and writes every figure, with machine and versions, as JSON.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.workloads import ThetaStreams, ThreeStreams, TripletStreams, write

HERE = Path(__file__).parent
PACKAGES = ("pyspark", "pyarrow", "numpy", "numba", "duckdb", "polars", "pandas", "windrow")


def child(module: str, *arguments: str) -> dict[str, Any]:
    """The JSON that a measuring process prints last."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr[-4000:])
        raise SystemExit(f"{' '.join(command)} failed")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def say(text: str) -> None:
    """Progress, at once."""
    print(text, flush=True)


def three_way_join(data: Path, tuples: int) -> dict[str, object]:
    """Windrow against Spark's own chain and against a copy; equal answers checked."""
    folder = write(ThreeStreams(tuples=tuples, batch=max(1, tuples // 5)), data)
    small = write(ThreeStreams(tuples=tuples // 10, batch=max(1, tuples // 50)), data)
    found = {}
    for way in ("windrow-files", "windrow", "spark-memory", "spark-rocksdb", "copy"):
        found[way] = child("streaming", way, str(folder), "--warm-up", str(small))
        say(
            f"  {way:<14} total {found[way]['total_s']:>7} s   steady batch "
            f"{found[way]['steady_ms'] / 1000:6.2f} s   {found[way]['rows']:,} rows   "
            f"({found[way]['provider']}, {found[way]['partitions']} partitions)"
        )
    ours = found["windrow"]
    for way in ("windrow-files", "spark-memory", "spark-rocksdb"):
        if (ours["rows"], ours["checksum"]) != (found[way]["rows"], found[way]["checksum"]):
            raise SystemExit(f"the answers of windrow and {way} differ")
    ratios = {
        way: round(found[way]["steady_ms"] / ours["steady_ms"], 2)
        for way in found
        if way != "windrow"
    }
    say(f"  equal answers; steady micro-batch, theirs / ours: {ratios}")
    return {"ways": found, "ratios": ratios}


def small_batches(data: Path, batch: int) -> dict[str, object]:
    """Micro-batches of few rows: what Spark and Windrow do once for each, whatever it brings."""
    folder, small = (
        write(ThreeStreams("small", tuples=count * batch, batch=batch, per_second=batch), data)
        for count in (30, 5)
    )
    found = {}
    for way in ("windrow-files", "windrow", "spark-memory", "spark-pair", "copy"):
        found[way] = child("streaming", way, str(folder), "--warm-up", str(small))
        say(f"  {way:<14} {found[way]['steady_ms']:>6} ms   {found[way]['phases_ms']}")
    answers = {(own["rows"], own["checksum"]) for way, own in found.items() if way.startswith("w")}
    if len(answers) > 1:
        raise SystemExit("the answers of windrow and windrow-files differ")
    base = found["spark-pair"]["steady_ms"]
    ratios = {way: round(own["steady_ms"] / base, 2) for way, own in found.items()}
    say(f"  times Spark's own join of two streams: {ratios}")
    return {"ways": found, "ratios": ratios}


def window_growth(data: Path, small: int) -> dict[str, object]:
    """A micro-batch at a window of 300,000 and of 3,000,000 tuples, equal batch and output."""
    batch = small // 6
    per_second = 1_000
    found = {}
    # The same stream for both, long enough to fill the larger window: only the window differs.
    folder = write(TripletStreams(tuples=small * 10 // 3 + 6 * batch, batch=batch), data)
    for factor in (1, 10):
        window = small * factor // 3 // per_second
        found[factor] = child("streaming", "windrow", str(folder), "--window", str(window))
        found[factor]["last_ms"] = sorted(found[factor]["batch_ms"][-4:])[1]
        say(
            f"  window of {small * factor:>9,} tuples: micro-batch "
            f"{found[factor]['last_ms'] / 1000:.2f} s, {found[factor]['rows']:,} rows"
        )
    ratio = round(found[10]["last_ms"] / found[1]["last_ms"], 2)
    say(f"  ten times the window costs {ratio} times as much")
    return {"windows": found, "ratio": ratio}


def theta_join(data: Path, tuples: int) -> dict[str, object]:
    """A join without an equality at two windows: its time against its candidates, its memory."""
    folder = write(ThetaStreams(tuples=tuples, batch=tuples // 10), data)
    small = write(ThetaStreams(tuples=tuples // 20, batch=tuples // 100), data)
    found = {}
    for window_ms in (1_000, 10_000):
        arguments = ("--window", str(window_ms), "--warm-up", str(small))
        ran = child("streaming", "windrow-theta", str(folder), *arguments)
        # 1,000 tuples per second: a tuple of a meets those of b within the window either way.
        ran["candidates"] = tuples * (2 * window_ms + 1)
        found[window_ms] = ran
        say(
            f"  window {window_ms / 1000:>2.0f} s: {ran['candidates']:>14,} candidates in "
            f"{ran['total_s']:>6} s ({ran['candidates'] / ran['total_s'] / 1e6:.0f} million per"
            f" s), {ran['rows']:,} rows, Python workers at most {ran['worker_mib']} MiB"
        )
    return {str(window): ran for window, ran in found.items()}


def band_join(tuples: int) -> dict[str, object]:
    """A band join by trees and DuckDB's range join; equal answers checked."""
    found: dict[str, object] = {}
    for structure in ("ttree/ttree", "btree/btree"):
        ran = child("band", "--tuples", str(tuples), "--structure", structure)
        found[structure] = ran
        ours, theirs = ran["windrow"], ran["duckdb"]
        say(
            f"  {structure}: {ours['seconds']} s ({ours['processor_s']} s of processor), DuckDB "
            f"{theirs['seconds']} s ({theirs['processor_s']} s): {ran['ratio']} times as fast;"
            f" {ran['rows']:,} rows, equal, of {ran['touched']:,} tuples looked at"
        )
    return found


def planner_choices(tuples: int) -> dict[str, object]:
    """The plans that the planner takes for 60 random joins, against the fastest of all plans."""
    found = child("planner", "--json", "--tuples", str(tuples))
    say(
        f"  {found['workloads']} joins, {found['plans']} plans: those taken {found['taken_s']} s, the"
        f" fastest {found['best_s']} s, {found['total_ratio']} times; of the {found['best_over_50_ms']}"
        f" joins whose fastest takes over 50 ms, at most {found['worst_ratio_of_these']} times"
    )
    return found


def structures(most: int) -> dict[str, object]:
    """Window structures of growing windows: counted work and time."""
    found = child("structures", "--most", str(most))
    for name, own in found.items():
        for line in own["sizes"]:
            say(
                f"  {name:<5} {line['tuples']:>9,} tuples: a probe {line['probe_work']:>6} of work,"
                f" {line['probe_ns']:>6} ns; in and out {line['slide_work']:>6},"
                f" {line['slide_ns']:>6} ns"
            )
        say(f"  {name:<5} the largest over the smallest: {own['largest / smallest']}")
    return found


def count_windows(keys: int) -> dict[str, object]:
    """A micro-batch over count windows by key, and over ten times as many keys."""
    found = child("counts", "--keys", str(keys), "--batch", str(keys // 10))
    for own in (found["small"], found["large"]):
        say(
            f"  windows of {own['stored']:>9,} tuples: micro-batch {own['ms_per_batch']:>6} ms,"
            f" {own['results_per_batch']:,} rows"
        )
    say(f"  ten times the window costs {found['ratio']} times as much")
    return found


def sliding_aggregates(most: int) -> dict[str, object]:
    """Each aggregate while more and more tuples are alive, and GROUP BY over many groups."""
    found = child("aggregates", "--most", str(most), "--rows", str(2 * most))
    for name, sizes in found["changes"].items():
        figures = [f"{own['work']:g} ({own['ns']} ns)" for own in sizes.values()]
        say(f"  {name:<17} work per change, and time, at {', '.join(sizes)}: {', '.join(figures)}")
    say(
        f"  SUM of {found['grouped']['groups']:,} groups: {found['grouped']['rows_per_s']:,} rows/s"
    )
    return found


def changelog_stream(data: Path, batch: int) -> dict[str, object]:
    """A sliding GROUP BY against Spark that reads the same tuples and writes as many rows."""
    fast = 10_000  # tuples per second: 300,000 in the window
    folder, small = (
        write(
            ThreeStreams("one-stream", tuples=5 * rows, batch=rows, per_second=fast),
            data,
            streams="a",
        )
        for rows in (batch, batch // 10)
    )
    ours, from_files = (
        child("changelog_stream", way, str(folder), "--warm-up", str(small))
        for way in ("windrow", "windrow-files")
    )
    arguments = (str(folder), "--warm-up", str(small), "--rows", str(ours["rows"]))
    copied = child("changelog_stream", "copy", *arguments)
    for own in (ours, from_files, copied):
        say(
            f"  {own['way']:<14} steady batch {own['steady_ms'] / 1000:6.2f} s   {own['tuples']:,}"
            f" tuples in, {own['rows']:,} rows out"
        )
    ratio, of_files = (
        round(own["steady_ms"] / copied["steady_ms"], 2) for own in (ours, from_files)
    )
    say(
        f"  {ours['compared']:,} groups compared, equal; ours / a copy: {ratio}, from files to files"
        f" {of_files}"
    )
    return {"ways": [ours, from_files, copied], "ratio": ratio, "ratio_of_files": of_files}


def sums_over(tuples: int) -> dict[str, object]:
    """SUM and COUNT by key over a sliding window, beside the peers that are installed."""
    found = child("over", "--tuples", str(tuples))
    for way, seconds in found["seconds"].items():
        say(f"  {way:<8} {seconds:6.2f} s   {round(tuples / seconds):,} tuples/s, equal answers")
    for peer, why in found["left_out"].items():
        say(f"  {peer:<8} {why}")
    return found


def as_of(rows: int) -> dict[str, object]:
    """An as-of join beside those of two libraries of data frames."""
    found = child("asof", "--rows", str(rows))
    for way, seconds in found["seconds"].items():
        worked = found["processor_s"][way]
        say(f"  {way:<8} {seconds:6.2f} s, {worked:6.2f} s of the processors; equal answers")
    return found


def best_matches(rows: int) -> dict[str, object]:
    """A bestmatch join beside the paper's SQL on DuckDB and on Spark."""
    found = child("bestmatch", "--rows", str(rows), "--with-spark")
    for way, own in found["ways"].items():
        took = (
            f"{own['seconds']:.2f} s"
            if "seconds" in own
            else f"stopped at {own['stopped_after']} s"
        )
        beside = f", {own['ratio']} times ours" if "ratio" in own else ""
        say(f"  {way:<18} {took}{beside}")
    say(f"  {found['pairs']:,} pairs, equal; comparisons per left tuple: {found['comparisons']}")
    return found


def shown(found: dict[str, Any]) -> dict[str, Any]:
    """What a measuring process has found, said as it is."""
    say(f"  {found}")
    return found


def tables_and_batches(rows: int) -> dict[str, object]:
    """Every family of queries over tables, and over their rows in batches."""
    found = child("table_or_batches", "--rows", str(rows), "--batch", str(rows // 10))
    for name, own in found["families"].items():
        say(f"  {name:<36} time {own['time']:5.2f}   memory {own['memory']:5.2f}")
    say(f"  beyond {found['limit']}: {', '.join(found['beyond']) or 'none'}")
    return found


QUESTIONS: dict[str, tuple[str, Callable[[Path, int], object]]] = {
    "kernel": (
        "the compiled 3-way kernel, one core",
        lambda _data, _size: shown(child("kernel_join", "--json")),
    ),
    "memory": (
        "in process, three streams of 10 million tuples, batch by batch",
        lambda _data, size: shown(child("in_process", "--tuples", str(10_000_000 // size))),
    ),
    "join": (
        "Spark streaming, 3-way window join, Parquet in and out",
        lambda data, size: three_way_join(data, 1_000_000 // size),
    ),
    "growth": (
        "Spark streaming, the window grows, batch and output do not",
        lambda data, size: window_growth(data, 300_000 // size),
    ),
    "small": (
        "Spark streaming, micro-batches of 300 rows, 3-way join, Parquet in and out",
        lambda data, _size: small_batches(data, 100),
    ),
    "theta": (
        "Spark streaming, a join without an equality of two streams, Parquet in and out",
        lambda data, size: theta_join(data, 1_000_000 // size),
    ),
    "band": (
        "in process, a band join without an equality, against DuckDB's range join",
        lambda _data, size: band_join(1_000_000 // size),
    ),
    "planner": (
        "in process, the plans that the planner takes, against all that could run",
        lambda _data, size: planner_choices(100_000 // size),
    ),
    "structures": (
        "window structures, 1,000 to 1,000,000 tuples, one core",
        lambda _data, size: structures(1_000_000 // size),
    ),
    "counts": (
        "in process, a join of count windows by key that grow, batch and output do not",
        lambda _data, size: count_windows(20_000 // size),
    ),
    "aggregates": (
        "in process, sliding aggregates while the window grows, one core",
        lambda _data, size: sliding_aggregates(1_000_000 // size),
    ),
    "changelog": (
        "Spark streaming, sliding GROUP BY, Parquet in and out, against a copy",
        lambda data, size: changelog_stream(data, 600_000 // size),
    ),
    "over": (
        "in process, sliding SUM and COUNT by key, CSV in and out, beside Flink and Pathway",
        lambda _data, size: sums_over(100_000 // size),
    ),
    "asof": (
        "in process, an as-of join by key of two tables, beside Polars and pandas",
        lambda _data, size: as_of(10_000_000 // size),
    ),
    "tables": (
        "in process, a table beside its own rows in batches, every family of queries",
        lambda _data, size: tables_and_batches(100_000 // size),
    ),
    "one-row": (
        "in process, batches of one row: milliseconds of processor for each",
        lambda _data, size: shown(child("one_row", "--batches", str(5_000 // size))),
    ),
    "bestmatch": (
        "a bestmatch join in time, x and y, beside the paper's SQL on DuckDB and on Spark",
        lambda _data, size: best_matches(200_000 // size),
    ),
}
"""What is measured: what is said of it, and how it is done, given a folder for data and a divisor."""


def main() -> None:
    """Runs what was asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    parser.add_argument("--only", choices=QUESTIONS)
    parser.add_argument("--json", type=Path, default=HERE / "results" / "latest.json")
    given = parser.parse_args()
    results: dict[str, object] = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "at": time.strftime("%Y-%m-%d"),
        "quick": given.quick,
    }
    for name, (text, measure) in QUESTIONS.items():
        if given.only in (None, name):
            say(text)
            results[name] = measure(HERE / "data", 10 if given.quick else 1)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(results, indent=1))
    say(f"written to {given.json}")


if __name__ == "__main__":
    main()
