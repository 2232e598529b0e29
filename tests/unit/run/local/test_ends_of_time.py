"""The two ends of BIGINT time stand for "no time" and "never": no tuple is lost there unseen."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from sessions import session

from windrow import Session
from windrow.physical.algorithms import ALGORITHMS

FIRST, LAST = -(2**63), 2**63 - 1
QUERIES = [
    "SELECT COUNT(*) AS n FROM m [RANGE 1]",
    "SELECT m.at AS x, n.at AS y FROM m, n WHERE m.k = n.k WINDOW = 5",
    "SELECT m.at AS x, n.at AS y FROM m LEFT OUTER BESTMATCH JOIN n ON m.at MINDIST n.at"
    " WHERE abs(m.at - n.at) <= 5 KEEP UNMATCHED",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("end", [FIRST, LAST])
def test_a_tuple_at_an_end_of_time_counts_as_one_without_a_time(query, end):
    made = session(
        {
            "m": [pa.record_batch({"k": [1, 1], "at": [5, end]})],
            "n": [pa.record_batch({"k": [1, 1], "at": [5, 6]})],
        },
        time="at",
    )
    result = made.sql(query, on_late="keep")
    rows = result.to_arrow().to_pylist()
    assert rows
    assert all(row.get("x", 5) == 5 for row in rows)
    assert result.late["m"].to_pylist() == [{"k": 1, "at": end}]
    assert (result.progress.late, result.progress.null_time) == (0, 1)
    assert result.progress.stored == 0


def test_the_ticks_beside_the_ends_are_times_like_any_other():
    made = session({"m": {"k": [1, 1], "at": [FIRST + 1, LAST - 1]}}, time="at")
    result = made.sql("SELECT x.at AS a, y.at AS b FROM m x, m y WHERE x.k = y.k WINDOW = 0")
    assert [row["a"] for row in result.to_arrow().to_pylist()] == [FIRST + 1, LAST - 1]
    assert (result.progress.null_time, result.progress.stored) == (0, 0)


# Every kind of query, with {w} and {v} for lengths. Where its streams lie in time changes nothing
# but the instants of its changes.
KINDS = [
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM m [RANGE {w}]",
    "SELECT k, MAX(x) AS s, MIN(x) AS i, MEDIAN(x) AS d FROM m [RANGE {w}] GROUP BY k",
    "SELECT DISTINCT k FROM m [RANGE {w}]",
    "SELECT k FROM m [RANGE {w}] EXCEPT ALL SELECT k FROM n [RANGE {v}]",
    "SELECT k, x FROM m [RANGE {w}] EMIT CHANGES",
    "SELECT k, x FROM m [ROWS 2] EMIT CHANGES",
    "SELECT k, COUNT(*) AS c FROM m [PARTITION BY k ROWS 2] GROUP BY k",
    "SELECT m.x AS a, n.x AS b FROM m, n WHERE m.k = n.k WINDOW = {w}",
    "SELECT m.x AS a, n.x AS b FROM m, n WHERE m.k = n.k DWINDOW (m, n) = {w}",
    "SELECT m.x AS a, n.x AS b FROM m, n WHERE m.k = n.k AND n.at BETWEEN m.at - {w} AND"
    " m.at + {v}",
    "SELECT m.x AS a, n.x AS b, o.x AS c FROM m, n, m o WHERE m.k = n.k AND n.k = o.k WINDOW"
    " (m, n) = {w} AND DWINDOW (n, o) = {v}",
    "SELECT m.x AS a, n.x AS b FROM m LEFT JOIN n ON m.k = n.k WINDOW = {w}",
    "SELECT m.x AS a, n.x AS b FROM m FULL JOIN n ON m.k = n.k WINDOW = {w}",
    "SELECT m.x AS a FROM m LEFT SEMI JOIN n ON m.k = n.k WINDOW = {w}",
    "SELECT m.x AS a FROM m LEFT ANTI JOIN n ON m.k = n.k WINDOW = {w}",
    "SELECT m.x AS a, n.x AS b FROM m [RANGE {w}] FULL JOIN n [RANGE {v}] ON m.k = n.k EMIT"
    " CHANGES",
    "SELECT m.x AS a FROM m [RANGE {w}] LEFT ANTI JOIN n [RANGE {v}] ON m.k = n.k EMIT CHANGES",
    "SELECT m.x AS a, n.x AS b FROM m [RANGE {w}], n [RANGE {v}] WHERE m.k = n.k EMIT CHANGES",
    "SELECT m.x AS a, n.x AS b FROM m [ROWS 2], n [ROWS 3] WHERE m.k = n.k",
    "SELECT m.x AS a, n.x AS b FROM m, n WHERE m.k = n.k WINDOW = 3 ROWS",
    "SELECT m.x AS a, n.x AS b FROM m [ROWS 2], n [RANGE {w}] WHERE m.k = n.k",
    "SELECT m.x AS a, n.x AS b FROM m LEFT OUTER BESTMATCH JOIN n ON m.x MINDIST n.x WHERE"
    " abs(m.at - n.at) <= {w} KEEP UNMATCHED",
    "SELECT m.x AS a, n.x AS b FROM m FULL OUTER BESTMATCH JOIN n ON m.x MINDIST n.x, m.at"
    " MINDIST n.at WHERE abs(m.at - n.at) <= {w}",
    "SELECT m.x AS a, n.x AS b FROM m [RANGE {w}] LEFT OUTER BESTMATCH JOIN n [RANGE {v}] ON"
    " m.x MINDIST n.x",
    "SELECT m.x AS a, n.x AS b FROM m LEFT OUTER BESTMATCH JOIN n ON m.at YOUNGEST n.at"
    " WITHIN {w}, m.x MINDIST n.x",
    "SELECT m.x AS a, n.x AS b FROM m BESTMATCH JOIN n ON m.x MINDIST n.x WHERE abs(m.at -"
    " n.at) <= {w}",
    "SELECT m.x AS a, n.x AS b FROM m ASOF JOIN n MATCH_CONDITION (m.at >= n.at) ON m.k ="
    " n.k TOLERANCE {w}",
    "SELECT m.x AS a, n.x AS b FROM m LEFT ASOF JOIN n MATCH_CONDITION (m.at <= n.at) ON m.k"
    " = n.k TOLERANCE {w}",
    "SELECT m.x AS a, n.x AS b FROM m LEFT ASOF JOIN n MATCH_CONDITION (m.at >= n.at) ON m.k = n.k",
    "SELECT m.x AS a, SUM(n.x) AS b, COUNT(*) AS c FROM m WINDOW JOIN n ON m.k = n.k RANGE"
    " BETWEEN {w} PRECEDING AND {v} FOLLOWING",
    "SELECT k, COUNT(*) AS c FROM (SELECT m.k AS k FROM m, n WHERE m.k = n.k WINDOW = {w}) j"
    " [RANGE {v}] GROUP BY k",
    "SELECT j.k AS k, n.x AS c FROM (SELECT DISTINCT k FROM m [RANGE {w}]) j, n [RANGE {v}]"
    " WHERE j.k = n.k",
    "SELECT j.k AS k, n.x AS c FROM (SELECT k FROM m [RANGE {w}]) j, n [RANGE {v}] WHERE j.k"
    " = n.k WINDOW (j, n) = {w} EMIT CHANGES",
    "SELECT k, COUNT(*) AS c FROM f [RANGE {w}] GROUP BY k",
    "SELECT k, x FROM f",
    "SELECT k, COUNT(*) AS c FROM f [ROWS 2] GROUP BY k",
]
LENGTHS = [(0, 0), (3, 5), (2**61, 3)]
PLACES = [LAST - 12, FIRST + 1]
"""What is added to times from 0 to 11: the last of them, or the first, is then one tick beside an end."""

CHANGES = ["insert", "insert", "insert", "delete", "insert", "insert", "delete", "insert"]
FED = [(0, 7), (1, 7), (1, 7), (1, 7), (0, 8), (1, 8), (0, 8), (0, 9)]
"""(k, x) of the rows of a stream of changes."""


def streams(random: Random, place: int) -> dict[str, pa.Table]:
    made = {}
    for name in ("m", "n"):
        times = sorted([11 if name == "m" else 4, *(random.randrange(12) for _ in range(5))])
        times[0] = 0 if name == "m" else times[0]
        keys = [random.randrange(2) for _ in times]
        made[name] = pa.table({"k": keys, "x": range(6), "at": [place + time for time in times]})
    times = sorted([11, *(random.randrange(12) for _ in CHANGES[1:])])
    keys, values = zip(*FED, strict=True)
    made["f"] = pa.table(
        {"k": keys, "x": values, "at": [place + time for time in times], "change": CHANGES}
    )
    return made


def answered(sql: str, seed: int, place: int, **options: str) -> Counter[tuple[Any, ...]]:
    """The rows of the answer; those of a changelog by their distance from the place."""
    session = Session()
    for name, rows in streams(Random(seed), place).items():
        changes = "change" if name == "f" else None
        session.stream(name, rows.to_batches(max_chunksize=2), time="at", changes=changes)
    result = session.sql(sql, **options)
    found: Counter[tuple[Any, ...]] = Counter()
    for row in result.to_arrow().to_pylist():
        if "_event_time" in row:
            row["_event_time"] -= place
        found[tuple(row.values())] += 1
    assert (result.progress.late, result.progress.null_time) == (0, 0)
    return found


def is_before_never(change: tuple[Any, ...], place: int) -> bool:
    return ("insert" not in change and "delete" not in change) or place + change[-1] < LAST


@pytest.mark.law
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_query_is_the_same_beside_the_ends_of_time(kind):
    random = Random(kind)
    for (w, v), place in product(LENGTHS, PLACES):
        seed, scheduling = random.randrange(100), random.choice(["tpa", "ita", "nta"])
        sql = kind.format(w=w, v=v)
        expected = answered(sql, seed, 0, scheduling=scheduling)
        found = answered(sql, seed, place, scheduling=scheduling)
        kept = {row: n for row, n in expected.items() if is_before_never(row, place)}
        assert found == kept, (sql, seed, scheduling, place)


@pytest.mark.law
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_is_the_same_beside_the_ends_of_time(algorithm):
    sql = "SELECT m.x AS a, n.x AS b FROM m, n WHERE m.k = n.k AND m.x <> n.x WINDOW = {}"
    for (w, _), place in product(LENGTHS, PLACES):
        expected = answered(sql.format(w), 5, 0, algorithm=algorithm)
        assert answered(sql.format(w), 5, place, algorithm=algorithm) == expected, (w, place)
