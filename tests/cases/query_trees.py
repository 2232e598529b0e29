"""Random trees of queries, and their changelogs by asking DuckDB at every instant.

Every relation of a tree has the columns k and x, so that any may stand where another does. DuckDB
is asked once: there every relation carries the instant `T` beside its columns, a stream joins the
instants at which its tuples are alive, and what is grouped, compared or joined is so within `T`.

    windrow   SELECT k, x FROM a [RANGE 5]
    DuckDB    SELECT T, k, x FROM instants JOIN a ON a.ts <= T AND T <= a.ts + 5
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Any

import pyarrow as pa
from oracle import asked_of_duckdb

from cases.base import Bag, Case, Stream, draw_batches, draw_rows

WINDOWS = (5, 0, 2, 11)
LAST = 30
"""The last instant that is asked about: by then all that expires has done so."""


TABLES = {"names": pa.table({"k": [1, 2, 2, None], "y": [7, 8, 9, 0]})}


@dataclass(frozen=True)
class Tree:
    """A query as Windrow and as DuckDB read it.

    `is_plain`: it is no changelog by itself, and EMIT CHANGES makes it one.
    """

    sql: str
    oracle: str
    is_plain: bool = False


def draw_tree(
    random: Random, *, depth: int = 3, draw: Callable[[Random, int], Tree] | None = None
) -> Case:
    """A query tree over two streams, its changelog by asking at every instant.

    `draw`: draws the tree; None: of any kind.
    """
    streams = tuple(draw_stream(random, name) for name in ("a", "b"))
    tree = (draw or _relation)(random, depth)
    sql = f"{tree.sql} EMIT CHANGES" if tree.is_plain else tree.sql
    answer: Bag = Counter()
    due = {}
    for change in changes_by_instant(tree.oracle, streams, TABLES):
        answer[change] += 1
        due[change] = change[-1]
    # The watermark of a query is that of the streams it reads.
    read = tuple(stream for stream in streams if f"FROM {stream.name} [" in sql)
    return Case(sql, read, answer, "bigint", due, TABLES)


def draw_stream(random: Random, name: str) -> Stream:
    """A stream of few keys and values, NULLs among them, at times from 0 to 11."""
    lateness = random.choice([0, 4])
    draws: dict[str, Any] = {
        "k": lambda r: r.choice([1, 2, None]),
        "x": lambda r: r.choice([0, 1, 2, None]),
    }
    rows = draw_rows(random, 9, (0, 12), draws)
    types = {"id": pa.int64(), "k": pa.int64(), "x": pa.int64()}
    return Stream(name, draw_batches(random, rows, lateness), lateness, "bigint", types)


def _relation(random: Random, depth: int) -> Tree:
    if depth == 0:
        return _leaf(random)
    return random.choice(KINDS)(random, depth)


def _leaf(random: Random) -> Tree:
    stream, window = random.choice(["a", "b"]), random.choice(WINDOWS)
    where = random.choice(["", " WHERE x > 0", " WHERE k IS NOT NULL"])
    x = random.choice(["x", "x + 1 AS x"])
    if not random.randrange(4):
        return _newest(stream, random.choice([1, 3]), random.choice(["", "k"]), where)
    return Tree(
        f"SELECT k, {x} FROM {stream} [RANGE {window}]{where}",
        f"SELECT T, k, {x} FROM instants JOIN {stream} ON ts <= T AND T <= ts + {window}{where}",
        is_plain=True,
    )


def _newest(stream: str, rows: int, key: str, where: str) -> Tree:
    """A count window: the newest rows of a stream, or of each key, in the order of (ts, id)."""
    by, within = (f"PARTITION BY {key} ", f", {key}") if key else ("", "")
    number = f"row_number() OVER (PARTITION BY T{within} ORDER BY ts DESC, id DESC)"
    newest = f"SELECT T, k, x, {number} AS n FROM instants JOIN {stream} ON ts <= T"
    return Tree(
        f"SELECT k, x FROM {stream} [{by}ROWS {rows}]{where}",
        f"SELECT T, k, x FROM (SELECT * FROM ({newest}) WHERE n <= {rows}){where}",
        is_plain=True,
    )


def _distinct(random: Random, depth: int) -> Tree:
    below = _relation(random, random.randrange(depth))
    return Tree(
        f"SELECT DISTINCT k, x FROM ({below.sql}) d",
        f"SELECT DISTINCT T, k, x FROM ({below.oracle}) d",
    )


def _set_operation(random: Random, depth: int) -> Tree:
    kind = random.choice(["EXCEPT ALL", "EXCEPT", "INTERSECT ALL", "INTERSECT", "UNION"])
    left, right = (_relation(random, random.randrange(depth)) for _ in range(2))
    return Tree(f"({left.sql}) {kind} ({right.sql})", f"({left.oracle}) {kind} ({right.oracle})")


def _union_all(random: Random, depth: int) -> Tree:
    left, right = (_relation(random, random.randrange(depth)) for _ in range(2))
    return Tree(
        f"SELECT k, x FROM ({left.sql}) l UNION ALL SELECT k, x FROM ({right.sql}) r",
        f"SELECT T, k, x FROM ({left.oracle}) l UNION ALL SELECT T, k, x FROM ({right.oracle}) r",
        is_plain=left.is_plain and right.is_plain,
    )


OF_VALUES = ("SUM(x)", "COUNT(x)", "MIN(x)", "MAX(x)", "COUNT(DISTINCT x)")
AGGREGATES = (*OF_VALUES, "COUNT(*)", "SUM(x) FILTER (WHERE x > 1)")


def _aggregate(random: Random, depth: int) -> Tree:
    below = _relation(random, random.randrange(depth))
    value = f"CAST({random.choice(AGGREGATES)} AS BIGINT) AS x"
    having = random.choice(["", " HAVING COUNT(*) > 1"])
    return Tree(
        f"SELECT k, {value} FROM ({below.sql}) g GROUP BY k{having}",
        f"SELECT T, k, {value} FROM ({below.oracle}) g GROUP BY T, k{having}",
    )


def _hidden_key(random: Random, depth: int) -> Tree:
    """Groups of which the answer does not show the key: a bag of rows that may look alike."""
    below = _relation(random, random.randrange(depth))
    values = "CAST(COUNT(x) AS BIGINT) AS k, CAST(COUNT(*) AS BIGINT) AS x"
    return Tree(
        f"SELECT {values} FROM ({below.sql}) g GROUP BY k",
        f"SELECT T, {values} FROM ({below.oracle}) g GROUP BY T, k",
    )


def _whole(random: Random, depth: int) -> Tree:
    """An aggregate without GROUP BY: one row from the first instant on at which there is one below."""
    below = _relation(random, random.randrange(depth))
    values = f"CAST(COUNT(k) AS BIGINT) AS k, CAST({random.choice(OF_VALUES)} AS BIGINT) AS x"
    since = f"SELECT T FROM instants WHERE T >= (SELECT min(T) FROM ({below.oracle}) b)"
    return Tree(
        f"SELECT {values} FROM ({below.sql}) whole",
        f"SELECT T, {values} FROM ({since}) i LEFT JOIN ({below.oracle}) g USING (T) GROUP BY T",
    )


def _join(random: Random, depth: int) -> Tree:
    left, right = (_relation(random, random.randrange(depth)) for _ in range(2))
    condition = random.choice(["l.k = r.k", "l.k = r.k AND l.x <= r.x"])
    return Tree(
        f"SELECT l.k, l.x + r.x AS x FROM ({left.sql}) l JOIN ({right.sql}) r ON {condition}",
        f"SELECT l.T, l.k, l.x + r.x AS x FROM ({left.oracle}) l JOIN ({right.oracle}) r"
        f" ON l.T = r.T AND {condition}",
        is_plain=left.is_plain and right.is_plain,
    )


def draw_set_of_join(random: Random, depth: int) -> Tree:
    """A set of what two or more windowed streams, or such sets, join to: few rows are different."""
    trees = [_windowed(random, "a"), _windowed(random, random.choice(["b", "a"]))]
    if depth > 1 and random.randrange(2):
        trees[1] = draw_set_of_join(random, depth - 1)
    left, right = trees
    on = random.choice(["l.k = r.k", "l.k = r.k AND l.x <= r.x", "l.x < r.x"])
    shown = random.choice(["l.k, l.x + r.x AS x", "r.k, l.x", "l.k, 1 AS x"])
    sql = f"FROM ({left.sql}) l JOIN ({right.sql}) r ON {on}"
    oracle = f"FROM ({left.oracle}) l JOIN ({right.oracle}) r ON l.T = r.T AND {on}"
    if random.randrange(3):
        return Tree(f"SELECT DISTINCT {shown} {sql}", f"SELECT DISTINCT l.T, {shown} {oracle}")
    kind, other = random.choice(["UNION", "EXCEPT", "INTERSECT"]), _windowed(random, "b")
    return Tree(
        f"(SELECT {shown} {sql}) {kind} ({other.sql})",
        f"(SELECT l.T, {shown} {oracle}) {kind} ({other.oracle})",
    )


def _windowed(random: Random, stream: str) -> Tree:
    window = random.choice([w for w in WINDOWS if w])
    where = random.choice(["", " WHERE x > 0"])
    return Tree(
        f"SELECT k, x FROM {stream} [RANGE {window}]{where}",
        f"SELECT T, k, x FROM instants JOIN {stream} ON ts <= T AND T <= ts + {window}{where}",
    )


def _with_table(random: Random, depth: int) -> Tree:
    below = _relation(random, random.randrange(depth))
    kind = random.choice(["JOIN", "LEFT JOIN"])
    text = f"{{}}r.k, coalesce(r.x, n.y) AS x FROM ({{}}) r {kind} names n ON r.k = n.k"
    return Tree(
        "SELECT " + text.format("", below.sql),
        "SELECT " + text.format("r.T, ", below.oracle),
        is_plain=below.is_plain,
    )


KINDS: tuple[Callable[[Random, int], Tree], ...] = (
    _distinct,
    _set_operation,
    _aggregate,
    _hidden_key,
    _whole,
    _join,
    _union_all,
    _with_table,
)


def changes_by_instant(
    oracle: str, streams: tuple[Stream, ...], still: dict[str, pa.Table]
) -> list[tuple[Any, ...]]:
    """(change type, k, x, instant), net at each instant; `still` are the tables that do not move."""
    tables = {stream.name: pa.concat_tables(stream.tables()) for stream in streams}
    tables |= still
    tables["instants"] = pa.table({"T": list(range(LAST + 1))})
    found = sorted(asked_of_duckdb(tables, oracle), key=lambda row: row[0])
    by_instant = {t: Counter(row[1:] for row in rows) for t, rows in groupby(found, lambda r: r[0])}
    changes = []
    before: Bag = Counter()
    for instant in range(LAST + 1):
        after = by_instant.get(instant, Counter())
        changes += [("delete", *row, instant) for row in (before - after).elements()]
        changes += [("insert", *row, instant) for row in (after - before).elements()]
        before = after
    return changes
