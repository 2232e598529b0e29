"""Bestmatch joins by the paper's SQL on DuckDB: NOT EXISTS a candidate that dominates, strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa

Pairs = set[tuple[object, object]]


@dataclass(frozen=True)
class Order:
    """One dimension: what is compared of a pair, and how; `{q}` is the pair that may be better."""

    value: str
    no_worse: str
    better: str


def least(value: str) -> Order:
    """Less is better."""
    return Order(value, "q.{0} <= p.{0}", "q.{0} < p.{0}")


def shared(left: str, right: str) -> Order:
    """More of what two arrays share is better; NULLs among their elements are left out."""
    return Order(
        f"list_distinct(list_intersect({left}, {right}))",
        "len(list_intersect(q.{0}, p.{0})) = len(p.{0})",
        "len(q.{0}) > len(p.{0})",
    )


def best_pairs(
    tables: Mapping[str, pa.Table],
    candidates: str,
    orders: list[Order],
    kind: str,
    *,
    keep_unmatched: bool = False,
) -> Pairs:
    """The ids of the best pairs of tables l and r, as DuckDB finds them.

    Args:
        tables: the rows of l and r, each with an id.
        candidates: the condition that makes a pair of l and r a candidate.
        orders: the dimensions.
        kind: "left outer", "right outer" or "full outer".
        keep_unmatched: whether rows without a candidate come with NULLs.
    """
    names = [f"d{number}" for number in range(len(orders))]
    values = ", ".join(f"{o.value} AS {name}" for o, name in zip(orders, names, strict=True))
    no_worse = " AND ".join(o.no_worse.format(n) for o, n in zip(orders, names, strict=True))
    better = " OR ".join(o.better.format(n) for o, n in zip(orders, names, strict=True))
    known = " AND ".join(f"{name} IS NOT NULL" for name in names)
    sides = {"left outer": "l", "right outer": "r", "full outer": "lr"}[kind]
    found: Pairs = set()
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, table in tables.items():
            connection.register(name, table)
        connection.execute(
            "CREATE TABLE pairs AS SELECT * FROM (SELECT l.id AS l_id, r.id AS r_id, "
            f"{values} FROM l JOIN r ON {candidates}) WHERE {known}"
        )
        for side in sides:
            own = f"{side}_id"
            found |= set(
                connection.execute(
                    "SELECT l_id, r_id FROM pairs AS p WHERE NOT EXISTS (FROM pairs AS q"
                    f" WHERE q.{own} = p.{own} AND {no_worse} AND ({better}))"
                ).fetchall()
            )
            if keep_unmatched:
                alone = connection.execute(
                    f"SELECT id FROM {side} WHERE id NOT IN (SELECT {own} FROM pairs)"
                ).fetchall()
                found |= {(row, None) if side == "l" else (None, row) for (row,) in alone}
    return found
