"""Any question, any streams, any cut into batches: the in-process answer is the brute-force one."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from cases import FAMILIES, Case
from cases.tape import TAPES
from hypothesis import HealthCheck, given, note, settings

import windrow


def session_of(case: Case, *, whole: bool = False) -> windrow.Session:
    session = windrow.Session()
    for stream in case.streams:
        tables = stream.tables()
        batches = [batch for table in tables for batch in table.to_batches()]
        data = (
            pa.concat_tables(tables)
            if whole
            else pa.RecordBatchReader.from_batches(stream.schema, batches)
        )
        session.stream(stream.name, data, time="ts", lateness=case.lateness[stream.name])
    return session


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Rows as tuples; a changelog's change type comes first, as the cases have it."""
    if "_change_type" in table.column_names:
        names = [name for name in table.column_names if not name.startswith("_")]
        table = table.select(["_change_type", *names, "_event_time"])
    return Counter(
        tuple("NaN" if value != value else value for value in row)  # noqa: PLR0124
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    )


def check(case: Case) -> None:
    note(case.sql)
    assert bag(session_of(case).sql(case.sql).to_arrow()) == case.answer


@pytest.mark.parametrize("family", ["join", "aggregate", "bestmatch"])
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=TAPES)
def test_the_answer_is_the_brute_force_one(family: str, random: Random) -> None:
    check(FAMILIES[family](random))


@pytest.mark.parametrize("family", ["outer", "count"])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=TAPES)
def test_so_it_is_for_outer_joins_and_count_windows(family: str, random: Random) -> None:
    check(FAMILIES[family](random))


@pytest.mark.parametrize("algorithm", ["bew-hash", "bew-nested-loop"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=TAPES)
def test_every_join_algorithm_gives_the_same_bag(algorithm: str, random: Random) -> None:
    case = FAMILIES["join"](random)
    note(case.sql)
    answer = session_of(case, whole=True).sql(case.sql, algorithm=algorithm).to_arrow()
    assert bag(answer) == case.answer
