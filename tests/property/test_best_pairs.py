"""Bestmatch joins that say what is best now: right at every instant, however the rows come."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from itertools import pairwise

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.best_pairs import best_at

import windrow

SHOWN = "a.at, a.x, a.k, a.y, b.at AS bat, b.x AS bx, b.k AS bk, b.y AS by"
ON = "a.x MINDIST b.x, a.y MINDIST b.y"
SIDES = ("", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER")
ROWS = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.sampled_from([0, 1, 2, 5, None]),
        st.sampled_from("uv"),
        st.sampled_from([0.0, 0.5, 2.0, math.nan, math.inf]),
    ),
    max_size=7,
)


def table(rows):
    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    types = (pa.int64(), pa.int64(), pa.string(), pa.float64())
    arrays = [pa.array(list(c), t) for c, t in zip(columns, types, strict=True)]
    return pa.table(arrays, names=["at", "x", "k", "y"])


def shown(left, right):
    """A pair as a row of the answer."""
    return (*left, *right)


class Case:
    """A query with its streams; windows of either side, or None for the plain bound on time."""

    def __init__(self, side, a, b, windows, has_key) -> None:
        self.rows = {"a": a, "b": b}
        self.side, self.windows, self.has_key = side, windows, has_key
        ranges = [f"[RANGE {w}]" if windows else "" for w in windows or (0, 0)]
        where = ["abs(a.x - b.x) <= 3"]
        where += [] if windows else ["abs(a.at - b.at) <= 3"]
        where += ["a.k = b.k"] if has_key else []
        self.sql = (
            f"SELECT {SHOWN} FROM a {ranges[0]} {side} BESTMATCH JOIN b {ranges[1]} ON {ON}"
            f" WHERE {' AND '.join(where)}"
        )

    @property
    def candidates(self):
        """Pairs of rows, each with its place, that meet all that is said of values and times."""
        return [
            (left, right)
            for left in enumerate(self.rows["a"])
            for right in enumerate(self.rows["b"])
            if self._is_candidate(left[1], right[1])
        ]

    def _is_candidate(self, left, right):
        if None in (left[1], right[1]) or abs(left[1] - right[1]) > 3:
            return False
        if math.isnan(abs(left[3] - right[3])) or (self.has_key and left[2] != right[2]):
            return False
        return bool(self.windows) or abs(left[0] - right[0]) <= 3

    def is_alive(self, pair, instant):
        (_, left), (_, right) = pair
        if max(left[0], right[0]) > instant:
            return False
        if not self.windows:
            return True
        return instant <= left[0] + self.windows[0] and instant <= right[0] + self.windows[1]

    def expected(self, instant):
        best = best_at(
            instant,
            self.candidates,
            self.is_alive,
            lambda pair: tuple(abs(pair[0][1][i] - pair[1][1][i]) for i in (1, 3)),
            self.side.split(" ", maxsplit=1)[0],
        )
        return Counter(shown(left[1], right[1]) for left, right in best)

    def by_duckdb(self, instant):
        """The paper's SQL over the rows alive: pairs, less those for which a better one exists."""
        alive = [pair for pair in self.candidates if self.is_alive(pair, instant)]
        if not alive:
            return Counter()
        pairs = pa.table(
            {
                "l": [left[0] for left, _ in alive],
                "r": [right[0] for _, right in alive],
                "d1": [abs(left[1][1] - right[1][1]) for left, right in alive],
                "d2": [abs(left[1][3] - right[1][3]) for left, right in alive],
            }
        )
        better = "d.d1 <= p.d1 AND d.d2 <= p.d2 AND (d.d1 < p.d1 OR d.d2 < p.d2)"
        same = {"": ["true"], "LEFT OUTER": ["d.l = p.l"], "RIGHT OUTER": ["d.r = p.r"],
                "FULL OUTER": ["d.l = p.l", "d.r = p.r"]}[self.side]  # fmt: skip
        kept = " OR ".join(
            f"NOT EXISTS (SELECT 1 FROM pairs d WHERE {tuples} AND {better})" for tuples in same
        )
        with duckdb.connect() as connection:
            connection.register("pairs", pairs)
            found = connection.sql(f"SELECT p.l, p.r FROM pairs p WHERE {kept}").fetchall()
        return Counter(shown(self.rows["a"][left], self.rows["b"][right]) for left, right in found)

    def session(self, cuts):
        session = windrow.Session()
        for name, rows in self.rows.items():
            ends = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
            parts = [table(rows[i:j]) for i, j in pairwise(ends)]
            session.stream(name, parts, time="at", lateness=10)
        return session

    def changes(self, cuts, stop):
        """All changes of a run that is stopped after some batches, and goes on."""
        session = self.session(cuts)
        result = session.sql(self.sql)
        found = []
        for _ in range(stop):
            batch = next(result, None)
            if batch is None:
                return found
            found += batch.to_pylist()
        saved = pickle.loads(pickle.dumps(result.checkpoint()))
        for batch in self.session(cuts).sql(self.sql, resume=saved):
            found += batch.to_pylist()
        return found


def at(changes, instant):
    answer = Counter()
    for row in changes:
        if row["_event_time"] <= instant:
            sign = 1 if row["_change_type"] == "insert" else -1
            answer[tuple(value for name, value in row.items() if name[0] != "_")] += sign
    assert all(copies >= 0 for copies in answer.values())
    return +answer


@pytest.mark.parametrize("side", SIDES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    ROWS,
    ROWS,
    st.one_of(st.none(), st.tuples(st.integers(0, 4), st.integers(0, 4))),
    st.booleans(),
    st.sets(st.integers(1, 6), max_size=3),
    st.integers(0, 3),
)
def test_what_is_best_is_so_at_every_instant(side, a, b, windows, has_key, cuts, stop):
    if side and not windows:
        windows = (3, 2)
    case = Case(side, a, b, windows, has_key)
    changes = case.changes(cuts, stop)
    for instant in range(16):
        answer = at(changes, instant)
        assert answer == case.expected(instant)
    instant = 5 + stop
    assert at(changes, instant) == case.by_duckdb(instant)
    if windows:
        assert not at(changes, 99)
    signs = {}
    for row in changes:  # net: no row comes and goes at one instant
        key = tuple(value for name, value in row.items() if name != "_change_type")
        assert signs.setdefault(key, row["_change_type"]) == row["_change_type"]
