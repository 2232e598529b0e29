"""A delete and an insert of one key at one instant are an update, and nothing else is."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, settings
from sessions import session

import windrow
from windrow.errors import PlanError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.signs import CHANGE_TYPES
from windrow.operators.engine.row_drivers import ChangelogOutput

Change = tuple[int, int, str | None, int]
"""Instant, sign, key, value."""


def draw_changes(random: Random) -> tuple[list[Change], list[int]]:
    """Changes in the order of instants, at most one of each sign per key, and where to cut them."""
    keys = [(t, k) for t in range(3) for k in ("a", "b", None)]
    rows = [
        (t, sign, k, random.randrange(2) if sign > 0 else 2)
        for t, k in keys
        for sign in random.choice([(), (1,), (-1,), (-1, 1)])
    ]
    ordered = sorted(rows, key=lambda row: (row[0], row[1]))
    return ordered, sorted(random.randrange(len(rows) + 1) for _ in range(3))


def batch_of(rows: list[Change]) -> ChangeBatch:
    columns = pa.RecordBatch.from_pydict(
        {"k": pa.array([r[2] for r in rows], pa.string()), "v": pa.array([r[3] for r in rows])}
    )
    times = np.array([r[0] for r in rows], np.int64)
    return ChangeBatch(columns, times, signs=np.array([r[1] for r in rows], np.int8))


def told(batches: list[ChangeBatch]) -> list[tuple[str, int, str | None, int]]:
    return [
        (CHANGE_TYPES[sign], time, *row)
        for batch in batches
        for time, sign, *row in zip(
            batch.times.tolist(),
            batch.signs_or_insert().tolist(),
            *(column.to_pylist() for column in batch.columns.columns),
            strict=True,
        )
    ]


def told_plainly(rows: list[Change]) -> list[tuple[str, int, str | None, int]]:
    """The plain twin: look for a change of the other sign."""
    found = []
    for time, sign, key, value in rows:
        others = [other for t, s, k, _ in rows if (t, k) == (time, key) for other in (s,)]
        kind = {1: "insert", -1: "delete"}[sign]
        if -sign in others:
            kind = {1: "update_postimage", -1: "update_preimage"}[sign]
        found.append((kind, time, key, value))
    return found


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None)
@given(drawn(draw_changes, 64))
def test_pairs_of_one_key_and_instant_are_updates_however_batches_are_cut(case) -> None:
    rows, cuts = case
    edges = [0, *cuts, len(rows)]
    batches = [batch_of(rows[a:b]) for a, b in itertools.pairwise(edges)]
    output = ChangelogOutput(nets=False, pairs_by=("k",))
    found = [row for batch in batches for row in output.push(batch)]
    assert told([*found, *output.settle()]) == told_plainly(rows)


def one_stream() -> windrow.Session:
    rows = {"ts": [0, 0, 1, 12], "k": ["x", "y", "x", "x"], "v": [1, 1, 2, 5]}
    return session({"a": pa.table(rows)}, time="ts")


def changes(sql: str, **options: object) -> list[tuple[object, ...]]:
    table = one_stream().sql(sql, **options).to_arrow()
    names = [name for name in table.column_names if not name.startswith("_")]
    columns = [table[name].to_pylist() for name in ("_change_type", *names, "_event_time")]
    return list(zip(*columns, strict=True))


def test_a_group_that_changes_is_an_update_and_one_that_comes_or_goes_is_not() -> None:
    sql = "SELECT k, SUM(v) AS s FROM a [RANGE 9] GROUP BY k"
    assert changes(sql, updates=True) == [
        ("insert", "x", 1, 0),
        ("insert", "y", 1, 0),
        ("update_preimage", "x", 1, 1),
        ("update_postimage", "x", 3, 1),
        ("update_preimage", "x", 3, 10),
        ("delete", "y", 1, 10),
        ("update_postimage", "x", 2, 10),
        ("delete", "x", 2, 11),
        ("insert", "x", 5, 12),
        ("delete", "x", 5, 22),
    ]
    assert {kind for kind, *_ in changes(sql)} == {"insert", "delete"}
    assert {kind for kind, *_ in changes(sql, updates=False)} == {"insert", "delete"}


def test_the_one_row_without_group_by_is_updated_and_a_hint_says_so_too() -> None:
    sql = "SELECT /*+ updates(TRUE) */ COUNT(*) AS n FROM a [RANGE 9] WHERE k = 'x'"
    assert [kind for kind, *_ in changes(sql)] == [
        "insert",
        *("update_preimage", "update_postimage") * 5,
    ]


def test_a_row_that_having_lets_in_is_inserted() -> None:
    sql = "SELECT k, SUM(v) AS s FROM a [RANGE 9] GROUP BY k HAVING SUM(v) > 1"
    assert changes(sql, updates=True)[:3] == [
        ("insert", "x", 3, 1),
        ("update_preimage", "x", 3, 10),
        ("update_postimage", "x", 2, 10),
    ]


def test_a_key_without_anything_that_changes_beside_it_is_never_updated() -> None:
    sql = "SELECT k FROM a [RANGE 9] GROUP BY k HAVING COUNT(*) > 0"
    assert changes(sql, updates=True) == changes(sql)
    text = one_stream().explain(sql, updates=True)
    assert "no updates: only all columns together tell a row from others" in text


def test_an_answer_that_takes_nothing_back_has_no_updates() -> None:
    with pytest.raises(PlanError) as refused:
        one_stream().sql("SELECT /*+ updates(true) */ k FROM a")
    assert str(refused.value) == (
        "PlanError[no-updates]: updates are asked for, but rows of the answer are never taken back\n"
        "  1 | SELECT /*+ updates(true) */ k FROM a\n"
        "    |            ^^^^^^^^^^^^^\n"
        "  hint: leave updates out, or ask for the changelog: give every stream a window"
        " ([RANGE ..]) and end the query with EMIT CHANGES"
    )


@pytest.mark.parametrize("value", [1, "true", None])
def test_a_value_that_is_neither_true_nor_false_is_refused(value: object) -> None:
    with pytest.raises(PlanError) as refused:
        one_stream().sql("SELECT COUNT(*) AS n FROM a [RANGE 9]", updates=value)
    assert str(refused.value) == (
        f"PlanError[bad-option]: updates = {value!r} is neither true nor false\n"
        "  hint: true (a delete and an insert of one key at one instant are an update) or false"
    )
