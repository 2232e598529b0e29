"""Streams of our sources, packed as they are read, and answers that sinks unpack: the laws of rows hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bags import bag
from extension.counting import Listed
from extension.folder import Folder, shown
from spark_runs import Run

import windrow

pytestmark = pytest.mark.partitions(2)

ROWS, BATCH = 240, 80
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
PACKED = "and packed there for the operators: Spark moves blobs"


def rows_of(seed: int) -> pa.Table:
    """Rows a second apart, some out of order or without a time; every fifth takes an earlier one back."""
    draw = Random(seed)
    found: list[dict[str, Any]] = []
    alive: list[dict[str, Any]] = []
    for n in range(ROWS):
        at, change = n - draw.choice([0, 0, 0, 1, 3]), "insert"
        row = {
            "k": draw.randrange(5),
            "v": draw.choice([None, 1, 2, 3]),
            "s": draw.choice("xyz"),
            "day": (BEGIN + timedelta(days=at)).date(),
            "number": at,
            "mark": False,
            "unused": "u" * 20,
        }
        if n % 5 == 4:
            row, at, change = alive.pop(0), n, "delete"
        elif n != 17:  # it has no time
            alive.append(row)
        time = None if n == 17 else BEGIN + timedelta(seconds=at)
        found.append({**row, "ts": time, "change": change})
    return pa.Table.from_pylist(found)


SECOND = {"time": "ts", "lateness": "4 seconds"}
FAMILIES: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "aliases of one stream": (
        "SELECT p.k, p.v * 2 AS twice, q.s FROM a p, a q"
        " WHERE p.k = q.k AND p.v > 1 AND q.s <> 'x' WINDOW = INTERVAL 3 SECONDS",
        SECOND,
        {"a": PACKED},
    ),
    "union below an aggregate": (
        "SELECT s, SUM(v) AS total, COUNT(*) AS n FROM"
        " (SELECT s, v FROM a WHERE k > 1 UNION ALL SELECT upper(s) AS s, v + 1 AS v FROM b) u [RANGE INTERVAL 5 SECONDS]"
        " GROUP BY s",
        SECOND,
        {"a": PACKED, "b": PACKED},
    ),
    "changes, and updates of the answer": (
        "SELECT k, COUNT(*) AS n, SUM(v) + 1 AS more FROM a [RANGE INTERVAL 30 SECONDS] GROUP BY k",
        {**SECOND, "changes": "change", "updates": True},
        {"a": PACKED},
    ),
    "an outer join by days": (
        "SELECT a.k, a.v, b.v AS w FROM a LEFT JOIN b ON a.k = b.k AND a.v = b.v"
        " WINDOW = INTERVAL 2 DAYS",
        {"time": "day", "lateness": "4 days"},
        {"a": PACKED, "b": PACKED},
    ),
    "one of two by Spark": (
        "SELECT a.k, b.s, sqrt(b.k) AS r FROM a, b WHERE a.k = b.k AND sqrt(b.k) < 1.5 WINDOW = 3",
        {"time": "number", "lateness": 4},
        {"a": PACKED, "b": "as rows that Spark hands on: Spark alone computes sqrt("},
    ),
    "two stages, and a condition on the answer": (
        "SELECT k, n FROM (SELECT p.k, COUNT(*) AS n FROM a p [RANGE 9], b q [RANGE 9]"
        " WHERE p.k = q.k GROUP BY p.k) x WHERE n > 3",
        {"time": "number", "lateness": 4},
        {"a": PACKED, "b": PACKED},
    ),
}  # fmt: skip


REPLAYED = ("aliases of one stream", "changes, and updates of the answer")


def session(folder: Path, about: dict[str, Any], spark: Any = None) -> windrow.Session:
    """Two streams of Parquet files with more columns than any query reads."""
    made = windrow.Session(spark) if spark is not None else windrow.Session()
    for name in "ab":
        place = windrow.files(str(folder / name), batch_rows=BATCH)
        made.stream(name, place, **about)
    return made


@pytest.fixture(scope="module")
def data(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate("ab"):
        (folder / name).mkdir()
        pq.write_table(rows_of(seed), folder / name / "0.parquet", row_group_size=100)
    return folder


@pytest.mark.law
@pytest.mark.parametrize("family", FAMILIES)
def test_a_packed_stream_gives_what_the_run_in_process_gives(
    spark: Any, data: Path, tmp_path: Path, family: str
) -> None:
    sql, about, told = FAMILIES[family]
    about = dict(about)
    options = {"updates": True} if about.pop("updates", False) else {}
    w = session(data, about, spark)
    explained = w.explain(sql)
    for stream, way in told.items():
        assert f"{stream} is read by FilesSource, in tasks, {way}" in explained
    local = Listed()
    last = session(data, about).run(
        sql, to=local, checkpoint=str(tmp_path / "local"), until_done=True, **options
    )
    last.wait()
    checkpoint = {"checkpoint": str(tmp_path / "checkpoint"), "until_done": True}
    run = w.run(sql, to=Folder(tmp_path / "out"), **checkpoint, **options)
    run.wait()
    if family in REPLAYED:
        Run(tmp_path).forget_last_commit()
        w.run(sql, to=Folder(tmp_path / "out"), **checkpoint, **options).wait()
    found = bag(shown(tmp_path / "out"))
    assert found == bag(pa.Table.from_pylist(local.rows))
    assert found
    assert run.progress.rows_in == last.progress.rows_in
    assert run.progress.rows_out == sum(found.values())
    assert run.progress.streams.keys() == last.progress.streams.keys()


@pytest.mark.law
@pytest.mark.parametrize("family", ["aliases of one stream", "changes, and updates of the answer"])
def test_packed_in_a_batch_run_the_answer_is_whole(
    spark: Any, data: Path, tmp_path: Path, family: str
) -> None:
    sql, about, _ = FAMILIES[family]
    about = {name: value for name, value in about.items() if name != "updates"}
    whole = Listed()
    session(data, about).run(sql, to=whole, until_done=True).wait()
    session(data, about, spark).run(sql, to=Folder(tmp_path / "out"), until_done=True).wait()
    assert bag(shown(tmp_path / "out")) == bag(pa.Table.from_pylist(whole.rows))


def test_a_batch_run_has_times_that_a_watermark_would_not_reach(spark: Any, tmp_path: Path) -> None:
    far = pa.table({"k": [1, 1, 2], "ts": [2**60, 2**60 + 3, -(2**61)]})
    (tmp_path / "in").mkdir()
    pq.write_table(far, tmp_path / "in" / "0.parquet")
    w = windrow.Session(spark)
    w.stream("s", windrow.files(str(tmp_path / "in")), time="ts")
    sql = "SELECT p.k, q.ts FROM s p, s q WHERE p.k = q.k WINDOW = 2"
    w.run(sql, to=Folder(tmp_path / "out"), until_done=True).wait()
    assert sorted(shown(tmp_path / "out")["ts"].to_pylist()) == [-(2**61), 2**60, 2**60 + 3]


@pytest.mark.law
def test_late_rows_keep_all_their_columns_under_the_first_alias_that_lets_them_pass(
    spark: Any, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    ahead = [{"k": 1, "v": 5, "ts": 1_000, "more": "m"}] * 20
    behind = [{"k": n, "v": n, "ts": n, "more": str(n)} for n in range(20)]
    for number, rows in enumerate((ahead, behind, ahead)):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / f"{number}.parquet")
    w = windrow.Session(spark)
    w.stream("s", windrow.files(str(tmp_path / "in"), batch_rows=20), time="ts", lateness=0)
    sql = "SELECT p.k FROM s p, s q WHERE p.k = q.k AND p.v > 3 AND q.v < 9 WINDOW = 2"
    assert PACKED in w.explain(sql)
    letters = tmp_path / "letters"
    run = w.run(
        sql, to=Folder(tmp_path / "out"), checkpoint=str(tmp_path / "checkpoint"), until_done=True,
        on_late="keep", dead_letters=str(letters),
    )  # fmt: skip
    run.wait()
    kept = pq.read_table(letters / "s")
    assert sorted(kept["more"].to_pylist(), key=int) == [str(n) for n in range(20)]
    assert kept["v"].to_pylist() == kept["k"].to_pylist()
    assert run.progress.rows_in == 60
