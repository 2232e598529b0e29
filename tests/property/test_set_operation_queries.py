"""Random query trees of set operations, joins and aggregates: right at every instant, and net."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

import pyarrow as pa
from cases.set_trees import draw_changelog, instants_of, snapshot_of, sql_of
from cases.tape import tapes
from hypothesis import HealthCheck, given, note, settings
from oracle import asked_of_duckdb

import windrow

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("v", pa.int64())])


def draw_streams(random):
    """Rows (t, k, v) of each stream, few values and many ties."""
    return {
        name: [
            (random.randrange(9), random.choice([0, 1, None]), random.choice([1, 2, None]))
            for _ in range(random.randrange(9))
        ]
        for name in "xyz"
    }


def table_of(rows):
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table([pa.array(column, pa.int64()) for column in columns], schema=SCHEMA)


def batches_of(random, rows, lateness):
    """The rows in an order that keeps the promise, cut anywhere."""
    order = sorted(rows, key=lambda row: row[0] + random.randrange(lateness + 1))
    cuts = sorted(random.randrange(len(rows) + 1) for _ in range(2))
    edges = itertools.pairwise([0, *cuts, len(rows)])
    return [batch for a, b in edges for batch in table_of(order[a:b]).to_batches()]


def changes_of(random, tree, stored):
    """The changelog, in the order in which it comes."""
    session = windrow.Session()
    for name, rows in stored.items():
        lateness = random.choice([0, 2])
        reader = pa.RecordBatchReader.from_batches(SCHEMA, batches_of(random, rows, lateness))
        session.stream(name, reader, time="t", lateness=lateness)
    answer = session.sql(sql_of(tree))
    rows = answer.to_arrow()
    if "MIN(" not in sql_of(tree):  # of changes that undo one another MIN keeps some for a while
        assert answer.progress.stored == 0
    signs = [1 if kind == "insert" else -1 for kind in rows["_change_type"].to_pylist()]
    columns = (rows[name].to_pylist() for name in rows.column_names[:2])
    times = rows["_event_time"].to_pylist()
    return list(zip(times, signs, zip(*columns, strict=True), strict=True))


def standing_at(changes, instant):
    standing = Counter()
    for time, sign, row in changes:
        if time <= instant:
            standing[row] += sign
    return {row: n for row, n in standing.items() if n}


def assert_net(changes):
    order = [(time, sign) for time, sign, _ in changes]
    assert order == sorted(order)
    signs = {}
    for time, sign, row in changes:
        assert signs.setdefault((time, row), sign) == sign


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=tapes(1024))
def test_the_changelog_sums_up_to_the_answer_at_every_instant(random: Random) -> None:
    tree = draw_changelog(random)
    stored = draw_streams(random)
    note(sql_of(tree))
    changes = changes_of(random, tree, stored)
    assert_net(changes)
    for instant in instants_of(tree, stored):
        assert standing_at(changes, instant) == tree.at(stored, instant), f"at {instant}"


def test_duckdb_gives_the_same_answer_at_every_instant() -> None:
    for seed in range(20):
        random = Random(seed)
        tree, stored = draw_changelog(random), draw_streams(random)
        changes = changes_of(random, tree, stored)
        tables = {name: table_of(rows) for name, rows in stored.items()}
        for instant in instants_of(tree, stored):
            query = snapshot_of(tree).replace("$1", str(instant))
            found = Counter(asked_of_duckdb(tables, query))
            assert standing_at(changes, instant) == found, f"seed {seed} at {instant}"
