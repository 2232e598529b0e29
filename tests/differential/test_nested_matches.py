"""Bestmatch joins of filtered and joined inputs, and their pairs joined and grouped, against DuckDB."""

from __future__ import annotations

from random import Random

import duckdb
import pyarrow as pa
import pytest
from match_oracle import best_pairs, least
from sessions import session

import windrow

pytestmark = pytest.mark.law

SCHEMA = pa.schema([("ts", pa.int64()), ("id", pa.int64()), ("k", pa.int64()), ("x", pa.int64())])

MATCH = "FULL OUTER BESTMATCH JOIN c r ON l.x MINDIST r.x WITHIN 2"
INPUTS = {
    "filtered": (
        "(SELECT ts, id, x FROM a WHERE x > 2) l",
        "SELECT ts AS t, id, x FROM a WHERE x > 2",
    ),
    "of other columns": (
        "(SELECT id, x + k AS x FROM a) l",
        "SELECT ts AS t, id, x + k AS x FROM a",
    ),
    "joined": (
        "(SELECT a.id * 1000 + b.id AS id, b.x FROM a, b WHERE a.k = b.k WINDOW = 3) l",
        "SELECT greatest(a.ts, b.ts) AS t, a.id * 1000 + b.id AS id, b.x FROM a, b"
        " WHERE a.k = b.k AND abs(a.ts - b.ts) <= 3",
    ),
    "left joined": (
        "(SELECT a.id * 1000 + coalesce(b.id, 999) AS id, a.x FROM a LEFT JOIN b ON a.k = b.k"
        " AND a.x = b.x AND abs(a.ts - b.ts) <= 3) l",
        "SELECT greatest(a.ts, coalesce(b.ts, a.ts)) AS t,"
        " a.id * 1000 + coalesce(b.id, 999) AS id, a.x FROM a LEFT JOIN b ON a.k = b.k"
        " AND a.x = b.x AND abs(a.ts - b.ts) <= 3",
    ),
    "joined with a table": (
        "(SELECT a.id, a.x + f.add_on AS x FROM a JOIN f ON a.k = f.k) l",
        "SELECT a.ts AS t, a.id, a.x + f.add_on AS x FROM a JOIN f ON a.k = f.k",
    ),
    "of two streams": (
        "(SELECT id, x FROM a UNION ALL SELECT id + 1000, x FROM b) l",
        "SELECT ts AS t, id, x FROM a UNION ALL SELECT ts, id + 1000, x FROM b",
    ),
}


@pytest.fixture
def tables() -> dict[str, pa.Table]:
    random = Random(5)
    found = {
        name: pa.Table.from_pylist(
            [
                {
                    "ts": random.randrange(60),
                    "id": number,
                    "k": random.randrange(3),
                    "x": random.randrange(9),
                }
                for number in range(60)
            ],
            schema=SCHEMA,
        )
        for name in "abc"
    }
    return {**found, "f": pa.table({"k": [0, 1], "add_on": [1, 2]})}


def streams_and_table(tables: dict[str, pa.Table]) -> windrow.Session:
    return session(
        {name: tables[name] for name in "abc"}, time="ts", lateness=60, tables={"f": tables["f"]}
    )


def asked(tables: dict[str, pa.Table], query: str) -> pa.Table:
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(query).to_arrow_table()


@pytest.mark.parametrize("name", list(INPUTS))
def test_an_input_is_any_query_that_takes_nothing_back(tables, name):
    ours, theirs = INPUTS[name]
    query = f"SELECT l.id AS l, r.id AS r FROM {ours} {MATCH} WINDOW = 4 KEEP UNMATCHED"
    answer = streams_and_table(tables).sql(query).to_arrow()
    found = list(zip(*answer.to_pydict().values(), strict=True))
    expected = best_pairs(
        {"l": asked(tables, theirs), "r": tables["c"]},
        "abs(l.t - r.ts) <= 4 AND abs(l.x - r.x) <= 2",
        [least("abs(l.x - r.x)")],
        "full outer",
        keep_unmatched=True,
    )
    assert len(found) == len(set(found)) > 50
    assert set(found) == expected


def test_the_time_that_a_derived_table_hands_on_is_a_dimension_and_a_bound(tables):
    query = (
        "SELECT l.id AS l, r.id AS r FROM (SELECT ts AS at, id, x FROM a WHERE k > 0) l"
        " LEFT OUTER BESTMATCH JOIN c r ON l.at YOUNGEST r.ts, l.x MINDIST r.x"
        " WHERE r.ts BETWEEN l.at - 2 AND l.at + 5"
    )
    answer = streams_and_table(tables).sql(query).to_arrow()
    expected = best_pairs(
        {"l": asked(tables, "SELECT * FROM a WHERE k > 0"), "r": tables["c"]},
        "r.ts BETWEEN l.ts - 2 AND l.ts + 5",
        [least("-greatest(l.ts, r.ts)"), least("abs(l.x - r.x)")],
        "left outer",
    )
    assert set(zip(*answer.to_pydict().values(), strict=True)) == expected


PAIRS = f"(SELECT l.id AS l, r.id AS r, l.k FROM a l {MATCH} WINDOW = 4) m"


def pairs_with_times(tables: dict[str, pa.Table]) -> pa.Table:
    """The best pairs of a and c as DuckDB finds them, each with its time."""
    found = best_pairs(
        {"l": tables["a"], "r": tables["c"]},
        "abs(l.ts - r.ts) <= 4 AND abs(l.x - r.x) <= 2",
        [least("abs(l.x - r.x)")],
        "full outer",
    )
    lefts, rights = zip(*sorted(found), strict=True)
    pairs = pa.table({"l": list(lefts), "r": list(rights)})
    query = (
        "SELECT p.l, p.r, a.k, greatest(a.ts, c.ts) AS t FROM p JOIN a ON p.l = a.id"
        " JOIN c ON p.r = c.id"
    )
    return asked({**tables, "p": pairs}, query)


def test_pairs_are_joined_further_by_their_times(tables):
    query = f"SELECT m.l, m.r, b.id FROM {PAIRS}, b WHERE m.k = b.k WINDOW = 5"
    answer = streams_and_table(tables).sql(query).to_arrow().to_pydict()
    expected = asked(
        {**tables, "m": pairs_with_times(tables)},
        "SELECT m.l, m.r, b.id FROM m JOIN b ON m.k = b.k AND abs(m.t - b.ts) <= 5",
    ).to_pydict()
    assert len(expected["l"]) > 100
    assert sorted(zip(*answer.values(), strict=True)) == sorted(
        zip(*expected.values(), strict=True)
    )


def test_pairs_are_grouped_in_a_window_of_their_own(tables):
    query = f"SELECT m.k, COUNT(*) AS n FROM {PAIRS} [RANGE 6] GROUP BY m.k"
    session = streams_and_table(tables)
    changes = session.sql(query).to_arrow()
    pairs = pairs_with_times(tables)
    for instant in (5, 20, 33, 50):
        counted = session.state_at(changes, instant).to_pydict()
        expected = asked(
            {"m": pairs},
            f"SELECT k, count(*) AS n FROM m WHERE t <= {instant} AND t + 6 >= {instant} GROUP BY k",
        ).to_pydict()
        assert dict(zip(counted["k"], counted["n"], strict=True)) == dict(
            zip(expected["k"], expected["n"], strict=True)
        )


def test_pairs_are_matched_again(tables):
    query = (
        f"SELECT m.l, m.r, b.id FROM {PAIRS} RIGHT OUTER BESTMATCH JOIN b ON m.l MINDIST b.id"
        " WINDOW = 3"
    )
    answer = streams_and_table(tables).sql(query).to_arrow().to_pydict()
    pairs = pairs_with_times(tables)
    numbered = pairs.append_column("id", pa.array(range(len(pairs))))
    best = best_pairs(
        {"l": numbered, "r": tables["b"]},
        "abs(l.t - r.ts) <= 3",
        [least("abs(l.l - r.id)")],
        "right outer",
    )
    expected = [(pairs["l"][at].as_py(), pairs["r"][at].as_py(), b) for at, b in best]
    assert sorted(zip(*answer.values(), strict=True)) == sorted(expected)
