"""How many changes per second a table of PostgreSQL's is kept current by.

    python -m benchmarks.postgres_sink [--changes 600000] [--keys 50000] [--epoch 100000]

The changelog is that of `SELECT k, COUNT(*), SUM(v) .. GROUP BY k` over a sliding window, made first; then
its changes are written and committed epoch by epoch, as a run does it, to a server that is started for it
with PostgreSQL's own settings, fsync included. Without a key, rows are found by all of their values. The
table has as many rows as the changelog says at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import windrow
from windrow.io import Answer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

QUERY = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE {window}] GROUP BY k"


def changelog(changes: int, keys: int) -> tuple[pa.Table, Answer]:
    """A changelog of about so many changes over so many keys."""
    rows = changes // 4  # each comes and goes, and each time a row of the answer goes and comes
    rng = np.random.default_rng(7)
    stream = pa.table(
        {
            "k": [f"store-{number}" for number in rng.integers(0, keys, rows)],
            "v": rng.random(rows),
            "t": np.arange(rows),
        }
    )
    session = windrow.Session()
    session.stream("s", stream, time="t")
    found = session.sql(QUERY.format(window=rows // 2)).to_arrow()
    columns = found.select(["k", "n", "total"]).schema
    return found, Answer(columns, is_changelog=True, keys=("k",), time=pa.int64())


def measured(
    url: str, rows: pa.Table, answer: Answer, epoch_rows: int, table: str
) -> dict[str, Any]:
    """Writes and commits epochs; how long both took."""
    sink = windrow.postgres(url, table=table).sink()
    sink.open("benchmark", answer)
    write_s = commit_s = 0.0
    for epoch, part in enumerate(_epochs(rows, epoch_rows)):
        begun = time.perf_counter()
        written = sink.write(epoch, part.to_batches())
        staged = time.perf_counter()
        sink.commit(epoch, [written])
        write_s, commit_s = write_s + staged - begun, commit_s + time.perf_counter() - staged
    sink.close()
    return {
        "changes": rows.num_rows,
        "changes_per_s": round(rows.num_rows / (write_s + commit_s)),
        "write_s": round(write_s, 2),
        "commit_s": round(commit_s, 2),
    }


def _epochs(rows: pa.Table, epoch_rows: int) -> Iterator[pa.Table]:
    """Parts of about so many rows, cut between two instants: an instant's changes belong together."""
    times = rows.column("_event_time").to_numpy()
    start = 0
    while start < len(times):
        end = min(start + epoch_rows, len(times))
        end = int(np.searchsorted(times, times[end - 1], "right"))
        yield rows.slice(start, end - start)
        start = end


def main() -> None:
    """Measures with a key and without one, and prints both."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--changes", type=int, default=600_000)
    asked.add_argument("--keys", type=int, default=50_000)
    asked.add_argument("--epoch", type=int, default=100_000)
    chosen = asked.parse_args()

    import psycopg
    from servers.postgres import running  # type: ignore[import-not-found]

    rows, answer = changelog(chosen.changes, chosen.keys)
    last = windrow.Session().state_at(rows, rows.column("_event_time")[-1].as_py()).num_rows
    by_value = Answer(answer.columns, is_changelog=True, time=answer.time)
    found: dict[str, Any] = {"keys": chosen.keys, "epoch_rows": chosen.epoch}
    with running() as server:
        for name, own in (("by_key", answer), ("by_value", by_value)):
            found[name] = measured(server.url, rows, own, chosen.epoch, name)
            with psycopg.connect(server.url) as connection:
                counted = connection.execute(f"SELECT count(*) FROM {name}").fetchall()
            assert counted[0][0] == last, f"{name}: {counted} rows, and {last} in the answer"
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
