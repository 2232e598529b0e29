"""The asymmetric join in all combinations of structures: against the slow twin, DuckDB, the default."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from cases.join_runs import Case, cases, expected, run, same_bag, scan
from cases.tape import TAPES, drawn
from hypothesis import given, settings
from oracle import asked_of_duckdb
from sessions import session

import windrow
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.operators.joins.tuple_at_a_time import lanes, results
from windrow.operators.joins.tuple_at_a_time.arrival_join import ArrivalJoinOp
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.structures import PartSizes
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import Field, Schema

NAMES = ("buffer", "hash", "btree", "ttree")
ALL = [*itertools.product(NAMES, NAMES)]
EVERY = pytest.mark.parametrize("pair", ALL, ids=["/".join(pair) for pair in ALL])
ORDERED = [pair for pair in ALL if "hash" not in pair]
EXAMPLES = settings(max_examples=share_of(15), deadline=None, derandomize=True)
"""Per combination: the law that all must keep is tried 240 times."""


@pytest.fixture(scope="module", autouse=True)
def little_room():
    """Room for three results and two tuples: all grows and moves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "MOST_FOUND", 3)
        patch.setattr(lanes, "LEAST_ROOM", 2)
        yield


SMALL = PartSizes(bucket=2, node=3)
"""Nodes of three and buckets of two: all splits."""


def operator(case: Case, pair: tuple[str, str]) -> ArrivalJoinOp:
    own = pair if case.node.classes else ("buffer", "buffer")
    return ArrivalJoinOp(replace(case.node, algorithm="asymmetric", structures=own, sizes=SMALL))


@pytest.mark.law
@EVERY
@EXAMPLES
@given(case=cases(most_inputs=2))
def test_every_combination_comes_once_in_the_push_of_its_last_row(pair, case):
    same_bag(run(case, lambda _: operator(case, pair)), expected(case))


@pytest.mark.law
@settings(EXAMPLES, max_examples=share_of(100))
@given(case=cases(most_inputs=2), choices=TAPES)
def test_any_structures_go_on_from_the_state_of_any_other_algorithm(case, choices):
    case = replace(case, resumes=tuple(range(len(case.cuts))))

    def next_operator(_):
        if choices.random() < 0.3:
            return BewJoinOp(case.node)
        if choices.random() < 0.2:
            return ArrivalJoinOp(replace(case.node, algorithm="closure"))
        return operator(case, choices.choice(ALL))

    same_bag(run(case, next_operator), expected(case))


NAN = math.nan
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("id", pa.int64()),
        ("k", pa.int32()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("s", pa.int64()),
        ("d", pa.float64()),
        ("e", pa.float64()),
        ("f", pa.float32()),
        ("m", pa.decimal128(5, 2)),
        ("n", pa.decimal128(6, 3)),
        ("w", pa.decimal128(30, 4)),
        ("g", pa.float64()),
        ("h", pa.float32()),
        ("t", pa.timestamp("us")),
        ("y", pa.date32()),
    ]
)
NULL = (None,)
MOST = 1.7976931348623157e308
WIDE = ("0.0001", "-0.5", "1", "99999999999999999999999999.9999", "1e25", "-1e25")
VALUES = {
    "i": (range(-6, 7), NULL),
    "l": (range(-2, 3), (2**53, 2**53 + 1, -(2**63), 2**63 - 1), NULL),
    "s": (range(-6, 7), (2**53, 2**53 + 1, -(2**53)), NULL),
    "d": ((0.0, -math.inf, -1.5, -0.0, 0.5, 2.0, 2.0**53, math.inf, NAN), NULL),
    "e": (
        (0.1, 0.2, 0.3, 0.30000000000000004, 0.4, 1e16, 1e16 + 2, 1e300, 5e-324),
        tuple(np.random.default_rng(3).uniform(-1, 1, 50).tolist()),
        NULL,
    ),
    "f": ((0.0, -1.5, -0.0, 0.1, 0.2, 0.3, NAN), NULL),
    "m": (tuple(map(Decimal, ("0.00", "-0.50", "0.75", "1.25"))), NULL),
    "n": (tuple(map(Decimal, ("0.000", "-0.505", "0.750", "1.251"))), NULL),
    "w": (tuple(map(Decimal, WIDE)), tuple(Decimal(w) + Decimal("3e-4") for w in WIDE[-2:]), NULL),
    "g": ((-0.0, 5e-324, 0.1), (-math.inf, -MOST, -1e308, 1e308, MOST, math.inf, NAN), NULL),
    "h": ((-0.0, 1e-45, 0.1, 0.3, 2.0**24), (-math.inf, -3.4e38, 3.4e38, math.inf, NAN), NULL),
    "t": (tuple(datetime(2024, 1, 1, 0, 0, n) for n in range(4)), NULL),  # noqa: DTZ001
    "y": (tuple(date(2024, 1, n) for n in range(1, 6)), NULL),
}
"""Per column groups of values: each group is as likely as the others."""
PAIRS = ["i i", "i l", "l l", "d d", "i d", "l d", "d f", "f f", "m m", "m n", "t t", "y y", "e e"]
NEAR = ["i i", "s s", "i s", "d d", "e e", "i d", "s e", "f f", "d f", "m m", "m n"]
APART = ["ii", "ss", "is", "dd", "ee", "gg", "hh", "ff", "df", "gh", "id", "sg", "mm", "mn", "ww"]
APART += [pair[::-1] for pair in APART] + ["wm", "im", "wg", "eh"]
LIMITS = ["0", "1", "-2", "0.1", "-0.5", "2.5", "1e0", "16777216", "0.0003"]
DIFFERENCES = [
    "{x} - {y} {o} {c}",
    "{c} {o} {x} - {y}",
    "{x} - {y} BETWEEN {c} AND {d}",
    "NOT ({x} - {y} {o} {c})",
    "{x} - {y} {o} {c} AND {y} - {x} {o} {d}",
    "{x} - {y} {o} {c} AND {x} <= {y}",
]
SHIFTED = [
    "{x} {o} {y} + {c}",
    "{x} - {c} {o} {y} - {d}",
    "{x} BETWEEN {y} - {d} AND {y} + {d}",
    "{x} - {y} {o} {c} AND {x} <= {y} + {d}",
    "({x} - {y}) + 3 {o} {d}",
]
BANDS = [
    "{p}.i BETWEEN {q}.i - 1 AND {q}.i + 2",
    "{p}.i + 1 < {q}.i - 1",
    "{p}.d BETWEEN {q}.d - 0.5 AND {q}.d",
    "{p}.e BETWEEN {q}.e - 0.1 AND {q}.e + 0.1",
    "{p}.e + 0.1 <= {q}.e + 0.2",
    "{p}.e >= 10000000000000000.0 + {q}.e",
    "{p}.t < {q}.t + INTERVAL '1' SECOND",
    "{p}.y BETWEEN {q}.y AND {q}.y + INTERVAL '2' DAYS",
    "{p}.m <= {q}.n + 0.5",
    "{p}.m BETWEEN {q}.m - 0.25 AND 0.75 + {q}.m",
    "abs({p}.i - {q}.i) <= 1.5 AND {p}.d < {q}.d",
    "abs({p}.s - {q}.s) <= 9007199254740991e0",
    "2 > abs(({p}.i - {q}.i))",
    "abs({p}.i - {q}.i) < 0",
    "{p}.i <= {q}.i AND {p}.i >= {q}.i - 1 AND {p}.d <> {q}.d",
]


@dataclass
class Asked:
    """Two streams, a window, and a condition, by some structures."""

    rows: dict[str, list[dict[str, Any]]]
    cuts: dict[str, list[int]]
    window: int
    where: str
    structure: str
    sizes: dict[str, int]

    def table(self, name: str) -> pa.Table:
        return pa.Table.from_pylist(self.rows[name], SCHEMA)

    def answer(self, **options: Any) -> Counter[tuple[int, ...]]:
        session = windrow.Session()
        for name, cuts in self.cuts.items():
            table = self.table(name)
            edges = [0, *cuts, table.num_rows]
            parts = [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]
            session.stream(name, parts, time="ts", lateness=100)
        query = f"SELECT a.id AS i, b.id AS j FROM a, b WHERE {self.where} WINDOW = {self.window}"
        found = session.sql(query, **options).to_arrow()
        return bag(found)

    def by_duckdb(self) -> Counter[tuple[int, ...]]:
        window = f"b.ts - a.ts BETWEEN {-self.window} AND {self.window}"
        query = f"SELECT a.id, b.id FROM a CROSS JOIN b WHERE {self.where} AND {window}"
        return Counter(asked_of_duckdb({name: self.table(name) for name in self.rows}, query))


def draw_asked(random: Random) -> Asked:
    where = draw_condition(random, *random.sample("ab", 2))
    pairs = ORDERED
    if random.randrange(4) == 0:
        where, pairs = f"{where} AND a.k = b.k", ALL
    # Columns that no condition reads hold nothing but NULL.
    read = {name: VALUES[name] for name in sorted(set(re.findall(r"[ab]\.([^k])", where)))}
    rows, cuts = {}, {}
    for name in "ab":
        count = random.randint(1, 12)
        rows[name] = [
            {"ts": random.randint(0, 8), "id": n, "k": random.randint(0, 1)}
            | {c: random.choice(random.choice(groups)) for c, groups in read.items()}
            for n in range(count)
        ]
        cuts[name] = sorted(random.randint(0, count) for _ in range(random.randint(0, 2)))
    structure = "/".join(random.choice(pairs))
    sizes = {"bucket_size": random.randint(1, 3)} if "hash" in structure else {}
    if "tree" in structure:
        sizes["node_size"] = random.choice([3, 4, 100])
    return Asked(rows, cuts, random.randint(0, 6), where, structure, sizes)


def draw_condition(random: Random, p: str, q: str) -> str:
    kind = random.choice(["compared", "near", "band", "apart", "apart"])
    operator = random.choice(["<", "<=", ">", ">="])
    if kind == "compared":
        one, other = random.choice(PAIRS).split()
        return f"{p}.{one} {operator} {q}.{other}"
    if kind == "apart":
        one, other = random.choice(APART)
        # Sums of whole numbers may raise beside other numbers, and have no band then.
        may_raise = ({one, other} & {"i", "s"}) and not {one, other} <= {"i", "s"}
        text = random.choice(DIFFERENCES if may_raise else DIFFERENCES + SHIFTED)
        known = [one for one in LIMITS if "e" not in one or text in DIFFERENCES]
        limits = {"c": random.choice(known), "d": random.choice(known)}
        return text.format(x=f"{p}.{one}", y=f"{q}.{other}", o=operator, **limits)
    if kind == "near":
        one, other = random.choice(NEAR).split()
        limit = random.choice(["0", "1", "2.5", "0.1", "1e0"])
        return f"abs({p}.{one} - {q}.{other}) {random.choice(['<', '<='])} {limit}"
    return random.choice(BANDS).format(p=p, q=q)


@pytest.mark.law
@settings(EXAMPLES, max_examples=share_of(100))
@given(drawn(draw_asked, size=1_024))
def test_a_band_by_trees_gives_what_a_scan_and_duckdb_give(case):
    found = case.answer(structure=case.structure, **case.sizes)
    assert found == case.answer(algorithm="bew")
    assert found == case.by_duckdb()


def draw_limit(random: Random) -> dict[str, Any]:
    tuples, rate = random.randint(2, 12), random.choice([None, 0.5, 1, 3])
    limit: dict[str, Any] = {"memory": f"{tuples} tuples", "on_memory": "shed", "seed": tuples}
    return limit if rate is None else limit | {"service_rate": rate, "on_service_rate": "shed"}


@pytest.mark.law
@settings(EXAMPLES, max_examples=share_of(50))
@given(drawn(draw_asked, size=1_024), drawn(draw_limit))
def test_a_band_that_sheds_finds_by_structures_what_a_scan_finds(case, limit):
    found = case.answer(structure=case.structure, **case.sizes, **limit)
    assert found == case.answer(algorithm="bew", **limit)
    assert found <= case.answer(algorithm="bew")
    assert case.answer(**limit) == found


@pytest.mark.law
def test_a_tree_looks_at_no_tuple_outside_its_range_of_keys():
    random = np.random.default_rng(23)
    numbers = {name: random.integers(0, 300, 400) for name in "ab"}
    types = {"x": pa.int64(), "f": pa.float32(), "w": pa.decimal128(30, 2)}
    tables = {
        name: pa.table(
            {"ts": np.arange(400)} | {c: pa.array(own).cast(t) for c, t in types.items()}
        )
        for name, own in numbers.items()
    }
    ranges = {
        "abs(a.x - b.x) < 3": lambda d: np.abs(d) < 3,
        "a.x BETWEEN b.x - 4 AND b.x + 1": lambda d: (d >= -4) & (d <= 1),
        "b.x + 250 < a.x": lambda d: d > 250,
        "b.x - a.x < -250": lambda d: d > 250,
        "a.x - b.x BETWEEN -4.5 AND 1": lambda d: (d >= -4) & (d <= 1),
        "a.f - b.f BETWEEN -4.5 AND 1.5": lambda d: (d >= -4) & (d <= 1),
        "a.w - b.w < -250.5": lambda d: d < -250,
    }
    apart = np.subtract.outer(numbers["a"], numbers["b"])
    for pair, (where, holds) in itertools.product(["ttree/btree", "btree/ttree"], ranges.items()):
        w = session(tables, time="ts")
        result = w.sql(f"SELECT a.x, b.x AS y FROM a, b WHERE {where} WINDOW = 7", structure=pair)
        rows = result.to_arrow().num_rows
        counted = result.progress.operators["WJoin a, b"]
        # All come in one batch, so that no tuple is dropped before it has met all others.
        assert counted["comparisons"] == holds(apart).sum()
        assert 0 < rows < counted["comparisons"]


def test_trees_find_what_lies_at_the_ends_of_64_bits():
    ends = [-(2**63), -(2**63) + 1, 0, 2**63 - 2, 2**63 - 1]
    table = pa.table({"ts": [0] * len(ends), "x": ends})
    for where, wanted in {
        "a.x < b.x": 10,
        "a.x <= b.x": 15,
        "a.x > b.x": 10,
        "a.x BETWEEN b.x AND b.x": 5,
    }.items():
        w = session(dict.fromkeys("ab", table), time="ts")
        query = f"SELECT a.x, b.x AS y FROM a, b WHERE {where} WINDOW = 0"
        assert w.sql(query, structure="ttree/btree").to_arrow().num_rows == wanted


@pytest.mark.law
@pytest.mark.parametrize("stalls", [False, True])
@pytest.mark.parametrize("pair", [("hash", "ttree"), ("btree", "buffer"), ("ttree", "btree")])
def test_what_is_held_does_not_grow_while_windows_slide_or_a_stream_stalls(pair, stalls):
    aliases = ("a", "b")
    node = TimeJoin(
        tuple(scan(alias, Schema((Field(f"{alias}.k", "bigint"),))) for alias in aliases),
        aliases, (KeyClass(("a.k", "b.k"), "bigint"),),
        WindowGraph(aliases, (Bound(0, 1, 10, 10),)), (("a.k",), ()), "hash",
        Schema((Field("a.k", "bigint"),)), algorithm="asymmetric", structures=pair,
    )  # fmt: skip
    join = ArrivalJoinOp(node)
    held, rows = [], 0
    for start in range(0, 10_000, 200):
        times = np.arange(start, start + 200)
        keys = [pa.RecordBatch.from_arrays([pa.array(times % 97)], names=[f"{x}.k"]) for x in "ab"]
        first, second = (ChangeBatch(own, times) for own in keys)
        rows += sum(map(len, join.push([first, None if stalls else second])))
        assert not list(join.advance(start + 200))
        held.append(join.counters.state_bytes)
    assert rows == (0 if stalls else 10_000)
    assert max(held) == max(held[: len(held) // 2])
