"""Window joins with predicates against DuckDB's cross join and against plain Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bags import bag
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import asked_of_duckdb
from twins.theta import compared, either, negated, plus

import windrow
from windrow.physical.algorithms import choices

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("id", pa.int64()),
        ("k", pa.int32()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("s", pa.string()),
        ("m", pa.decimal128(5, 2)),
        ("t", pa.timestamp("us")),
    ]
)
HASHED = {"bew-hash", "bew-tuple-at-a-time-hash", "few-hash", "hw", "xjoin"}
NAN = math.nan
NULL = (None,)
VALUES = {
    "k": ((0, 1),),
    "i": (range(-2, 3), (-(2**31) + 9, 2**31 - 9), NULL),
    "l": (range(-2, 3), (2**53, 2**53 + 1, -(2**63), 2**63 - 1), NULL),
    "d": ((0.0, -math.inf, -1.5, -0.0, 0.5, 2.0, 2.0**53, math.inf, NAN), NULL),
    "f": ((0.0, -1.5, -0.0, 0.1, NAN), NULL),
    "s": (("", "a", "ab", "b"), NULL),
    "m": (tuple(map(Decimal, ("0.00", "-0.50", "1.25"))), NULL),
    "t": (tuple(datetime(2024, 1, 1, 0, 0, n) for n in range(4)), NULL),  # noqa: DTZ001
}
"""Per column groups of values: each group is as likely as the others."""
PAIRS = [
    ("i", "i"),
    ("i", "l"),
    ("l", "l"),
    ("d", "d"),
    ("i", "d"),
    ("l", "d"),
    ("d", "f"),
    ("f", "f"),
]


def near(left: pa.Array, right: pa.Array) -> pa.Array:
    """Whether two whole numbers are one apart at most."""
    wide = [array.cast(pa.int64()) for array in (left, right)]
    return pc.less_equal(pc.abs(pc.subtract(*wide)), 1)


def span(left: int | None, right: int | None) -> float | None:
    return None if left is None or right is None else abs(left - right) / 2


@dataclass
class Case:
    """Streams, a window per neighbour, and conditions: our text, and what the oracle reads."""

    rows: dict[str, list[dict[str, Any]]]
    cuts: dict[str, list[int]]
    windows: list[int]
    conditions: list[tuple[str, Any]]
    algorithm: str = "bew"
    has_key: bool = field(default=False)

    @property
    def ours(self) -> str:
        names = list(self.rows)
        ids = ", ".join(f"{n}.id AS id_{n}" for n in names)
        keys = [f"{a}.k = {b}.k" for a, b in itertools.pairwise(names)] if self.has_key else []
        where = " AND ".join([*keys, *(f"({ours})" for ours, _ in self.conditions)]) or "TRUE"
        windows = " AND ".join(
            f"WINDOW ({a}, {b}) = {w}"
            for (a, b), w in zip(itertools.pairwise(names), self.windows, strict=True)
        )
        return f"SELECT {ids} FROM {', '.join(names)} WHERE {where} {windows}"

    def table(self, name: str) -> pa.Table:
        return pa.Table.from_pylist(self.rows[name], SCHEMA)

    def session(self) -> windrow.Session:
        session = windrow.Session()
        session.function("near", near, arguments=["int", "int"])
        session.function("span", span, returns="double", vectorized=False)
        for name, cuts in self.cuts.items():
            table = self.table(name)
            edges = [0, *cuts, table.num_rows]
            parts = [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]
            session.stream(name, parts or [table], time="ts", lateness=100)
        return session

    def answer(self) -> Counter[tuple[int, ...]]:
        found = self.session().sql(self.ours, algorithm=self.algorithm).to_arrow()
        return bag(found)


Condition = Callable[[Random, list[str]], tuple[str, Any]]


def cases(condition: Condition) -> st.SearchStrategy[Case]:
    """Any join of two or three streams under conditions of that kind."""
    return drawn(lambda random: draw_case(random, condition), size=1_024)


def draw_case(random: Random, condition: Condition) -> Case:
    names = list("abc"[: random.randint(2, 3)])
    rows, cuts = {}, {}
    for name in names:
        count = random.randint(1, 6)
        rows[name] = [
            {"ts": random.randint(0, 8), "id": n}
            | {c: random.choice(random.choice(groups)) for c, groups in VALUES.items()}
            for n in range(count)
        ]
        cuts[name] = sorted(random.randint(0, count) for _ in range(random.randint(0, 2)))
    windows = [random.randint(0, 6) for _ in names[1:]]
    conditions = [condition(random, random.sample(names, 2)) for _ in range(random.randint(1, 3))]
    # Half of all runs by the production algorithm; by hash only where there is a key.
    able = [name for name in choices() if name != "asymmetric" or len(names) == 2]
    algorithm = random.choice(random.choice([["bew", "bew-nested-loop"], able]))
    has_key = algorithm in HASHED or bool(random.getrandbits(1))
    return Case(rows, cuts, windows, conditions, algorithm, has_key)


def same(text: str) -> tuple[str, str]:
    return text, text


OPERATORS = ["<", "<=", ">", ">=", "<>"]
OTHER_PAIRS = [("s", "s"), ("m", "m"), ("t", "t"), ("m", "i")]


def any_condition(random: Random, pair: list[str]) -> tuple[str, str]:
    p, q = pair
    if random.getrandbits(1):
        left, right = random.choice(random.choice([PAIRS, OTHER_PAIRS]))
        return same(f"{p}.{left} {random.choice(OPERATORS)} {q}.{right}")
    others = [
        same(f"{p}.i BETWEEN {q}.i - 1 AND {q}.i + 2"),
        same(f"{p}.d BETWEEN {q}.d - 0.5 AND {q}.d"),
        same(f"{p}.d > 0.5 + {q}.d"),
        same(f"{p}.t < {q}.t + INTERVAL '1' SECOND"),
        same(f"NOT ({p}.i < {q}.i)"),
        same(f"{p}.i < {q}.i OR {p}.s = {q}.s"),
        same(f"{p}.s IS NULL OR {q}.s IS NULL OR {p}.s < {q}.s"),
        same(f"coalesce({p}.i, 0) % 2 = coalesce({q}.l, 1) % 2"),
        same(f"upper({p}.s) || {q}.s <> 'AB'"),
        same(f"CASE WHEN {p}.i > 0 THEN {q}.i > 0 ELSE {q}.d > 0 END"),
        same(f"{p}.i IN ({q}.i, {q}.l)"),
        (f"near({p}.i, {q}.i)", f"abs({p}.i::BIGINT - {q}.i) <= 1"),
        (f"NOT near({q}.i, {p}.i)", f"abs({p}.i::BIGINT - {q}.i) > 1"),
        (f"span({p}.i, {q}.i) > 0.5", f"abs({p}.i::BIGINT - {q}.i) > 1"),
        (
            f"{p}.s < {q}.s OR near({p}.i, {q}.i) AND span({q}.i, 0) < 1",
            f"{p}.s < {q}.s OR abs({p}.i::BIGINT - {q}.i) <= 1 AND abs({q}.i::BIGINT) < 2",
        ),
    ]
    return random.choice(others)


def by_duckdb(case: Case) -> Counter[tuple[int, ...]]:
    names = list(case.rows)
    where = [f"({theirs})" for _, theirs in case.conditions]
    for (a, b), w in zip(itertools.pairwise(names), case.windows, strict=True):
        where.append(f"{b}.ts - {a}.ts BETWEEN {-w} AND {w}")
        if case.has_key:
            where.append(f"{a}.k = {b}.k")
    ids = ", ".join(f"{name}.id" for name in names)
    query = f"SELECT {ids} FROM {' CROSS JOIN '.join(names)} WHERE {' AND '.join(where)}"
    return Counter(asked_of_duckdb({name: case.table(name) for name in names}, query))


@EXAMPLES
@given(cases(any_condition))
def test_any_predicate_means_what_it_means_in_duckdb(case):
    assert case.answer() == by_duckdb(case)


def plain_condition(random: Random, pair: list[str]) -> tuple[str, Any]:
    """A comparison, with its meaning in Python beside it in place of DuckDB's text."""
    p, q = pair
    columns, op = random.choice([*PAIRS, ("t", "t"), ("m", "m")]), random.choice(OPERATORS)
    shift = random.randint(0, 2) if columns in {("i", "i"), ("d", "d")} else 0
    left, right = f"{p}.{columns[0]}", f"{q}.{columns[1]}"
    text = f"{left} {op} {right}" + (f" + {shift}" if shift else "")

    def holds(value):
        one, other = doubles(value(left), plus(value(right), shift) if shift else value(right))
        return compared(one, op, other)

    form = random.choice(["", "", "not", "or"])
    if form == "not":
        return f"NOT ({text})", lambda value: negated(holds(value))
    if form == "or":
        return (
            f"{text} OR {p}.k = {q}.k",
            lambda value: either(holds(value), compared(value(f"{p}.k"), "=", value(f"{q}.k"))),
        )
    return text, holds


def asked_of_python(case: Case) -> Counter[tuple[int, ...]]:
    names = list(case.rows)
    answers: Counter[tuple[int, ...]] = Counter()
    for rows in itertools.product(*case.rows.values()):
        chosen = dict(zip(names, rows, strict=True))

        def value_of(name: str, chosen=chosen) -> Any:
            alias, column = name.split(".")
            value = chosen[alias][column]
            return float(np.float32(value)) if column == "f" and value is not None else value

        in_windows = all(
            abs(left["ts"] - right["ts"]) <= w
            for (left, right), w in zip(itertools.pairwise(rows), case.windows, strict=True)
        )
        same_key = not case.has_key or len({row["k"] for row in rows}) == 1
        if in_windows and same_key and all(h(value_of) is True for _, h in case.conditions):
            answers[tuple(row["id"] for row in rows)] += 1
    return answers


def doubles(left: Any, right: Any) -> tuple[Any, Any]:
    """A whole number compared with a double becomes one, as in SQL."""
    if {type(left), type(right)} == {int, float}:
        return float(left), float(right)
    return left, right


@EXAMPLES
@given(cases(plain_condition))
def test_comparisons_mean_what_plain_python_says_whatever_the_blocks(tiny_blocks, case):
    assert case.answer() == asked_of_python(case)
