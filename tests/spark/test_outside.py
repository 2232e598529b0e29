"""Sources and sinks of the protocol on Spark: what a sink has is what a run in process gives it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bags import bag
from extension.counting import Listed
from extension.folder import Folder, epochs, shown
from extension.growing import QUERIES, Growing, session
from spark_runs import Run

import windrow
from windrow.errors import BindError, DataError, ResourceError, UnsupportedError
from windrow.io.protocol import Unavailable
from windrow.run.spark.launch import FOR_STATE

pytestmark = pytest.mark.partitions(2)

KILLS = int(os.environ.get("WINDROW_SPARK_KILLS", "1"))
"""How often a run is killed; more take minutes."""


def arrive(folder: Path, rows: int) -> None:
    """Lets rows arrive, at once for whoever reads."""
    (folder / "more").write_text(str(rows))
    (folder / "more").rename(folder / "arrived")


def in_process(folder: Path, family: str) -> Counter:
    """What a run that was never stopped gives its sink, up to the same watermark."""
    sink, checkpoint = Listed(), folder / "local"
    shutil.rmtree(checkpoint, ignore_errors=True)
    run = session(folder).run(QUERIES[family], to=sink, checkpoint=str(checkpoint), until_done=True)
    run.wait()
    return bag(pa.Table.from_pylist(sink.rows))


def finish(spark: Any, folder: Path, family: str, to: Any = None, **options: Any) -> Any:
    """A run over what has arrived."""
    run = session(folder, spark).run(
        QUERIES[family],
        to=to or Folder(folder / "out"),
        checkpoint=str(folder / "checkpoint"),
        until_done=True,
        **options,
    )
    run.wait()
    return run


@pytest.mark.law
@pytest.mark.parametrize("family", QUERIES)
def test_a_run_that_is_stopped_and_replayed_gives_its_sink_what_one_in_process_does(
    spark: Any, tmp_path: Path, family: str
) -> None:
    for rows in (150, 300, 400):
        arrive(tmp_path, rows)
        run = finish(spark, tmp_path, family)
        assert not run.is_running
        assert run.progress.rows_in > 0
        # As a crash does that comes after the sink's commit, and before Spark's.
        Run(tmp_path).forget_last_commit()
    finish(spark, tmp_path, family)
    found = bag(shown(tmp_path / "out"))
    assert found == in_process(tmp_path, family)
    assert found
    assert len(epochs(tmp_path / "out")) > 3


@pytest.mark.law
@pytest.mark.parametrize("family", QUERIES)
def test_a_run_that_died_before_its_last_batch_without_rows_runs_it_when_it_goes_on(
    spark: Any, tmp_path: Path, family: str
) -> None:
    arrive(tmp_path, 300)
    finish(spark, tmp_path, family)
    last = Run(tmp_path).forget_last_batch()
    for epoch in (tmp_path / "out").glob(f"*-{last}.json"):
        epoch.unlink()
    finish(spark, tmp_path, family)
    assert bag(shown(tmp_path / "out")) == in_process(tmp_path, family)
    arrive(tmp_path, 400)
    finish(spark, tmp_path, family)
    assert bag(shown(tmp_path / "out")) == in_process(tmp_path, family)


@pytest.mark.law
@pytest.mark.slow
@pytest.mark.parametrize("family", QUERIES)
def test_killed_at_any_moment_a_run_loses_nothing_and_gives_nothing_twice(
    tmp_path: Path, family: str
) -> None:
    chance, program = random.Random(family), Path(__file__).with_name("killed_run.py")
    command = [sys.executable, str(program), str(tmp_path), family]
    killed, arrived, has_died = 0, 0, False
    while True:
        if not has_died:  # the first run, or one that was quicker than its end
            arrived += 400 + 400 * (KILLS - killed)
            arrive(tmp_path, arrived)
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert running.stdout is not None
        is_started = running.stdout.readline() == b"started\n"
        is_last = killed == KILLS
        has_died = False
        try:
            # The first micro-batches of a young JVM take seconds, the later ones less than one.
            running.wait(600 if is_last else chance.uniform(0, 12))
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)  # Spark's JVM and its workers are of its group
            running.wait()
            killed += 1
            has_died = True
            continue
        finally:
            running.stdout.close()
        assert running.returncode == 0
        assert is_started
        if is_last:
            break
    assert bag(shown(tmp_path / "out")) == in_process(tmp_path, family)


@pytest.mark.law
def test_files_that_come_go_through_spark_to_files(spark: Any, tmp_path: Path) -> None:
    w = windrow.Session(spark)
    rows = pa.table({"k": [n % 7 for n in range(200)], "ts": range(200)})
    incoming, out = tmp_path / "in", windrow.files(str(tmp_path / "out"))
    incoming.mkdir()
    w.stream("s", windrow.files(str(incoming), schema="k BIGINT, ts BIGINT"), time="ts")
    sql = "SELECT a.k, a.ts, b.ts AS other FROM s a, s b WHERE a.k = b.k WINDOW = 20"
    for half in (0, 100):
        pq.write_table(rows.slice(half, 100), incoming / f"{half:03d}.parquet")
        w.run(sql, to=out, checkpoint=str(tmp_path / "state"), until_done=True).wait()
        Run(tmp_path).forget_last_commit("state")
    local = windrow.Session()
    local.stream("s", rows, time="ts")
    assert bag(pq.read_table(tmp_path / "out")) == bag(local.sql(sql))
    assert len(list((tmp_path / "out").glob("*.parquet"))) >= 2


def test_the_answer_is_whole_where_no_checkpoint_lets_more_come(spark: Any, tmp_path: Path) -> None:
    arrive(tmp_path, 300)
    for family, sql in QUERIES.items():
        whole = Listed()
        session(tmp_path).run(sql, to=whole, until_done=True).wait()
        run = session(tmp_path, spark).run(sql, to=Folder(tmp_path / family), until_done=True)
        run.wait()
        assert bag(shown(tmp_path / family)) == bag(pa.Table.from_pylist(whole.rows))
        assert epochs(tmp_path / family) == [0]
        assert run.progress.rows_out == len(whole.rows)


def test_a_sink_of_this_process_is_written_by_it(spark: Any, tmp_path: Path) -> None:
    arrive(tmp_path, 200)
    sink = Listed()
    finish(spark, tmp_path, "join", to=sink)
    found = bag(pa.Table.from_pylist(sink.rows))
    assert found == in_process(tmp_path, "join")
    assert sink.last > 0
    calls: list[int] = []
    to = windrow.call(lambda rows, _: calls.append(rows.num_rows))
    session(tmp_path, spark).run(QUERIES["join"], to=to, until_done=True).wait()
    assert sum(calls) == sum(found.values())


def test_a_run_follows_what_comes_until_it_is_stopped(spark: Any, tmp_path: Path) -> None:
    arrive(tmp_path, 60)
    out = tmp_path / "out"
    with session(tmp_path, spark).run(
        QUERIES["join"], to=Folder(out), checkpoint=str(tmp_path / "checkpoint"), epoch="1 second"
    ) as run:
        for rows in (60, 120):
            arrive(tmp_path, rows)
            before = len(epochs(out))
            while len(epochs(out)) == before:
                assert not run.wait(0.1)
        assert run.is_running
    assert not run.is_running
    finish(spark, tmp_path, "join")
    assert bag(shown(out)) == in_process(tmp_path, "join")


def test_what_is_no_row_is_kept_aside_once_and_counted(spark: Any, tmp_path: Path) -> None:
    arrive(tmp_path, 100)
    w = windrow.Session(spark)
    w.stream("a", Growing(tmp_path / "arrived", poison=(7, 60, 61), step=20), time="ts")
    about: dict[str, Any] = {
        "to": Folder(tmp_path / "out"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "until_done": True,
    }
    run = w.run("SELECT n FROM a", dead_letters=str(tmp_path / "letters"), **about)
    run.wait()
    Run(tmp_path).forget_last_commit()
    again = w.run("SELECT n FROM a", dead_letters=str(tmp_path / "letters"), **about)
    again.wait()
    assert run.aside == again.aside == 3
    kept = pq.read_table(tmp_path / "letters" / "a").sort_by("content")
    assert kept["content"].to_pylist() == [b"60", b"61", b"7"]
    assert kept["why"].to_pylist() == ["it is poison"] * 3
    assert sorted(shown(tmp_path / "out")["n"].to_pylist()) == [
        n for n in range(100) if n not in {7, 60, 61}
    ]
    failing = w.run("SELECT n FROM a", **{**about, "checkpoint": str(tmp_path / "other")})
    with pytest.raises(DataError) as failed:
        failing.wait()
    assert str(failed.value) == (
        "DataError[aside-without-folder]: a has a record that could not be read as a row, at 3 of partition 1,"
        " and no folder is set to keep it in\n"
        "  it is poison\n"
        "  hint: name one with the option dead_letters, a path or a URI that all workers reach"
    )


def test_late_rows_of_a_source_are_kept_as_those_of_a_dataframe(spark: Any, tmp_path: Path) -> None:
    arrive(tmp_path, 200)
    w = windrow.Session(spark)
    w.stream("a", Growing(tmp_path / "arrived", parts=1, step=100), time="ts", lateness="0 seconds")
    w.stream("late", Late(tmp_path / "arrived", parts=1, step=100), time="ts")
    sql = "SELECT a.n FROM a, late WHERE a.n = late.n WINDOW = INTERVAL 1 second"
    letters = tmp_path / "letters"
    run = w.run(
        sql,
        to=Folder(tmp_path / "out"),
        checkpoint=str(tmp_path / "checkpoint"),
        until_done=True,
        on_late="keep",
        dead_letters=str(letters),
    )
    run.wait()
    assert run.progress.late == 100
    kept = pq.read_table(letters / "late")
    assert sorted(kept["n"].to_pylist()) == list(range(100, 200))


class Late(Growing):
    """The second hundred rows are older than the first."""

    def read(self, partition: str, start: Any, end: Any) -> Any:
        for batch in super().read(partition, start, end):
            old = pa.array([0] * len(batch), pa.int64()).cast(batch.schema.field("ts").type)
            yield batch.set_column(2, "ts", old) if start else batch


def test_what_does_not_fit_is_said_at_once_and_what_is_away_is_waited_for(
    spark: Any, tmp_path: Path
) -> None:
    arrive(tmp_path, 100)
    away = tmp_path / "away"
    w = session(tmp_path, spark)
    with pytest.raises(BindError, match=r"BindError\[no-place\]: out has no place for n, m"):
        w.run(QUERIES["join"], to=Folder(tmp_path / "out", columns=["n"]), until_done=True)
    away.touch()
    broken = windrow.Session(spark)
    broken.stream("a", Growing(tmp_path / "arrived", away=away), time="ts")
    about: dict[str, Any] = {"checkpoint": str(tmp_path / "checkpoint"), "until_done": True}
    run = broken.run("SELECT n FROM a", to=Folder(tmp_path / "out"), patience="1 second", **about)
    with pytest.raises(Unavailable) as failed:
        run.wait()
    assert str(failed.value) == (
        "Unavailable[broker-away]: the broker is away, and was tried again for 1s\n"
        "  it is\n"
        "  hint: start it; the run goes on from its checkpoint when it is started again"
    )
    away.unlink()
    sunk = tmp_path / "sink is away"
    sunk.touch()
    run = broken.run("SELECT n FROM a", to=Folder(tmp_path / "out", away=sunk), **about)
    assert not run.wait(5)
    sunk.unlink()
    run.wait()
    assert sorted(shown(tmp_path / "out")["n"].to_pylist()) == list(range(100))


def test_a_checkpoint_that_was_put_back_is_refused(spark: Any, tmp_path: Path) -> None:
    arrive(tmp_path, 60)
    finish(spark, tmp_path, "join")
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    arrive(tmp_path, 400)
    finish(spark, tmp_path, "join")
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.move(tmp_path / "copy", tmp_path / "checkpoint")
    with pytest.raises(ResourceError, match=r"\[sink-of-another-time\]: the sink has the epochs"):
        finish(spark, tmp_path, "join")


def test_a_table_is_read_from_a_source_and_explain_tells_the_ways(
    spark: Any, tmp_path: Path
) -> None:
    arrive(tmp_path, 40)
    w = session(tmp_path, spark)
    w.table("names", windrow.generate("k BIGINT, name STRING, ts TIMESTAMP", rows=5, live=False))
    w.stream("still", spark.createDataFrame(pa.table({"k": [1], "t": [1]})), time="t")
    assert w.sql("SELECT s.k FROM still s JOIN names ON s.k = names.k").count() == 0
    assert "still is read by Spark: a DataFrame" in w.explain("SELECT k FROM still")
    told = w.explain(QUERIES["join"])
    assert "a is read by Growing, in tasks, and packed there for the operators" in told
    again = windrow.postgres("postgresql://nowhere", table="names", refresh="1 minute")
    with pytest.raises(UnsupportedError) as refused:
        w.table("names", again)
    assert str(refused.value) == (
        "UnsupportedError[refresh-on-spark]: names is to be read again, which works only in process\n"
        "  on Spark the table of a running query stays what it was when it began\n"
        "  hint: leave refresh out, and start the run again when the table has changed"
    )


@pytest.fixture
def unset(spark: Any) -> Iterator[str]:
    """The setting, which the session of the tests has, taken out of it for a test."""
    (setting,) = FOR_STATE
    own = spark.conf.get(setting)
    spark.conf.unset(setting)
    yield setting
    spark.conf.set(setting, own)


def test_a_checkpoint_goes_on_whether_state_is_written_as_changes_or_whole(
    spark: Any, tmp_path: Path, unset: str
) -> None:
    """A query that we start writes changes, unless the user says otherwise; the session stays as it was."""
    written: set[Path] = set()
    for rows, wanted in ((150, "false"), (300, None), (400, "false"), (450, None)):
        arrive(tmp_path, rows)
        if wanted is not None:
            spark.conf.set(unset, wanted)
        finish(spark, tmp_path, "join")
        assert spark.conf.get(unset, None) == wanted
        spark.conf.unset(unset)
        found = set((tmp_path / "checkpoint" / "state").rglob("*.changelog"))
        assert bool(found - written) == (wanted is None)
        written |= found
    assert bag(shown(tmp_path / "out")) == in_process(tmp_path, "join")
