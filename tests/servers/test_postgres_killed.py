"""Runs to PostgreSQL that are killed at random moments, or lose the server: the table is as if never."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import windrow
from servers.postgres_rows import bag_of, executed, fetched, stages
from servers.postgres_run import QUERIES

pytestmark = [pytest.mark.services, pytest.mark.slow]

KILLS = int(os.environ.get("WINDROW_KILLS", "4"))
"""In all tests together; 100 before a release."""


def started(url, table, folder, query) -> subprocess.Popen:
    program = Path(__file__).with_name("postgres_run.py")
    return subprocess.Popen(
        [sys.executable, str(program), url, table, str(folder), query],
        stdout=subprocess.PIPE,
        text=True,
    )


def finished(process) -> None:
    process.communicate(timeout=300)
    assert process.returncode == 0


@pytest.mark.parametrize("query", QUERIES)
def test_a_run_that_is_killed_at_random_moments_gives_the_answer_of_one_never_stopped(
    postgres_server, table, tmp_path, query
):
    url, never = postgres_server.url, table.replace("answer", "never_stopped")
    finished(started(url, never, tmp_path / "never", query))
    expected = bag_of(url, never)
    assert expected
    # Rows that are told apart by nothing: some are equal.
    assert query != "by value" or max(expected.values()) > 1
    # Where a run ends before all kills came, another one begins.
    moment, kills, begun = random.Random(query), 0, 0
    while kills < KILLS / len(QUERIES):
        begun += 1
        target, state = f"{table}_{begun}", tmp_path / f"state-{begun}"
        is_over = False
        while not is_over and kills < KILLS / len(QUERIES):
            process = started(url, target, state, query)
            assert process.stdout.readline() == "begun\n"
            try:
                # Not a pause: it is how long the run lives.
                process.wait(moment.uniform(0.0, 0.6))
                is_over = True
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
            process.communicate()
        finished(started(url, target, state, query))
        assert bag_of(url, target) == expected


def test_a_run_outlives_crashes_of_the_server(postgres_server, table, tmp_path):
    url, never = postgres_server.url, table.replace("answer", "never_stopped")
    finished(started(url, never, tmp_path / "never", "by key"))
    process = started(url, table, tmp_path / "state", "by key")
    assert process.stdout.readline() == "begun\n"
    moment, crashes = random.Random(7), 0
    while process.poll() is None and crashes < 4:
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment.uniform(0.1, 0.5))
            break
        postgres_server.restart()
        crashes += 1
    finished(process)
    assert crashes >= 1
    assert bag_of(url, table) == bag_of(url, never)


def test_a_run_without_a_checkpoint_leaves_no_epochs_behind(postgres_server, table):
    url = postgres_server.url
    w = windrow.Session()
    rows = pa.table({"k": [1, 2, 1, None], "v": [1.5, 2.5, 3.5, 4.5], "t": [0, 1, 2, 3]})
    w.stream("s", rows, time="t")
    query = "SELECT k, SUM(v) AS total FROM s [RANGE 2] GROUP BY k"
    for _ in range(2):  # every group has gone in the end: the table is free for the next run
        w.run(query, to=windrow.postgres(url, table=table), until_done=True).wait()
        assert bag_of(url, table) == {}
    to = windrow.postgres(url, table=f"{table}_of_rows")
    w.run("SELECT k, v FROM s WHERE v > 2", to=to, until_done=True).wait()
    assert bag_of(url, f"{table}_of_rows") == {(2, 2.5): 1, (1, 3.5): 1, (None, 4.5): 1}
    with pytest.raises(windrow.ResourceError, match="has not written"):
        w.run("SELECT k, v FROM s WHERE v > 2", to=to, until_done=True)
    epochs = fetched(url, f"SELECT count(*) FROM {table.partition('.')[0]}.windrow_epochs")
    assert epochs == [(0,)]


def test_the_example_keeps_its_table_current(postgres_server, table, tmp_path):
    program = Path(__file__).parents[2] / "examples" / "postgres_dashboard" / "dashboard.py"
    command = [sys.executable, str(program), postgres_server.url, "--table", table]
    command += ["--checkpoint", str(tmp_path / "state")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        stores = 0
        while stores < 12 and process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
            if fetched(postgres_server.url, f"SELECT to_regclass('{table}')") != [(None,)]:
                stores = len(bag_of(postgres_server.url, table))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, said
    assert stores == 12
    assert stages(postgres_server.url, table) == []


def test_a_job_file_says_the_same(postgres_server, table, tmp_path):
    job = tmp_path / "job.toml"
    url = postgres_server.url
    schema = table.partition(".")[0]
    executed(
        url,
        f"CREATE TABLE {schema}.stores (store text, city text)",
        f"INSERT INTO {schema}.stores VALUES ('store-0', 'Kiel'), ('store-1', 'Bonn')",
    )
    job.write_text(
        f'''
query = """
SELECT d.city, s.ts FROM sales s, stores d WHERE s.store = d.store
"""

[streams.sales]
generate = "store STRING, ts TIMESTAMP"
rate = 100
rows = 3000
live = false
time = "ts"
distinct = {{store = 2}}

[tables.stores]
postgres = "{url}"
table = "{schema}.stores"

[sink]
postgres = "{url}"
table = "{table}"
checkpoint = "state"
'''
    )
    code = "from windrow.cli.main import main; main()"
    command = [sys.executable, "-c", code, "run", str(job), "--until-done"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ((rows, cities),) = fetched(url, f"SELECT count(*), count(DISTINCT city) FROM {table}")
    assert (rows, cities) == (3000, 2)
