"""Bestmatch joins of every kind and order against the paper's SQL on DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from match_oracle import Order, best_pairs, least, shared
from sessions import session

from windrow.physical.algorithms import MATCH_ALGORITHMS, PAGED

pytestmark = pytest.mark.law

ROWS = 120
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("id", pa.int64()),
        ("k", pa.string()),
        ("x", pa.float64()),
        ("n", pa.int64()),
        ("tags", pa.list_(pa.string())),
    ]
)


@dataclass(frozen=True)
class Asked:
    """A dimension as a query has it, and as DuckDB computes it, with its limit."""

    text: str
    order: Order
    limit: str = "true"


def no_nan(side: str) -> str:
    return f"NOT isnan({side}.x)"


NEAR = f"abs(l.x - r.x) <= 1.5 AND {no_nan('l')} AND {no_nan('r')}"
DIMENSIONS = {
    "x": Asked("l.x MINDIST r.x WITHIN 1.5", least("abs(l.x - r.x)"), NEAR),
    "n": Asked("l.n MINDIST r.n", least("abs(l.n - r.n)")),
    "ts": Asked("l.ts MINDIST r.ts", least("abs(l.ts - r.ts)")),
    "age": Asked("l.ts YOUNGEST r.ts", least("-greatest(l.ts, r.ts)")),
    # DuckDB's list_intersect() of nothing and NULL is nothing, its greatest() leaves NULLs out.
    "tags": Asked(
        "l.tags SUBSET r.tags",
        shared("l.tags", "r.tags"),
        "l.tags IS NOT NULL AND r.tags IS NOT NULL",
    ),
    "short": Asked("l.n short_of r.n WITHIN 2", least("greatest(r.n - l.n, -1)"), "r.n - l.n <= 2"),
}


def draw_rows(random: Random) -> pa.Table:
    """Rows with ties, duplicates, NULLs, NaNs, and places on the borders of cells and of eps."""

    def draw(number: int) -> dict[str, object]:
        some = [0.0, 1.5, 3.0, 4.5, 6.0, *(random.uniform(0, 6) for _ in range(4))]
        return {
            "ts": random.randrange(100),
            "id": number,
            "k": random.choice(["a", "b", None]),
            "x": random.choice([None, float("nan"), *some]),
            "n": random.choice([None, *range(8)]),
            "tags": random.choice(
                [
                    None,
                    [],
                    [None],
                    ["a"],
                    ["b", "a"],
                    ["a", None, "c"],
                    ["c", "b", "a"],
                    ["d", "d"],
                    ["b", None, None],
                ]
            ),
        }

    rows = [draw(number) for number in range(ROWS)]
    twins = [{**row, "id": ROWS + row["id"]} for row in rows[:10]]
    return pa.Table.from_pylist([*rows, *twins], schema=SCHEMA)


@pytest.mark.parametrize("seed", range(12))
def test_the_answer_is_that_of_a_join_and_not_exists(seed):
    random = Random(seed)
    kind = ["left outer", "right outer", "full outer"][seed % 3]
    tables = {name: draw_rows(random) for name in ("l", "r")}
    names = random.sample(list(DIMENSIONS), random.randrange(1, 4))
    lo, hi = random.choice([(4, 4), (0, 9), (8, 3)])
    keyed, keep = random.random() < 0.5, random.random() < 0.5
    asked = [DIMENSIONS[name] for name in names]

    w = session(tables, time="ts", lateness=100)
    w.function(
        "short_of",
        lambda a, b: pc.max_element_wise(pc.subtract(b, a), -1),
        returns="bigint",
    )
    query = (
        f"SELECT l.id AS l, r.id AS r FROM l {kind} BESTMATCH JOIN r"
        f" ON {', '.join(one.text for one in asked)}"
        f" WHERE r.ts BETWEEN l.ts - {lo} AND l.ts + {hi}"
        + (" AND l.k = r.k" if keyed else "")
        + (" KEEP UNMATCHED" if keep else "")
    )
    usual = [name for name in MATCH_ALGORITHMS if name not in ("matwin-grid", *PAGED)]
    answer = w.sql(query, algorithm=random.choice(usual)).to_arrow()
    found = list(zip(*answer.to_pydict().values(), strict=True))

    condition = " AND ".join(
        [
            f"r.ts BETWEEN l.ts - {lo} AND l.ts + {hi}",
            *(["l.k = r.k"] if keyed else []),
            *(one.limit for one in asked),
        ]
    )
    expected = best_pairs(
        tables, condition, [one.order for one in asked], kind, keep_unmatched=keep
    )
    assert len(expected) > 50, query
    assert len(found) == len(set(found))
    assert set(found) == expected, query
