"""What a table costs beside its own rows in batches: every family of queries, in process.

    python -m benchmarks.table_or_batches [--rows 100000] [--batch 10000] [--rounds 3] [--only NAME]

Every stream of a query is given once as a table, which is read whole, and once as batches of the
same rows in the same order, as a stream brings them. Per family and way there is a process of its
own: it runs the query once over a twentieth of the rows, to compile, then the rounds; the median of
their processor time counts, and of how far the process's memory rose, in each, above what it was before
the first.
The answers of both ways are compared, as bags, by a digest of their sorted rows.

The claim is about what a table costs: not more than 1.5 times what its batches do, in time and in memory.
A batch has costs of its own (an operator is pushed and advanced), so that small batches are the
slower way; of the size given here, a tenth of the table, these are seen but do not rule. Memory
below 32 MB is not compared, for allocators keep as much.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

LIMIT = 1.5
LEAST_MB = 32
LEAST_S, MOST_ROUNDS = 1.5, 11
"""Quick queries have more rounds, until so many seconds are over: their times vary most."""

KEYS = 50
P = "(SELECT k, SUM(x) AS s FROM a [RANGE 400] GROUP BY k) p"
Q = "(SELECT k, COUNT(*) AS n FROM b [RANGE 600] GROUP BY k) q"


@dataclass(frozen=True)
class Family:
    """A query, and the options that it is asked with."""

    query: str
    options: dict[str, Any] = field(default_factory=dict)


def changes_of(aggregate: str) -> Family:
    """A sliding aggregate by key."""
    return Family(f"SELECT k, {aggregate} AS v FROM a [RANGE 1000] GROUP BY k")


FAMILIES: dict[str, Family] = {
    "window join, equality": Family("SELECT a.i, b.i AS j FROM a, b WHERE a.k = b.k WINDOW = 200"),
    "window join, three streams": Family(
        "SELECT a.i, b.i AS j, c.i AS h FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 60"
    ),
    "window join, theta": Family(
        "SELECT a.i, b.i AS j FROM a, b WHERE a.y < b.y - 90 WINDOW = 200"
    ),
    "window join, band": Family(
        "SELECT a.i, b.i AS j FROM a, b WHERE abs(a.y - b.y) <= 1 WINDOW = 200"
    ),
    "left outer join": Family(
        "SELECT a.i, b.i AS j FROM a LEFT JOIN b ON a.k = b.k WINDOW (a, b) = 30"
    ),
    "full outer join": Family(
        "SELECT a.i, b.i AS j FROM a FULL JOIN b ON a.k = b.k WINDOW (a, b) = 30"
    ),
    "outer join, changes": Family(
        "SELECT a.i, b.i AS j FROM a [RANGE 30] LEFT JOIN b [RANGE 30] ON a.k = b.k EMIT CHANGES"
    ),
    "aggregate of an anti join": Family(
        "SELECT a.k, COUNT(*) AS n FROM a [RANGE 60] LEFT ANTI JOIN b [RANGE 30] ON a.k = b.k"
        " GROUP BY a.k"
    ),
    "semi join": Family("SELECT a.i FROM a LEFT SEMI JOIN b ON a.k = b.k WINDOW (a, b) = 30"),
    "anti join": Family("SELECT a.i FROM a LEFT ANTI JOIN b ON a.k = b.k WINDOW (a, b) = 30"),
    "count windows": Family("SELECT a.i, b.i AS j FROM a [ROWS 20], b [ROWS 20] WHERE a.k = b.k"),
    "count windows by key": Family(
        "SELECT a.i, b.i AS j FROM a [PARTITION BY k ROWS 2], b [PARTITION BY k ROWS 2]"
        " WHERE a.k = b.k"
    ),
    "aggregate, COUNT": changes_of("COUNT(*)"),
    "aggregate, SUM": changes_of("SUM(x)"),
    "aggregate, AVG of DOUBLE": changes_of("AVG(y)"),
    "aggregate, MIN": changes_of("MIN(y)"),
    "aggregate, MEDIAN": changes_of("MEDIAN(y)"),
    "aggregate, COUNT DISTINCT": changes_of("COUNT(DISTINCT x)"),
    "aggregate, STDDEV": changes_of("STDDEV(y)"),
    "aggregate, without a key": Family("SELECT SUM(x) AS v, MAX(y) AS m FROM a [RANGE 1000]"),
    "DISTINCT of a join": Family(
        "SELECT DISTINCT a.k, b.x FROM a [RANGE 200], b [RANGE 200] WHERE a.k = b.k"
    ),
    "change feed": Family(
        "SELECT k, COUNT(*) AS n FROM f [RANGE 500] GROUP BY k",
    ),
    "aggregate of a join": Family(
        "SELECT a.k, COUNT(*) AS n FROM a [RANGE 200], b [RANGE 200] WHERE a.k = b.k GROUP BY a.k"
    ),
    "aggregate, negative tuples": Family(changes_of("SUM(x)").query, {"scheduling": "nta"}),
    "DISTINCT": Family("SELECT DISTINCT k, x FROM a [RANGE 1000]"),
    "EXCEPT": Family("SELECT k, x FROM a [RANGE 1000] EXCEPT SELECT k, x FROM b [RANGE 1000]"),
    "INTERSECT ALL": Family(
        "SELECT k, x FROM a [RANGE 1000] INTERSECT ALL SELECT k, x FROM b [RANGE 1000]"
    ),
    "UNION": Family("SELECT k, x FROM a [RANGE 1000] UNION SELECT k, x FROM b [RANGE 1000]"),
    "UNION ALL": Family("SELECT i, k, x FROM a UNION ALL SELECT i, k, x FROM b"),
    "changelog join": Family(f"SELECT p.k, s, n FROM {P} JOIN {Q} ON p.k = q.k"),
    "changelog join, few keys": Family(
        f"SELECT g, SUM(s) AS s, SUM(n) AS n FROM (SELECT p.k % 4 AS g, s, n FROM {P} JOIN {Q}"
        " ON p.k = q.k) z GROUP BY g"
    ),
    "changelog join, three": Family(
        f"SELECT p.k, s, n, m FROM {P} JOIN {Q} ON p.k = q.k JOIN"
        " (SELECT k, MAX(x) AS m FROM c [RANGE 300] GROUP BY k) r ON r.k = q.k"
    ),
    "changelog join, without an equality": Family(
        "SELECT s, n FROM (SELECT SUM(x) AS s FROM a [RANGE 400]) p,"
        " (SELECT COUNT(*) AS n FROM b [RANGE 600]) q"
    ),
    "changelog join, with a stream": Family(
        f"SELECT p.k, s, y FROM {P} JOIN b [RANGE 100] q ON p.k = q.k EMIT CHANGES"
    ),
    "changelog join, of change feeds": Family(
        "SELECT f.k, f.i, s FROM f [RANGE 100], (SELECT k, SUM(x) AS s FROM a [RANGE 400] GROUP BY k) p"
        " WHERE f.k = p.k EMIT CHANGES"
    ),
    "changelog join, negative tuples": Family(
        f"SELECT p.k, s, n FROM {P} JOIN {Q} ON p.k = q.k", {"scheduling": "nta"}
    ),
    "changelog join, in a set operation": Family(
        f"SELECT p.k, n FROM {P} JOIN {Q} ON p.k = q.k EXCEPT SELECT k, x FROM c [RANGE 200]"
    ),
    "changelog join, with a table": Family(
        f"SELECT p.k, s, n, d.name FROM {P} JOIN {Q} ON p.k = q.k JOIN d ON d.k = p.k"
    ),
    "table join": Family("SELECT a.i, d.name FROM a JOIN d ON a.k = d.k"),
    "table join, left": Family("SELECT a.i, d.name FROM a LEFT JOIN d ON a.x = d.k"),
    "bestmatch": Family(
        "SELECT a.i, b.i AS j FROM a LEFT OUTER BESTMATCH JOIN b ON a.y MINDIST b.y, a.x MINDIST b.x"
        " WHERE a.k = b.k WINDOW = 500"
    ),
    "best now": Family(
        "SELECT a.i, b.i AS j FROM a [RANGE 100] LEFT OUTER BESTMATCH JOIN b [RANGE 100]"
        " ON a.y MINDIST b.y, a.x MINDIST b.x WHERE a.k = b.k EMIT CHANGES"
    ),
    "as-of join": Family(
        "SELECT a.i, b.i AS j FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k"
        " TOLERANCE 500"
    ),
    "WINDOW JOIN": Family(
        "SELECT a.i, COUNT(*) AS n, MAX(b.y) AS m FROM a WINDOW JOIN b ON a.k = b.k"
        " RANGE BETWEEN 300 PRECEDING AND 300 FOLLOWING"
    ),
    "EMIT CHANGES": Family(
        "SELECT a.i, b.i AS j FROM a [RANGE 200], b [RANGE 200] WHERE a.k = b.k EMIT CHANGES"
    ),
    "shedding": Family(
        "SELECT a.i, b.i AS j FROM a, b WHERE a.k = b.k WINDOW = 2000",
        {"memory": "2000 tuples", "on_memory": "shed"},
    ),
}


def stream(rows: int, name: str) -> pa.Table:
    """Rows in the order of time, about one per tick; values are such that sums are exact."""
    random = np.random.default_rng([23, ord(name)])
    return pa.table(
        {
            "t": np.sort(random.integers(0, rows, rows)),
            "i": np.arange(rows),
            "k": random.integers(0, KEYS, rows),
            "x": random.integers(0, 100, rows),
            "y": random.integers(0, 800, rows) / 8,
        }
    )


def change_feed(rows: int) -> pa.Table:
    """Rows that come, and are deleted 20 ticks later, one in two."""
    came = stream(rows // 3 * 2, "f").append_column(
        "change", pa.array(["insert"] * (rows // 3 * 2))
    )
    gone = came.slice(0, rows // 3)
    later = pa.array(gone.column("t").to_numpy() + 20)
    gone = gone.set_column(0, "t", later).set_column(
        5, "change", pa.array(["delete"] * (rows // 3))
    )
    return pa.concat_tables([came, gone]).sort_by("t").combine_chunks()


def answer(family: Family, rows: int, batch: int | None) -> pa.Table:
    """The answer over tables, or over batches of so many rows."""
    import windrow

    session = windrow.Session()
    for name in "abc":
        table = stream(rows, name)
        session.stream(
            name, table if batch is None else table.to_batches(max_chunksize=batch), time="t"
        )
    feed = change_feed(rows)
    session.stream(
        "f",
        feed if batch is None else feed.to_batches(max_chunksize=batch),
        time="t",
        changes="change",
    )
    names = pa.table({"k": np.arange(KEYS), "name": [f"n{k}" for k in range(KEYS)]})
    session.table("d", names)
    answered: pa.Table = session.sql(family.query, **family.options).to_arrow()
    return answered


def digest(rows: pa.Table) -> str:
    """The name of a bag of rows."""
    ordered = rows.sort_by([(name, "ascending") for name in rows.schema.names]).combine_chunks()
    found = hashlib.blake2b(digest_size=8)
    for column in ordered.columns:
        found.update(str(column.null_count).encode())
        plain = column.fill_null("") if pa.types.is_string(column.type) else column.fill_null(-1)
        found.update("|".join(map(str, plain.to_pylist())).encode())
    return found.hexdigest()


def high_water() -> float:
    """The most memory that this process has had since `reset_high_water`, in MB."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = next(one for one in status.read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def reset_high_water() -> None:
    """Begins to measure anew, where the system can (Linux)."""
    gc.collect()
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")


def measured(name: str, rows: int, batch: int | None, rounds: int) -> dict[str, Any]:
    """Seconds and memory of one family, one way."""
    family = FAMILIES[name]
    answer(family, max(200, rows // 20), None if batch is None else max(10, batch // 20))
    reset_high_water()
    before = high_water()
    seconds: list[float] = []
    peaks: list[float] = []
    found = pa.table({})
    while len(seconds) < rounds or (sum(seconds) < LEAST_S and len(seconds) < MOST_ROUNDS):
        found = pa.table({})  # what the last round answered is not held in this one
        reset_high_water()
        began = time.process_time()
        found = answer(family, rows, batch)
        seconds.append(time.process_time() - began)
        peaks.append(high_water() - before)
    return {
        "seconds": round(statistics.median(seconds), 3),
        "mb": round(statistics.median(peaks), 1),
        "rows": found.num_rows,
        "digest": None if "shed" in family.options.values() else digest(found),
    }


def child(name: str, rows: int, batch: int | None, rounds: int) -> dict[str, Any]:
    """The same, in a process of its own."""
    arguments = ["--rows", rows, "--batch", batch or 0, "--rounds", rounds, "--one", name]
    command = [sys.executable, "-m", "benchmarks.table_or_batches", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def compare(rows: int, batch: int, rounds: int, only: str | None = None) -> dict[str, object]:
    """Both ways of every family, and by how much a table costs more than its batches."""
    found: dict[str, Any] = {}
    for name in FAMILIES if only is None else [only]:
        table, batches = (child(name, rows, size, rounds) for size in (None, batch))
        if (table["digest"], table["rows"]) != (batches["digest"], batches["rows"]) and table[
            "digest"
        ]:
            raise SystemExit(f"{name}: the answers over a table and over its batches differ")
        ratio = round(table["seconds"] / batches["seconds"], 2)
        memory = round(max(table["mb"], LEAST_MB) / max(batches["mb"], LEAST_MB), 2)
        found[name] = {"table": table, "batches": batches, "time": ratio, "memory": memory}
        mark = "" if max(ratio, memory) <= LIMIT else "   BEYOND"
        print(
            f"  {name:<36} {table['seconds']:7.2f} s {batches['seconds']:7.2f} s  {ratio:5.2f}"
            f"   {table['mb']:6.0f} MB {batches['mb']:6.0f} MB  {memory:5.2f}{mark}",
            flush=True,
        )
    beyond = [name for name, own in found.items() if max(own["time"], own["memory"]) > LIMIT]
    return {
        "families": found,
        "limit": LIMIT,
        "most_time": max(own["time"] for own in found.values()),
        "most_memory": max(own["memory"] for own in found.values()),
        "beyond": beyond,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A table beside its batches.")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=FAMILIES)
    parser.add_argument("--one", choices=FAMILIES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.one, given.rows, given.batch or None, given.rounds)))
    else:
        print(json.dumps(compare(given.rows, given.batch, given.rounds, given.only)))
