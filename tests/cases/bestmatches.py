"""Random bestmatch joins, and their answers by comparing every pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
from twins.bestmatch import JUDGED, Rules, proofs

from cases.base import (
    ARROW_TIME,
    Case,
    Row,
    Stream,
    draw_batches,
    draw_key,
    draw_rows,
    draw_times,
    length,
)
from cases.match_runs import ORDERS
from cases.one_sided import OneSided, draw_conditions

KINDS = tuple(JUDGED)
COLUMNS = {"x": pa.int64(), "y": pa.float64(), "tags": pa.list_(pa.string())}
APART = 1_000
"""How far apart, along x, cases lie that are asked in one query: none can meet another."""


def draw_bestmatch(random: Random, *, most_rows: int = 12) -> Case:
    """An outer bestmatch join in two or three dimensions."""
    time_type = random.choice(list(ARROW_TIME))
    eps = random.choice([0, 1, 3, 8])
    reach = {"x": random.choice([None, 1, 4]), "y": random.choice([None, 0.5, 2.5])}
    keyed = random.random() < 0.4
    keep = random.random() < 0.4
    kind = random.choice(KINDS)
    streams = []
    times = draw_times(random)
    for name in ("temperature", "humidity"):
        lateness = random.choice([0, 2, 6])
        batches = draw_batches(random, draw_rows(random, most_rows, times, _draws()), lateness)
        types = {"id": pa.int64(), "k": pa.int64(), **COLUMNS}
        streams.append(Stream(name, batches, lateness, time_type, types))
    where = [f"abs(t.ts - h.ts) <= {length(eps, time_type)}"]
    where += [f"abs(t.{name} - h.{name}) <= {e}" for name, e in reach.items() if e is not None]
    where += ["t.k = h.k"] if keyed else []
    candidates, filters = draw_conditions(random, ("t", "h"), "id")
    random.shuffle(where)
    cut = random.choice([0, 0, 1, len(where)])  # conditions on both sides may stand in either
    on = [condition.sql for condition in candidates] + where[:cut]
    where = where[cut:] + [condition.sql for condition in filters]
    random.shuffle(on)
    random.shuffle(where)
    sql = (
        f"SELECT t.id AS tid, h.id AS hid FROM temperature t {kind} BESTMATCH JOIN humidity h "
        f"ON {' AND '.join(['t.ts MINDIST h.ts, t.x MINDIST h.x, t.y MINDIST h.y', *on])}"
        + (f" WHERE {' AND '.join(where)}" if where else "")
        + (" KEEP UNMATCHED" if keep else "")
    )
    rules = Rules(
        tuple(reach.values()), (False,) * keyed, eps, eps, "mindist", keep, kind,
        on=_as_rules(candidates), where=_as_rules(filters),
    )  # fmt: skip
    sides = [_as_rows(stream.rows, keyed=keyed, names=("x", "y")) for stream in streams]
    due = proofs(*sides, rules)
    return Case(sql, tuple(streams), Counter(due.keys()), time_type, dict(due))


def draw_many(random: Random, *, keyed: bool, cases: int = 12) -> Case:
    """Many joins of every kind as one query: kept apart by a key, or by far offsets of x.

    Those by key compare values too, with the functions of `cases.match_runs`, and have conditions on
    one side; of the others all rows are kept, which are to be more than memory holds. The answer names the
    kind, and both ids; those of case n lie between n and n + 1 times APART.
    """
    time_type, lateness = "timestamp", 3
    sides: list[list[Row]] = [[], []]
    for number in range(cases):
        times = (0, random.choice([3, 8, 30]))
        for side in sides:
            for row in draw_rows(random, 9, times, _draws()):
                place = number * APART
                x = row["x"] if keyed or row["x"] is None else row["x"] + place
                side.append({**row, "id": row["id"] + place, "x": x, "k": number})
    types = {"id": pa.int64(), "k": pa.int64(), **COLUMNS}
    streams = tuple(
        Stream(name, draw_batches(random, side, lateness), lateness, time_type, types)
        for name, side in zip(("temperature", "humidity"), sides, strict=True)
    )
    branches: list[str] = []
    due: dict[tuple[Any, ...], int] = {}
    for kind in KINDS:
        keep = random.random() < 0.7
        asked = BY_VALUE[kind] if keyed else BY_DISTANCE
        candidates, filters = draw_conditions(random, ("t", "h"), "id") if keyed else ((), ())
        branches.append(
            f"SELECT '{kind}' AS kind, t.id AS tid, h.id AS hid"
            f" FROM temperature t {kind} BESTMATCH JOIN humidity h ON t.ts {asked.time} h.ts,"
            f" {' AND '.join([', '.join(asked.dimensions), *(one.sql for one in candidates)])}"
            " WHERE h.ts BETWEEN t.ts - INTERVAL 4 SECONDS AND t.ts + INTERVAL 6 SECONDS"
            + (" AND t.k = h.k" if keyed else "")
            + "".join(f" AND {one.sql}" for one in filters)
            + (" KEEP UNMATCHED" if keep else "")
        )
        rules = Rules(
            asked.eps, (False,), 4, 6, asked.time, keep, kind, asked.orders,
            on=_as_rules(candidates), where=_as_rules(filters),
        )  # fmt: skip
        for number in range(cases):
            rows = (_as_rows(_of(side, number), keyed=True, names=asked.names) for side in sides)
            due |= {(kind, *pair): proof for pair, proof in proofs(*rows, rules).items()}
    return Case(" UNION ALL ".join(branches), streams, Counter(due.keys()), time_type, due)


@dataclass(frozen=True)
class Asked:
    """Dimensions beside time as a query has them, and as the twin does."""

    time: str
    dimensions: tuple[str, ...]
    names: tuple[str, ...]
    eps: tuple[Any, ...]
    orders: tuple[Any, ...]


BY_DISTANCE = Asked(
    "mindist",
    ("t.x MINDIST h.x WITHIN 4", "t.y MINDIST h.y WITHIN 2.5"),
    ("x", "y"),
    (4, 2.5),
    ("mindist", "mindist"),
)
BY_VALUE = {
    "left outer": Asked(
        "youngest",
        ("t.tags SUBSET h.tags", "t.x gap h.x WITHIN 7"),
        ("tags", "x"),
        (None, 7),
        ("subset", ORDERS["gap"][1]),
    ),
    "right outer": Asked(
        "mindist", ("t.x both h.x", "t.y ratio h.y"), ("x", "y"), (None, None),
        (ORDERS["both"][1], ORDERS["ratio"][1]),
    ),
    "full outer": Asked(
        "youngest", ("t.tags SUBSET h.tags", "t.x both h.x"), ("tags", "x"), (None, None),
        ("subset", ORDERS["both"][1]),
    ),
}  # fmt: skip


def _draws() -> dict[str, Any]:
    return {
        "k": lambda r: draw_key(r, "bigint"),
        "x": lambda r: r.choice([None, *range(6)]),
        "y": lambda r: r.choice([None, float("nan"), 0.25, 1.0, 1.5, 4.0]),
        "tags": lambda r: r.choice(
            [None, [], [None], ["a"], ["b", "a"], ["b", "b"], ["c", None], [None, None, "a"]]
        ),
    }


def _as_rules(conditions: Iterable[OneSided]) -> tuple[tuple[int, Any], ...]:
    return tuple((one.side, one.holds) for one in conditions)


def _of(rows: Iterable[Row], case: int) -> list[Row]:
    return [row for row in rows if row["k"] == case]


def _as_rows(rows: Iterable[Row], *, keyed: bool, names: tuple[str, ...]) -> list[Row]:
    """Rows as the twin takes them."""
    return [
        {**row, "y": tuple(row[name] for name in names), "k": (row["k"],) if keyed else ()}
        for row in rows
    ]
