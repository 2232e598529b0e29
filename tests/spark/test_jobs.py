"""Job files on Spark, in a process of their own: each job starts and stops a session."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

JOB = """
query = "SELECT x.at, y.at AS then FROM x, y WHERE x.k = y.k AND x.v < 3 WINDOW = 1"
[streams.x]
{x}
time = "at"
[streams.y]
path = "y.parquet"
time = "at"
[spark]
sql.shuffle.partitions = 2
"""
TEXT = 'path = "x.csv"\nformat = "csv"\nschema = "at BIGINT, k BIGINT, v BIGINT"'

PROGRAM = """
import json, sys
from typer.testing import CliRunner
from windrow.cli.main import app
done = [CliRunner().invoke(app, ["run", job, "--on", "spark"]) for job in sys.argv[1:]]
print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in done]))
"""


def test_a_batch_job_shows_its_figures_and_reads_nothing_wrong(tmp_path: Path) -> None:
    rows = pa.table({"at": [1, 2, 3, 4], "k": [1, 1, 2, 2], "v": [1, 2, 3, 4]})
    for name in ("x", "y"):
        pq.write_table(rows, tmp_path / f"{name}.parquet")
    # The second row has no number for a time; Spark by default would make it NULL.
    (tmp_path / "x.csv").write_text("at,k,v\n1,1,1\nnoon,1,1\n")
    jobs = {"good.toml": 'path = "x.parquet"', "bad.toml": TEXT}
    for name, x in jobs.items():
        (tmp_path / name).write_text(JOB.format(x=x))
    called = [sys.executable, "-c", PROGRAM, *(str(tmp_path / name) for name in jobs)]
    done = subprocess.run(called, capture_output=True, text=True, timeout=900, check=True)
    good, bad = json.loads(done.stdout.splitlines()[-1])

    assert good[0] == 0
    assert "4 rows" in good[1]
    record = json.loads(good[2])
    assert (record["rows_in"], record["rows_out"]) == (6, 4)  # two rows did not pass the WHERE
    assert record["operators"]["WJoin x, y"]["drops"] == 6

    assert bad == [
        2,
        "",
        "DataError[unreadable-data]: a file of a stream cannot be read\n"
        f"  Encountered error while reading file file://{tmp_path}/x.csv.\n"
        "  hint: check the stream's format and schema\n",
    ]
