"""As-of and WINDOW JOINs on Spark: twelve random cases, each under a key of its own, in one run of each kind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from sessions import session
from spark_runs import FileStream, Run
from twins.asof import Row, Rules, last_wait, match_of
from twins.range_aggregate import Range, around

import windrow

pytestmark = [pytest.mark.spark, pytest.mark.law]

LATENESS, SPAN = 4, 60
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("v", pa.int64()),
        ("id", pa.int64()),
        ("test", pa.string()),
        ("k", pa.int64()),
    ]
)
DDL = "ts bigint, v bigint, id bigint, test string, k bigint"
ASKED = {
    "back": ("LEFT", "l.ts >= r.ts", Rules("backward", is_left=True)),
    "ahead": ("", "l.ts < r.ts", Rules("forward", is_strict=True)),
    "near": ("LEFT", "l.ts NEAREST r.ts", Rules("nearest", tolerance=5, is_left=True)),
}
QUERY = " UNION ALL ".join(
    f"SELECT '{name}' AS asked, l.test, l.id AS lid, r.id AS rid FROM l {side} ASOF JOIN r"
    f" MATCH_CONDITION ({condition}) ON l.test = r.test AND l.k = r.k"
    + (f" TOLERANCE {rules.tolerance}" if rules.tolerance is not None else "")
    for name, (side, condition, rules) in ASKED.items()
)
AROUND = Range(5, 3, (False, False))
QUERY += f"""
    UNION ALL SELECT 'around' AS asked, l.test, l.id AS lid, SUM(r.id) + 1000 * COUNT(*) AS rid
    FROM l WINDOW JOIN r ON l.test = r.test AND l.k = r.k
    RANGE BETWEEN {AROUND.lo} PRECEDING AND {AROUND.hi} FOLLOWING
"""


def draw(random: Random) -> list[Row]:
    """Rows of twelve cases: few times and keys, so that there are ties, and NULL keys."""
    rows = []
    for number in range(12):
        for _ in range(random.randrange(4, 16)):
            k = random.choice([None, 1, 2])
            row = {"t": random.randrange(SPAN), "v": random.choice([None, 0, 1]), "id": len(rows)}
            key = {"test": f"case {number}", "k0": k, "k": (f"case {number}", k)}
            rows.append(row | key | {"columns": (row["v"], row["id"])})
    return rows


def table(rows: list[Row]) -> pa.Table:
    shown = [{"ts": r["t"], **{n: r[n] for n in ("v", "id", "test")}, "k": r["k0"]} for r in rows]
    return pa.Table.from_pylist(shown, schema=SCHEMA)


def arrivals(random: Random, rows: list[Row]) -> list[list[Row]]:
    """The rows out of order within the lateness, in two batches."""
    shuffled = sorted(rows, key=lambda row: row["t"] + random.uniform(0, LATENESS))
    half = len(rows) // 2
    return [shuffled[:half], shuffled[half:]]


def expected(left: list[Row], right: list[Row], watermark: float) -> Counter[Any]:
    """What is final at a watermark, of all that is asked."""
    answer: Counter[Any] = Counter()
    for name, (_, _, own) in ASKED.items():
        rules = Rules(own.direction, own.is_strict, own.tolerance, (False, False), own.is_left)
        for row in left:
            found = match_of(row, right, rules)
            is_final = watermark == float("inf") or last_wait(row, right, rules) < watermark
            if is_final and (found is not None or rules.is_left):
                answer[name, row["test"], row["id"], found["id"] if found else None] += 1
    for row in left:
        if row["t"] + AROUND.hi < watermark:
            counted = [other["id"] + 1000 for other in around(row, right, AROUND)]
            answer["around", row["test"], row["id"], sum(counted) if counted else None] += 1
    return answer


def file_streams(
    spark: Any, files: dict[str, FileStream], *, is_streaming: bool
) -> windrow.Session:
    return session(
        {name: own.read(spark, DDL, is_streaming=is_streaming) for name, own in files.items()},
        time="ts",
        lateness=LATENESS,
        spark=spark,
    )


def test_batch_gives_the_whole_answer_and_streaming_what_is_final_across_a_restart(
    spark: Any, tmp_path: Path
) -> None:
    random = Random(5)
    rows = {name: draw(random) for name in ("l", "r")}
    batches = {name: arrivals(random, own) for name, own in rows.items()}
    files = {name: FileStream(tmp_path / name, SCHEMA) for name in rows}
    run = Run(tmp_path / "run")
    for part in (0, 1):  # the second one goes on from the checkpoint
        for name, own in files.items():
            own.write(table(batches[name][part]))
        run.finish(file_streams(spark, files, is_streaming=True).sql(QUERY, buckets=3))
    newest = min(max(row["t"] for row in own) for own in rows.values())
    found = bag(run.rows(spark))
    assert found == expected(rows["l"], rows["r"], newest - LATENESS)
    whole = bag(file_streams(spark, files, is_streaming=False).sql(QUERY, buckets=3).toArrow())
    assert whole == expected(rows["l"], rows["r"], float("inf"))
    assert len({row[1] for row in found}) == 12
