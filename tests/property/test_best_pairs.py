"""Bestmatch joins that say what is best now: right at every instant, however the rows come."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from itertools import pairwise

import duckdb
import pyarrow as pa
import pytest
from case_share import share_of
from cases.match_runs import FUNCTIONS, ORDERS
from cases.one_sided import draw_conditions
from cases.tape import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.best_pairs import SIDES as JUDGED
from twins.best_pairs import best_at, filtered, is_alive, unmatched_at
from twins.bestmatch import Rules, candidate

import windrow

pytestmark = pytest.mark.law

COLUMNS = ("at", "x", "k", "y", "tags")
TYPES = (pa.int64(), pa.int64(), pa.string(), pa.float64(), pa.list_(pa.string()))
SHOWN = "a.at, a.x, a.k, a.y, b.at AS bat, b.x AS bx, b.k AS bk, b.y AS by"
SIDES = ("", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER")
FAR = 1000
BOTH = ORDERS["both"][1]
ASKED = {
    "by distance": ("a.x MINDIST b.x, a.y MINDIST b.y", "xy", (3, None), ("mindist",) * 2, None),
    "by decimals": ("CAST(a.x AS DECIMAL(38, 18)) MINDIST b.x WITHIN 2, a.y MINDIST b.y", "xy",
                    (2, None), ("mindist",) * 2, None),
    "by sets": ("a.tags SUBSET b.tags, a.x MINDIST b.x", ("tags", "x"), (None, 3),
                ("subset", "mindist"), None),
    "by numbers": ("a.x gap b.x WITHIN 7, a.tags SUBSET b.tags, a.at YOUNGEST b.at", ("x", "tags"),
                   (7, None), (ORDERS["gap"][1], "subset"), "youngest"),
    "by a partial order": ("a.x both b.x, a.at MINDIST b.at", "x", (None,), (BOTH,), "mindist"),
    "by all": ("a.x both b.x, a.tags SUBSET b.tags, a.y MINDIST b.y", ("x", "tags", "y"),
               (None,) * 3, (BOTH, "subset", "mindist"), None),
}  # fmt: skip
"""ON, the columns compared beside time, their limits and orders, and the order of time."""

ROWS = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.sampled_from([0, 1, 2, 5, None]),
        st.sampled_from(["u", "v", "v", None]),
        st.sampled_from([0.0, 0.5, 2.0, math.nan, math.inf]),
        st.sampled_from(
            [
                None,
                [],
                [None],
                ["p"],
                ["q", "p"],
                ["q", "q"],
                ["q", None, "r"],
                ["p", "r", "q"],
                ["p", None, None],
            ]
        ),
    ),
    max_size=7,
)


def table(rows):
    columns = zip(*rows, strict=True) if rows else [[]] * len(COLUMNS)
    arrays = [pa.array(list(c), t) for c, t in zip(columns, TYPES, strict=True)]
    return pa.table(arrays, names=list(COLUMNS))


class Case:
    """A query with its streams; windows of either side, or None for the plain bound on time."""

    def __init__(
        self, side, a, b, windows, asked, *, has_key=False, keep=False, conditions=((), ())
    ) -> None:
        self.rows = {"a": a, "b": b}
        self.side, self.windows, self.keep = side, windows, keep
        on, names, eps, orders, time_order = ASKED[asked]
        ranges = [f"[RANGE {w}]" if windows else "" for w in windows or (0, 0)]
        where = ["abs(a.x - b.x) <= 3"] if 3 in eps else []
        where += [] if windows else ["abs(a.at - b.at) <= 3"]
        where += ["a.k = b.k"] if has_key else []
        self.sql = f"SELECT {SHOWN} FROM a {ranges[0]} {side} BESTMATCH JOIN b {ranges[1]} ON {on}"
        in_on, in_where = conditions
        self.sql += "".join(f" AND {one.sql}" for one in in_on)
        where += [one.sql for one in in_where]
        self.sql += f" WHERE {' AND '.join(where)}" if where else ""
        self.sql += " KEEP UNMATCHED" if keep else ""
        after, before = windows or (3, 3)
        rules = self.rules = Rules(
            eps, (False,) * has_key, before, after, time_order, orders=orders,
            on=tuple((one.side, one.holds) for one in in_on),
            where=tuple((one.side, one.holds) for one in in_where),
        )  # fmt: skip
        self.sides = [
            [
                {
                    "id": place,
                    "t": row[0],
                    "at": row[0],
                    "x": row[1],
                    "y": tuple(row[COLUMNS.index(name)] for name in names),
                    "k": (row[2],) * has_key,
                }
                for place, row in enumerate(rows)
            ]
            for rows in (a, b)
        ]
        pairs = [(r, s) for r in self.sides[0] for s in self.sides[1]]
        found = [candidate(r, s, rules) for r, s in pairs]
        self.candidates = [one for one in found if one is not None]
        self.lives = [
            lambda row, last=last: (row["t"], row["t"] + last) for last in windows or (FAR, FAR)
        ]

    @property
    def judged(self):
        return self.side.split(" ", maxsplit=1)[0]

    def shown(self, ids):
        """Pairs of places as rows of the answer."""
        nothing = (None,) * 4
        a, b = ([row[:4] for row in self.rows[name]] for name in "ab")
        return Counter(
            comparable((*(nothing if i is None else a[i]), *(nothing if j is None else b[j])))
            for i, j in ids.elements()
        )

    def expected(self, instant):
        found = best_at(instant, self.candidates, self.lives, self.judged)
        if self.keep:
            found += unmatched_at(instant, self.sides, self.candidates, self.lives, self.judged)
        return self.shown(filtered(found, self.sides, self.rules))

    def by_duckdb(self, instant):
        """The paper's SQL over the rows alive: pairs, less those for which a better one exists."""
        alive = [
            one
            for one in self.candidates
            if is_alive(one.left, self.lives[0], instant)
            and is_alive(one.right, self.lives[1], instant)
        ]
        columns = {"l": [one.left["id"] for one in alive], "r": [one.right["id"] for one in alive]}
        no_worse, better = ["true"], ["false"]
        for number in range(len(alive[0].entries) if alive else 0):
            values = [one.entries[number][1] for one in alive]
            if isinstance(values[0], frozenset):
                columns[f"s{number}"] = [sorted(value) for value in values]
                no_worse.append(f"len(list_intersect(d.s{number}, p.s{number})) = len(p.s{number})")
                better.append(f"len(d.s{number}) > len(p.s{number})")
                continue
            # The partial order is that of two numbers, both of which are to be less.
            numbers = values if isinstance(values[0], tuple) else [(value,) for value in values]
            for place, column in enumerate(zip(*numbers, strict=True)):
                name = f"d{number}_{place}"
                columns[name] = list(map(float, column))
                no_worse.append(f"d.{name} <= p.{name}")
                better.append(f"d.{name} < p.{name}")
        dominates = f"{' AND '.join(no_worse)} AND ({' OR '.join(better)})"
        same = {"": ["true"], "LEFT": ["d.l = p.l"], "RIGHT": ["d.r = p.r"],
                "FULL": ["d.l = p.l", "d.r = p.r"]}[self.judged]  # fmt: skip
        kept = " OR ".join(
            f"NOT EXISTS (SELECT 1 FROM pairs d WHERE {tuples} AND {dominates})" for tuples in same
        )
        found = Counter()
        with duckdb.connect(config={"threads": 1}) as connection:
            if alive:
                connection.register("pairs", pa.table(columns))
                found.update(connection.sql(f"SELECT l, r FROM pairs p WHERE {kept}").fetchall())
            for at in JUDGED[self.judged] if self.keep else ():
                ids = [r["id"] for r in self.sides[at] if is_alive(r, self.lives[at], instant)]
                matched = {columns["lr"[at]][n] for n in range(len(alive))}
                alone = [place for place in ids if place not in matched]
                found.update((place, None) if at == 0 else (None, place) for place in alone)
        return self.shown(filtered(found, self.sides, self.rules))

    def session(self, cuts):
        session = windrow.Session()
        for name, rows in self.rows.items():
            ends = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
            parts = [table(rows[i:j]) for i, j in pairwise(ends)]
            session.stream(name, parts, time="at", lateness=10)
        session.function("gap", FUNCTIONS["gap"].body, returns="bigint")
        session.function("both", FUNCTIONS["both"].body, returns="tinyint", partial_order=True)
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


def comparable(values):
    """A row as a key: NaN equals nothing, not even itself."""
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in values)


def at(changes, instant):
    answer = Counter()
    for row in changes:
        if row["_event_time"] <= instant:
            sign = 1 if row["_change_type"] == "insert" else -1
            answer[comparable(value for name, value in row.items() if name[0] != "_")] += sign
    assert all(copies >= 0 for copies in answer.values())
    return +answer


@pytest.mark.parametrize("side", SIDES)
@settings(max_examples=share_of(60), deadline=None, derandomize=True)
@given(
    st.tuples(ROWS, ROWS),
    st.one_of(st.none(), st.tuples(st.integers(0, 4), st.integers(0, 4))),
    st.sampled_from(list(ASKED)),
    st.tuples(st.booleans(), st.booleans()),
    drawn(lambda random: draw_conditions(random, ("a", "b"), "at")),
    st.tuples(st.sets(st.integers(1, 6), max_size=3), st.integers(0, 3)),
)
def test_what_is_best_is_so_at_every_instant(side, rows, windows, asked, told, conditions, run):
    cuts, stop = run
    if side and not windows:
        windows = (3, 2)
    has_key, keep = told
    case = Case(
        side,
        *rows,
        windows,
        asked,
        has_key=has_key,
        keep=keep and bool(side),
        conditions=conditions,
    )
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
        key = comparable(value for name, value in row.items() if name != "_change_type")
        assert signs.setdefault(key, row["_change_type"]) == row["_change_type"]
