"""Joins with tables: the operator against its twin, queries against DuckDB."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from cases.table_joins import LAST, TableCase, draw_table_case
from cases.tape import TAPES
from hypothesis import HealthCheck, given, note, settings
from oracle import asked_of_duckdb
from sessions import session
from twins.changelog import state_at
from twins.table_join import Row, same, table_join

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.expressions.evaluate import Evaluator
from windrow.operators.joins import table_join as operator
from windrow.physical.nodes.scans import ScanStream, ScanTable
from windrow.physical.nodes.stateless import TableJoinRows
from windrow.plan.exprs import Expr, column
from windrow.plan.nodes.table_join import TableKey
from windrow.schema import Field, Schema

pytestmark = pytest.mark.law

KINDS = ("inner", "left", "semi", "anti")
KEYS = {
    "bigint": (pa.int64(), (0, 1, -1, None)),
    "string": (pa.string(), ("", "pen", "ink", None)),
    "double": (pa.float64(), (0.0, -0.0, math.nan, None, 1.5)),
}
LESS = Expr("a.x < t.x", "`a.x` < `t.x`", '"a.x" < "t.x"', ("a.x", "t.x"), "boolean")
OF_ROW = Expr("a.x > 0", "`a.x` > 0", '"a.x" > 0', ("a.x",), "boolean")
SETTINGS = settings(
    max_examples=share_of(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def drawn_rows(random: Random, types: list[str], most: int) -> list[Row]:
    return [
        {f"k{n}": random.choice(KEYS[type_][1]) for n, type_ in enumerate(types)}
        | {"x": random.choice((0, 1, 2, None)), "id": number}
        for number in range(random.randrange(most))
    ]


def schema_of(alias: str, types: list[str]) -> Schema:
    keys = [Field(f"{alias}.k{n}", type_) for n, type_ in enumerate(types)]
    return Schema((*keys, Field(f"{alias}.x", "bigint"), Field(f"{alias}.id", "bigint")))


def batch_of(alias: str, types: list[str], rows: list[Row]) -> pa.RecordBatch:
    arrow = [KEYS[type_][0] for type_ in types] + [pa.int64()] * 2
    names = [name.partition(".")[2] for name in schema_of(alias, types).names]
    arrays = [pa.array([r[n] for r in rows], kind) for n, kind in zip(names, arrow, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[f"{alias}.{name}" for name in names])


def spec_of(random: Random, types: list[str]) -> TableJoinRows:
    streams, tables = schema_of("a", types), schema_of("t", types)
    keys = tuple(
        TableKey(column(f"a.k{n}", t), column(f"t.k{n}", t), t, random.choice((False, True)))
        for n, t in enumerate(types)
    )
    kind = random.choice(KINDS)
    shown = [Field("t.id", "bigint")] if kind in {"inner", "left"} else []
    return TableJoinRows(
        ScanStream("a", "a", streams.names, streams, "x", "bigint", 0),
        ScanTable("t", "t", tables.names, tables),
        "t",
        kind,
        keys,
        random.choice(((), (LESS,), (OF_ROW,))),
        Schema((*shown, Field("a.id", "bigint"))),
    )


@SETTINGS
@given(random=TAPES)
def test_every_batch_gives_what_testing_every_pair_gives(
    monkeypatch: pytest.MonkeyPatch, random: Random
) -> None:
    monkeypatch.setattr(operator, "BLOCK_PAIRS", random.choice((1 << 18, 3)))
    types = [random.choice(list(KEYS)) for _ in range(random.randrange(3))]
    node = spec_of(random, types)
    table, rows = drawn_rows(random, types, 8), drawn_rows(random, types, 12)

    def holds(row: Row, place: Row) -> bool:
        equal = (
            same(row[f"k{n}"], place[f"k{n}"], null_safe=k.null_safe)
            for n, k in enumerate(node.keys)
        )
        if node.predicates == (OF_ROW,):
            return all(equal) and row["x"] is not None and row["x"] > 0
        known = row["x"] is not None and place["x"] is not None
        return all(equal) and (not node.predicates or (known and row["x"] < place["x"]))

    expected = Counter(
        (None if place is None else place["id"], row["id"], 10 + row["id"], 20 + row["id"], -1)
        for row, place in table_join(node.kind, rows, table, holds)
    )
    columns_of_table = batch_of("t", types, table)
    if node.predicates != (LESS,) and not node.keys and not node.may_multiply:
        columns_of_table = columns_of_table.select([])  # as plans leave it where nothing is read
    places = ChangeBatch(columns_of_table, np.zeros(len(table), np.int64))
    joiner = operator.TableJoiner(node, places, Evaluator())
    found: Counter[tuple[Any, ...]] = Counter()
    cut = random.randrange(len(rows) + 1)
    for part in (rows[:cut], rows[cut:]):
        numbers = np.array([row["id"] for row in part], np.int64)
        signs = np.full(len(part), -1, np.int8)
        batch = ChangeBatch(batch_of("a", types, part), numbers + 10, numbers + 20, signs)
        for result in joiner.join(batch):
            columns = [c.to_pylist() for c in result.columns.columns]
            matched = columns[0] if node.may_multiply else [None] * len(result)
            marks = [m.tolist() for m in (result.times, result.ends, result.signs)]
            found.update(zip(matched, columns[-1], *marks, strict=True))
    assert found == expected


def relations(case: TableCase) -> dict[str, pa.Table]:
    return {**case.tables, **{name: case.rows(name) for name in case.names}}


@SETTINGS
@given(random=TAPES)
def test_a_join_with_tables_gives_the_rows_of_duckdb(random: Random) -> None:
    case = draw_table_case(random)
    note(case.asked())
    found = (
        session(
            {name: case.streams[name] for name in case.names},
            time="ts",
            lateness=LAST,
            tables=case.tables,
        )
        .sql(case.asked())
        .to_arrow()
    )
    expected = Counter(asked_of_duckdb(relations(case), case.asked_of_duckdb()))
    assert bag(found) == expected


@SETTINGS
@given(random=TAPES)
def test_an_aggregate_above_counts_the_join_of_what_is_alive_at_each_instant(
    random: Random,
) -> None:
    case = draw_table_case(random)
    note(case.counted())
    changes = (
        session(
            {name: case.streams[name] for name in case.names},
            time="ts",
            lateness=LAST,
            tables=case.tables,
        )
        .sql(case.counted())
        .to_arrow()
    )
    for instant in {random.randrange(LAST + 12) for _ in range(3)}:
        expected = Counter(asked_of_duckdb(relations(case), case.counted_by_duckdb(instant)))
        found = bag(state_at(changes, instant))
        assert found == expected, instant
