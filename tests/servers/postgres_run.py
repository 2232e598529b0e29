"""A run from generated rows to PostgreSQL, as a process of its own that may be killed.

python postgres_run.py URL TABLE CHECKPOINT QUERY
"""

from __future__ import annotations

import sys

import windrow
from windrow.io.generator import GeneratedRows
from windrow.io.protocol import FEW_ROWS, Offsets

QUERIES = {
    "by key": "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE INTERVAL '30' SECONDS] GROUP BY k",
    "by value": "SELECT g, v FROM s [RANGE INTERVAL '5' SECONDS] WHERE v < 50 EMIT CHANGES",
    "appended": "SELECT k, v, ts FROM s WHERE v < 500",
}
ROWS = 60_000


class Goes(GeneratedRows):
    """Rows that might go on: windows stay as they are at the last one."""

    def has_ended(self, offsets: Offsets) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def latest(self, since: Offsets, most_rows: int = FEW_ROWS) -> Offsets:
        """A few at a time, so that there are many epochs."""
        return super().latest(since, min(most_rows, 1_000))


def main() -> None:
    """Runs to the end of what there is."""
    url, table, checkpoint, query = sys.argv[1:]
    w = windrow.Session()
    rows = windrow.generate(
        "k STRING, g BIGINT, v BIGINT, ts TIMESTAMP",
        rate=1_000,
        rows=ROWS,
        distinct={"k": 400, "g": 5, "v": 1_000},
        live=False,
    )
    w.stream("s", Goes(rows), time="ts")
    to = windrow.postgres(url, table=table)
    with w.run(
        QUERIES[query], to=to, checkpoint=checkpoint, epoch="30 milliseconds", until_done=True
    ) as run:
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        run.wait()


if __name__ == "__main__":
    main()
