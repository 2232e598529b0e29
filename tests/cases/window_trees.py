"""Random trees of queries whose windows lie anywhere: inside, outside, and between derived tables.

As in `query_trees`, DuckDB is asked once, every relation with the instant `T` beside its columns k
and x. Where rows have an event time it carries that too, as `ev`, for windows between relations:

    windrow   FROM (..) l JOIN (..) r ON l.k = r.k WINDOW (l, r) = 3
    DuckDB    FROM (..) l JOIN (..) r ON l.T = r.T AND l.k = r.k AND abs(r.ev - l.ev) <= 3

A relation that has rows and no `T` yet, a plain join, gets it by a window outside of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa

from cases.base import Bag, Case, Stream
from cases.query_trees import changes_by_instant, draw_stream

WINDOWS = (5, 0, 2, 11)
NEVER = 2**63 - 1
PLACES = (0, 0, 0, NEVER - 12, -(2**63) + 1)
"""Where the streams lie in time: the last two, beside the ends of it."""

TABLES = {
    "names": pa.table({"k": [1, 2, 2, None], "y": [7, 8, 9, 0]}),
    "nothing": pa.table({"k": pa.array([], pa.int64()), "y": pa.array([], pa.int64())}),
}
CONDITIONS = (
    "{0}.x > 0",
    "NOT {0}.x > 1",
    "{0}.x > 1 OR {0}.k = 1",
    "{0}.k IS NULL",
    "NOT ({0}.x > 0 AND {0}.k IS NOT NULL)",
    "CASE WHEN {0}.x > 0 THEN {0}.k = 1 ELSE {0}.x IS NULL END",
)
VALUES = (
    "{0}.x",
    "{0}.x + 1",
    "1",
    "CASE WHEN {0}.k = 1 OR {0}.x > 1 THEN 0 ELSE {0}.x END",
    "coalesce({0}.x, 3) - 1",
)
MATCHES = (
    "l.k = r.k",
    "l.k = r.k AND l.x <= r.x",
    "l.x < r.x",
    "l.k = r.k AND (l.x > 0 OR r.x > 0)",
)


@dataclass(frozen=True)
class Tree:
    """A query as Windrow and as DuckDB read it.

    Attributes:
        sql: for Windrow.
        oracle: for DuckDB.
        is_timed: whether its rows have event times that windows are measured from.
        ends: whether its rows end by windows alone: it is no changelog by itself.
        alive: how many ticks after it came a row is alive at most.
        delay: how many ticks its changes may trail the watermark: rows of an outer join wait until
            no match can follow.
    """

    sql: str
    oracle: str
    is_timed: bool = True
    ends: bool = True
    alive: int = 0
    delay: int = 0

    @property
    def time(self) -> str:
        """The column of DuckDB's with the event time, to be listed."""
        return "ev" if self.is_timed else "NULL AS ev"


def draw_window_tree(
    random: Random, *, depth: int = 3, places: Sequence[int] = PLACES, pasted: bool = False
) -> Case:
    """A tree over two streams, its changelog by asking at every instant.

    Args:
        random: what it is drawn from.
        depth: of its derived tables.
        places: where its streams may lie in time.
        pasted: whether conditions stand in the arguments of COUNT, too.
    """
    streams = tuple(draw_stream(random, name) for name in ("a", "b"))
    place = random.choice(places)
    tree = _top(random, depth, pasted=pasted)
    sql = f"{tree.sql} EMIT CHANGES" if tree.ends else tree.sql
    answer: Bag = Counter()
    due = {}
    for change in changes_by_instant(f"SELECT T, k, x FROM ({tree.oracle})", streams, TABLES):
        instant = change[-1] + place
        if instant < NEVER:
            answer[*change[:-1], instant] += 1
            due[*change[:-1], instant] = instant + tree.delay
    read = set(re.findall(r"\b([ab]) \[", sql))
    moved = tuple(_moved(stream, place) for stream in streams if stream.name in read)
    return Case(sql, moved, answer, "bigint", due, TABLES)


def _moved(stream: Stream, place: int) -> Stream:
    batches = tuple(
        tuple({**row, "t": row["t"] + place} for row in batch) for batch in stream.batches
    )
    return replace(stream, batches=batches)


def _top(random: Random, depth: int, *, pasted: bool) -> Tree:
    """What ends, or a changelog of it, or a join of both."""
    below = _ending(random, depth)
    kind = random.randrange(6)
    if kind < 2:
        return below
    if kind == 2:
        return _changelog(below, f"DISTINCT k, {random.choice(VALUES).format('g')} AS x", "")
    if kind == 3:
        other = _ending(random, depth - 1)
        name = random.choice(["EXCEPT ALL", "UNION", "INTERSECT"])
        sides = [f"(SELECT T, k, x FROM ({tree.oracle}))" for tree in (below, other)]
        return Tree(
            f"({below.sql}) {name} ({other.sql})",
            f" {name} ".join(sides),
            is_timed=False,
            ends=False,
            delay=max(below.delay, other.delay),
        )
    if kind == 4:
        grouped = _grouped(random, below, pasted=pasted)
        other = _ending(random, depth - 1)
        return _inner(random, grouped, other)
    return _grouped(random, below, pasted=pasted)


def _grouped(random: Random, below: Tree, *, pasted: bool) -> Tree:
    value = random.choice(["COUNT(*)", "SUM(x)", "MAX(x)", "COUNT(DISTINCT x)"])
    oracle = value
    if pasted and random.randrange(2):
        value, both = "COUNT(k, NOT x > 1)", "CASE WHEN k IS NOT NULL AND x IS NOT NULL THEN {} END"
        oracle = f"COUNT({both.format(1)})"
        if random.randrange(2):
            value = value.replace("COUNT(", "COUNT(DISTINCT ")
            oracle = f"COUNT(DISTINCT {both.format('k * 2 + (x > 1)::INT')})"
    return Tree(
        f"SELECT k, CAST({value} AS BIGINT) AS x FROM ({below.sql}) g GROUP BY k",
        f"SELECT T, k, CAST({oracle} AS BIGINT) AS x FROM ({below.oracle}) g GROUP BY T, k",
        is_timed=False,
        ends=False,
        delay=below.delay,
    )


def _changelog(below: Tree, shown: str, rest: str) -> Tree:
    return Tree(
        f"SELECT {shown} FROM ({below.sql}) g{rest}",
        f"SELECT DISTINCT T, {shown.removeprefix('DISTINCT ')} FROM ({below.oracle}) g{rest}",
        is_timed=False,
        ends=False,
        delay=below.delay,
    )


def _ending(random: Random, depth: int) -> Tree:
    """A tree whose rows end by windows alone."""
    if depth <= 0:
        return _leaf(random)
    return random.choice(KINDS)(random, depth - 1)


def _leaf(random: Random) -> Tree:
    stream, window = random.choice(["a", "b"]), random.choice(WINDOWS)
    where = _where(random, stream)
    x = random.choice(VALUES).format(stream)
    return Tree(
        f"SELECT k, {x} AS x FROM {stream} [RANGE {window}]{where}",
        f"SELECT T, k, {x} AS x, ts AS ev FROM instants JOIN {stream}"
        f" ON ts <= T AND T <= ts + {window}{where}",
        alive=window,
    )


def _where(random: Random, alias: str) -> str:
    if random.randrange(2):
        return ""
    return f" WHERE {random.choice(CONDITIONS).format(alias)}"


def _selected(random: Random, depth: int) -> Tree:
    below = _ending(random, depth)
    x, where = random.choice(VALUES).format("s"), _where(random, "s")
    return replace(
        below,
        sql=f"SELECT k, {x} AS x FROM ({below.sql}) s{where}",
        oracle=f"SELECT T, k, {x} AS x, {below.time} FROM ({below.oracle}) s{where}",
    )


def _union_all(random: Random, depth: int) -> Tree:
    sides = [_ending(random, depth) for _ in range(2)]
    shown = [f"SELECT T, k, x, {side.time} FROM ({side.oracle})" for side in sides]
    return Tree(
        " UNION ALL ".join(f"SELECT k, x FROM ({side.sql}) u" for side in sides),
        " UNION ALL ".join(shown),
        all(side.is_timed for side in sides),
        alive=max(side.alive for side in sides),
        delay=max(side.delay for side in sides),
    )


def _with_table(random: Random, depth: int) -> Tree:
    below = _ending(random, depth)
    table = random.choice(["names", "names", "nothing"])
    kind = random.choice(["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN"])
    on = random.choice(["r.k = n.k", "r.x < n.y", "TRUE", "FALSE", *CONDITIONS]).format("r")
    condition = "" if kind == "CROSS JOIN" else f" ON {on}"
    reads_table = kind in {"JOIN", "LEFT JOIN", "CROSS JOIN"} and random.randrange(2)
    x = "coalesce(n.y, r.x) AS x" if reads_table else "r.x"
    of_duckdb = kind.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")
    time = "r.ev" if below.is_timed else "NULL AS ev"
    return replace(
        below,
        sql=f"SELECT r.k, {x} FROM ({below.sql}) r {kind} {table} n{condition}",
        oracle=f"SELECT r.T, r.k, {x}, {time} FROM ({below.oracle}) r"
        f" {of_duckdb} {table} n{condition}",
    )


def _joined(random: Random, depth: int) -> Tree:
    return _inner(random, _ending(random, depth), _ending(random, depth))


def _inner(random: Random, left: Tree, right: Tree) -> Tree:
    condition = random.choice(MATCHES)
    window, within, _ = _between(random, left, right)
    is_timed = left.is_timed and right.is_timed
    time = "greatest(l.ev, r.ev) AS ev" if is_timed else "NULL AS ev"
    return Tree(
        f"SELECT l.k, l.x + r.x AS x FROM ({left.sql}) l JOIN ({right.sql}) r ON {condition}{window}",
        f"SELECT l.T, l.k, l.x + r.x AS x, {time} FROM ({left.oracle}) l JOIN ({right.oracle}) r"
        f" ON l.T = r.T AND {condition}{within}",
        is_timed,
        left.ends and right.ends,
        alive=min(left.alive, right.alive),
        delay=max(left.delay, right.delay),
    )


def _between(random: Random, left: Tree, right: Tree) -> tuple[str, str, tuple[int, int]]:
    """A window between two relations, or none, as Windrow and as DuckDB read it.

    And how many ticks after a left row a right one may come, and the other way round.
    """
    if not (left.is_timed and right.is_timed) or not random.randrange(2):
        return "", "", (left.alive, right.alive)
    width, other = random.choice([1, 0, 3, 8]), random.choice([0, 2])
    text, lo, hi = random.choice(
        [
            (f"WINDOW (l, r) = {width}", width, width),
            (f"DWINDOW (r, l) = {width}", width, 0),
            (f"WINDOW (l, r) BETWEEN {width} PRECEDING AND {other} FOLLOWING", width, other),
            (f"WINDOW = {width}", width, width),
        ]
    )
    within = f" AND r.ev - l.ev BETWEEN {-lo} AND {hi}"
    return f" {text}", within, (min(hi, left.alive), min(lo, right.alive))


KEPT = {"LEFT": (0,), "RIGHT": (1,), "FULL": (0, 1), "LEFT SEMI": (0,), "LEFT ANTI": (0,)}
"""Per kind of join, the sides of which rows come alone."""


def _outer(random: Random, depth: int) -> Tree:
    left, right = _ending(random, depth), _ending(random, depth)
    kind = random.choice(list(KEPT))
    condition = random.choice([*MATCHES, "l.k = r.k AND r.x > 0", "l.k = r.k AND NOT l.x > 1"])
    window, within, reach = _between(random, left, right)
    instant, shown = (
        "coalesce(l.T, r.T) AS T",
        "coalesce(l.k, r.k) AS k, coalesce(l.x, 0) - coalesce(r.x, 5) AS x",
    )
    of_duckdb = kind.removeprefix("LEFT ")  # as it calls semi and anti joins
    if of_duckdb in {"SEMI", "ANTI"}:
        instant, shown = "l.T", "l.k, l.x"
    sides = f"({left.oracle}) l {{}} JOIN ({right.oracle}) r"
    on = f"l.T = r.T AND {condition}{within}"
    first = f"SELECT {instant}, {shown}, NULL AS ev FROM {sides} ON {on}"
    oracle = first.format(of_duckdb)
    if kind == "FULL":  # DuckDB wants equalities alone there
        rows = f"SELECT r.T, r.k, r.x FROM ({right.oracle}) r ANTI JOIN ({left.oracle}) l ON {on}"
        other = f"SELECT T, k, 0 - coalesce(x, 5) AS x, NULL AS ev FROM ({rows})"
        oracle = f"{first.format('LEFT')} UNION ALL {other}"
    return Tree(
        f"SELECT {shown} FROM ({left.sql}) l {kind} JOIN ({right.sql}) r ON {condition}{window}",
        oracle,
        is_timed=False,
        alive=max((left.alive, right.alive)[side] for side in KEPT[kind]),
        delay=max(left.delay, right.delay) + max(reach[side] for side in KEPT[kind]),
    )


def _second_window(random: Random, depth: int) -> Tree:
    """A plain join inside, of which each row stays for a window from when it came."""
    first, then, outside = (random.choice(WINDOWS) for _ in range(3))
    names = ("a", random.choice(["b", "a"]))
    on = random.choice(["p.k = q.k", "p.x <= q.x"])
    joined = "SELECT p.k, p.x + q.x AS x{} FROM {}, {} WHERE {}"
    inside = joined.format("", f"{names[0]} [RANGE {first}] p", f"{names[1]} [RANGE {then}] q", on)
    plain = joined.format(
        ", greatest(p.ts, q.ts) AS ev", f"{names[0]} p", f"{names[1]} q",
        f"{on} AND q.ts - p.ts BETWEEN {-then} AND {first}",
    )  # fmt: skip
    return Tree(
        f"SELECT k, x FROM ({inside}) j [RANGE {outside}]",
        f"SELECT T, k, x, ev FROM instants JOIN ({plain}) j ON ev <= T AND T <= ev + {outside}",
        alive=outside,
    )


def _beside_streams(random: Random, depth: int) -> Tree:
    """A derived table joined with a stream whose window stands beside it."""
    left, stream = _ending(random, depth), random.choice(["b", "a"])
    window = random.choice(WINDOWS)
    alive = (
        f"SELECT T, k, x, ts AS ev FROM instants JOIN {stream} ON ts <= T AND T <= ts + {window}"
    )
    right = Tree(f"{stream} [RANGE {window}]", alive, alive=window)
    tree = _inner(random, left, right)
    return replace(tree, sql=tree.sql.replace(f"({right.sql}) r", f"{right.sql} r"))


KINDS: tuple[Callable[[Random, int], Tree], ...] = (
    _selected,
    _union_all,
    _with_table,
    _joined,
    _outer,
    _outer,
    _second_window,
    _beside_streams,
)
