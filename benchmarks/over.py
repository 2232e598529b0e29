"""SUM and COUNT by key over a sliding window: Windrow, and beside it Flink's OVER and Pathway.

    python -m benchmarks.over [--tuples 100000]

Tuples of 1,000 keys, two per millisecond, window 5 s: 10,000 alive, ten of a key. All read the same
CSV file and write CSV, on one core or task; seconds are by the clock, reading and writing included.

    Windrow    the changelog of GROUP BY: the answer of a key at every instant, expirations included
    Flink      SUM and COUNT ... OVER (PARTITION BY k ORDER BY .. RANGE .. PRECEDING): a row per tuple
    Pathway    an interval join of the tuples with themselves and a sum per tuple: a row per tuple

They meet in what all three say: the answer of a tuple's key at the tuple's instant. Of Windrow's
changelog it is looked up afterwards, which is not timed. A peer's time counts once its rows equal ours.

A peer runs by its own Python, since its packages need other versions than Windrow's: `make peers`
installs what `benchmarks/peers/*.txt` name into `.venv-peers`. What is not there is left out, and said.
Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

import windrow

HERE = Path(__file__).parent
PEERS = ("flink", "pathway")
KEYS, PER_MS, WINDOW_S = 1_000, 2, 5
FIRST_MS = 1_000
"""Flink's OVER takes a tuple of instant 0 for late."""
WARM_UP = 10
"""A peer that compiles as it runs is given the first tuples before: one in so many."""

SUMS = f"SELECT k, SUM(x) AS total, COUNT(*) AS n FROM a [RANGE {1_000 * WINDOW_S}] GROUP BY k"
AT_TUPLES = """
    SELECT row, total, n FROM tuples ASOF JOIN (
        SELECT * FROM changes WHERE _change_type = 'insert'
    ) AS shown ON tuples.k = shown.k AND tuples.ts >= shown._event_time ORDER BY row
"""


def tuples_of(count: int) -> pa.Table:
    """The tuples, in order of time; seed 5."""
    random = np.random.default_rng(5)
    return pa.table(
        {
            "row": np.arange(count),
            "k": random.integers(0, KEYS, count),
            "ts": FIRST_MS + np.arange(count) // PER_MS,
            "x": random.integers(0, 1_000, count),
        }
    )


def written(tuples: pa.Table, file: Path, *, has_names: bool) -> Path:
    """The tuples as CSV."""
    options = pa_csv.WriteOptions(include_header=has_names, quoting_header="none")
    pa_csv.write_csv(tuples, file, options)
    return file


def by_windrow(file: Path, answers: Path) -> float:
    """Writes the changelog; the seconds from file to file."""
    started = time.perf_counter()
    session = windrow.Session()
    session.stream("a", pa_csv.open_csv(file), time="ts")
    result = session.sql(SUMS)
    with pa_csv.CSVWriter(answers, result.schema) as writer:
        for changes in result:
            writer.write_batch(changes)
    return time.perf_counter() - started


def at_tuples(tuples: pa.Table, changelog: Path) -> pa.Table:
    """The answer of each tuple's key at its instant, by a changelog."""
    with duckdb.connect() as connection:
        connection.register("tuples", tuples)
        connection.register("changes", pa_csv.read_csv(changelog))
        return connection.sql(AT_TUPLES).to_arrow_table()


def by_peer(name: str, folder: Path, tuples: pa.Table) -> tuple[float, pa.Table] | str:
    """A peer's seconds and its answers, a row per tuple; or why there are none."""
    python = HERE.parent / ".venv-peers" / name / "bin" / "python"
    if not python.exists():
        return "not installed (make peers)"
    is_flink = name == "flink"
    file = written(tuples, folder / f"{name}.csv", has_names=not is_flink)
    written(tuples.slice(0, len(tuples) // WARM_UP), file.with_suffix(".first"), has_names=False)
    answers = folder / f"{name}-answers"
    script = str(HERE / "peers" / f"{name}_over.py")
    command = [str(python), script, str(file), str(WINDOW_S), str(answers)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}"
    seconds = json.loads(done.stdout.strip().splitlines()[-1])["seconds"]
    parts = sorted(answers.iterdir()) if is_flink else [answers]
    options = pa_csv.ReadOptions(column_names=["row", "total", "n"] if is_flink else None)
    found = pa.concat_tables([pa_csv.read_csv(part, options) for part in parts])
    return seconds, found.select(["row", "total", "n"]).sort_by("row")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tuples", type=int, default=100_000)
    tuples = tuples_of(parser.parse_args().tuples)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = written(tuples, folder / "tuples.csv", has_names=True)
        by_windrow(file, folder / "warm-up.csv")
        seconds = {"windrow": round(by_windrow(file, folder / "changes.csv"), 2)}
        ours = at_tuples(tuples, folder / "changes.csv").cast(
            pa.schema([(name, pa.int64()) for name in ("row", "total", "n")])
        )
        left_out = {}
        for name in PEERS:
            found = by_peer(name, folder, tuples)
            if isinstance(found, str):
                left_out[name] = found
                continue
            seconds[name], theirs = found
            if not theirs.equals(ours):
                raise SystemExit(f"the answers of windrow and {name} differ")
    checksum = int(np.dot(ours["total"].to_numpy(), ours["row"].to_numpy() % 1_009 + 1))
    print(
        json.dumps(
            {"tuples": len(tuples), "seconds": seconds, "left_out": left_out, "checksum": checksum}
        )
    )


if __name__ == "__main__":
    main()
