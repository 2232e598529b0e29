"""A run in a process of its own, to be killed: `python killed_run.py FOLDER KIND`.

    joined    files -> a window join -> files
    totals    files -> sums by key, kept current -> Delta
    merged    files -> a window join -> files that are merged

It ends with what is there. `run_through` starts it again and again, killing it at some moments.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

JOIN = "SELECT a.k, a.id AS a_id, b.id AS b_id FROM a, b WHERE a.k = b.k WINDOW = 20"
TOTALS = "SELECT a.k, COUNT(*) AS n, SUM(a.id) AS total FROM a [RANGE 200] GROUP BY a.k"
FILES, ROWS = 40, 60


def fill(folder: Path) -> None:
    """Two streams, of some files each."""
    for stream in ("a", "b"):
        (folder / stream).mkdir(parents=True)
        for number in range(FILES):
            ids = range(number * ROWS, (number + 1) * ROWS)
            keys = [(n * (7 if stream == "a" else 11)) % 13 for n in ids]
            rows = pa.table({"k": keys, "id": list(ids), "ts": list(ids)})
            pq.write_table(rows, folder / stream / f"{number:05d}.parquet", row_group_size=25)


def sink_of(folder: Path, kind: str) -> object:
    import windrow

    if kind == "totals":
        return windrow.delta(str(folder / "out"), mode="merge", keys=["k"])
    return windrow.files(str(folder / "out"), compact_bytes=3_000 if kind == "merged" else None)


def answer_of(folder: Path, kind: str) -> list[tuple[int, ...]]:
    """What everybody sees of the answer, sorted."""
    if kind == "totals":
        from deltalake import DeltaTable

        found = pa.table(DeltaTable(str(folder / "out")).to_pyarrow_table())
    else:
        found = pq.read_table(folder / "out")
    return sorted(tuple(row.values()) for row in found.to_pylist())


def main(folder: Path, kind: str) -> None:
    """Runs to the end of what is there."""
    import windrow

    w = windrow.Session()
    for stream in ("a", "b") if kind != "totals" else ("a",):
        # Small batches, so that a run has many epochs.
        w.stream(stream, windrow.files(str(folder / stream), batch_rows=37), time="ts")
    run = w.run(
        TOTALS if kind == "totals" else JOIN,
        to=sink_of(folder, kind),
        checkpoint=str(folder / "state"),
        epoch="1 millisecond",
        until_done=True,
    )
    print("begun", flush=True)  # noqa: T201
    run.wait()


def start(folder: Path, kind: str) -> subprocess.Popen[bytes]:
    """The run in another process, as soon as it has begun."""
    return subprocess.Popen(
        [sys.executable, __file__, str(folder), kind],
        stdout=subprocess.PIPE,
        env={**os.environ, "NUMBA_OPT": os.environ.get("NUMBA_OPT", "1")},
    )


def run_through(folder: Path, kind: str, kills: int, seed: int) -> tuple[int, int]:
    """Runs to the end with so many kills, if it lasts so long; how many there were, and how often
    one hit a process that had begun."""
    draw = random.Random(seed)
    killed = begun = 0
    while True:
        process = start(folder, kind)
        assert process.stdout is not None
        if killed >= kills:
            process.wait()
            process.stdout.close()
            assert process.returncode == 0
            return killed, begun
        is_begun = process.stdout.readline() == b"begun\n"
        time.sleep(draw.random() * draw.choice([0.02, 0.1, 0.3]))
        process.kill()
        code = process.wait()
        process.stdout.close()
        assert code in {0, -9}
        if code == 0:
            return killed, begun
        killed += 1
        begun += is_begun


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
