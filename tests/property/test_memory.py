"""A query that must hold little: the answer is the same, and no more stays in memory than may."""

from __future__ import annotations

import pickle
import tracemalloc
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from cases import FAMILIES
from cases.tape import TAPES
from hypothesis import HealthCheck, given, note, settings
from sessions import session

import windrow
from windrow.errors import DataError

JOIN = "SELECT a.k, a.v AS av, b.v AS bv FROM a, b WHERE a.k = b.k WINDOW = 400"
SUMS = "SELECT k, SUM(v) AS s FROM a [RANGE 2000] GROUP BY k"
NESTED = (
    "SELECT j.k, COUNT(*) AS n FROM (SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 100) j"
    " [RANGE 300] GROUP BY j.k"
)
BEST = (
    "SELECT a.k, b.v AS bv FROM a LEFT OUTER BESTMATCH JOIN b ON a.ts MINDIST b.ts, a.v MINDIST"
    " b.v WHERE abs(a.ts - b.ts) <= 200 AND abs(a.v - b.v) <= 50 AND a.k = b.k"
)
QUERIES = {"join": JOIN, "aggregate": SUMS, "nested": NESTED, "bestmatch": BEST}
BATCH = 500


def stream(seed: int, rows: int = 6_000) -> list[pa.RecordBatch]:
    chance = np.random.default_rng(seed)
    table = pa.table(
        {
            "ts": np.sort(chance.integers(0, 10_000, rows)),
            "k": chance.integers(0, 20, rows),
            "v": chance.integers(0, 1_000, rows),
        }
    )
    return table.to_batches(max_chunksize=BATCH)


def drawn_streams() -> windrow.Session:
    return session({name: stream(seed) for seed, name in enumerate("ab")}, time="ts")


@pytest.mark.law
@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES)
def test_what_does_not_fit_goes_to_disk_and_the_answer_stays(sql: str) -> None:
    result = drawn_streams().sql(sql, memory="25 kB", on_memory="spill")
    memory = result.execution.memory
    found, held = [], []
    for batch in result:
        found.append(batch)
        result.checkpoint()  # ends the micro-batch under way, and spills nothing itself
        held.append(memory.held)
    assert max(held) <= 25_000
    assert memory.spilled_chunks > 0
    assert bag(found) == bag(drawn_streams().sql(sql))


@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES)
def test_what_does_not_fit_ends_a_query_that_may_not_spill(sql: str) -> None:
    with pytest.raises(DataError, match=r"more than its memory of 10\.0 kB") as error:
        drawn_streams().sql(sql, memory="10 kB").to_arrow()
    assert "on_memory" in str(error.value)


def test_a_query_that_fits_neither_spills_nor_fails() -> None:
    result = drawn_streams().sql(JOIN, memory="1 GB", on_memory="spill")
    assert bag(result) == bag(drawn_streams().sql(JOIN))
    assert result.execution.memory.spilled_chunks == 0


@pytest.mark.law
def test_spilled_state_goes_into_checkpoints() -> None:
    streams = {name: stream(seed) for seed, name in enumerate("ab")}
    first = session(streams, time="ts")
    result = first.sql(JOIN, memory="30 kB", on_memory="spill")
    rows = [next(result) for _ in range(3)]
    kept = pickle.loads(pickle.dumps(result.checkpoint()))
    rows += kept.pending
    again = first.sql(JOIN, resume=kept)
    assert bag([*rows, *again]) == bag(drawn_streams().sql(JOIN))


def test_pickling_a_checkpoint_leaves_no_copy_behind() -> None:
    found = session(
        {
            name: pa.table(
                {"ts": range(4_000), "k": range(4_000), "text": ["x" * 200] * 4_000}
            ).to_batches(max_chunksize=500)
            for name in "ab"
        },
        time="ts",
    )
    query = "SELECT a.text, b.text AS other FROM a, b WHERE a.k = b.k WINDOW = 9000"
    result = found.sql(query, memory="50 kB", on_memory="spill")
    for _ in range(6):
        next(result)
    kept = result.checkpoint()
    tracemalloc.start()
    try:
        size = len(pickle.dumps(kept))
        left, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most > size > 1_000_000
    assert left < 50_000


def test_groups_cannot_be_spilled() -> None:
    found = session({"a": {"ts": range(5_000), "k": range(5_000)}}, time="ts")
    with pytest.raises(DataError, match="no old tuples") as error:
        found.sql(
            "SELECT k, COUNT(*) AS n FROM a [RANGE 9999] GROUP BY k",
            memory="10 kB", on_memory="spill",
        ).to_arrow()  # fmt: skip
    assert "SlidingAggregate" in str(error.value)


@pytest.mark.law
@pytest.mark.parametrize("family", ["join", "bestmatch", "count", "asof"])
@settings(max_examples=share_of(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=TAPES)
def test_any_question_is_answered_from_disk(family: str, random: Random) -> None:
    case = FAMILIES[family](random)
    note(case.sql)
    found = windrow.Session()
    for each in case.streams:
        batches = [batch for table in each.tables() for batch in table.to_batches()]
        reader = pa.RecordBatchReader.from_batches(each.schema, batches)
        found.stream(each.name, reader, time="ts", lateness=case.lateness[each.name])
    # With a little more, windows of bestmatch joins are in pages.
    memory = random.choice([1, 2_000]) if family == "bestmatch" else 1
    answer = found.sql(case.sql, memory=memory, on_memory="spill").to_arrow()
    assert bag(answer) == case.answer
