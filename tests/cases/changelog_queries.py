"""Random queries over windowed streams whose answers are changelogs, with their plain SQL.

A query is asked twice: of Windrow, with its windows, and of DuckDB at one instant, over the tuples
that are alive there, without them. Between two instants at which a tuple comes or goes nothing
changes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import pyarrow as pa

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
NAMES = ("a", "b", "c")

_WINDOWS = re.compile(r"\[RANGE \d+\]|WINDOW = \d+|EMIT CHANGES")


@dataclass(frozen=True)
class ChangelogQuery:
    """A query, the batches of its streams, and how long a tuple of each is alive."""

    sql: str
    streams: Mapping[str, list[pa.Table]]
    windows: Mapping[str, int]
    lateness: int

    @property
    def plain_sql(self) -> str:
        """What is asked of the tuples alive: windows between two streams are conditions."""
        return _WINDOWS.sub("", self.sql)

    @property
    def instants(self) -> list[int]:
        """When a tuple comes or goes."""
        times = {name: self._times(name) for name in self.streams}
        comes = {t for own in times.values() for t in own}
        goes = {t + self.windows[name] + 1 for name, own in times.items() for t in own}
        return sorted(comes | goes)

    def _times(self, name: str) -> list[int]:
        return [t for table in self.streams[name] for t in table["ts"].to_pylist()]


def draw_streams(
    random: Random, names: tuple[str, ...], most_rows: int
) -> tuple[dict[str, list[pa.Table]], int]:
    """Batches of each stream, rows out of order by as much as the lateness, with ties and copies."""
    lateness = random.choice([0, 3])
    streams = {}
    for name in names:
        rows = [
            (
                random.randrange(10),
                random.choice(["x", "x", "x", "x", "y", None]),
                random.randrange(3),
            )
            for _ in range(random.choice([most_rows, most_rows - 1, most_rows // 2] * 4 + [0]))
        ]
        late = {n: row[0] + random.randrange(lateness + 1) for n, row in enumerate(rows)}
        order = sorted(range(len(rows)), key=late.__getitem__)
        cuts = sorted(random.randrange(len(rows) + 1) for _ in range(2))
        edges = [0, *cuts, len(rows)]
        parts = [order[a:b] for a, b in itertools.pairwise(edges)]
        streams[name] = [_table([rows[n] for n in part]) for part in parts]
    return streams, lateness


def _table(rows: list[tuple[int, str | None, int]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    arrays = [pa.array(own, field.type) for own, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def draw_emit_changes(random: Random) -> ChangelogQuery:
    """A selection of one stream, or a join of two or three, with EMIT CHANGES."""
    names = NAMES[: random.choice([2, 1, 3])]
    windows = {name: random.choice([8, 3, 12, 5, 8, 0]) for name in names}
    conditions = []
    pairs = list(itertools.pairwise(names))
    conditions += [f"{left}.k = {right}.k" for left, right in pairs if random.randrange(5)]
    conditions += [
        f"{left}.v {random.choice(['<=', '<>'])} {right}.v"
        for left, right in pairs
        if not random.randrange(3)
    ]
    if pairs and not random.randrange(3):
        # A window between two streams, beside those of their own, is a condition.
        conditions.append(f"abs(a.ts - b.ts) <= {random.choice([1, 4])}")
    if not random.randrange(3):
        conditions.append("a.v > 0")
    end = "EMIT CHANGES"
    froms = [f"{name} [RANGE {windows[name]}]" for name in names]
    if random.randrange(3) == 2:
        windows = dict.fromkeys(names, windows["a"])
        froms, end = list(names), f"WINDOW = {windows['a']} EMIT CHANGES"
    shown = random.choice(["a.k", "a.k, a.v", "a.v AS v, a.v + 1 AS w"])
    if pairs:
        shown = random.choice([shown, "a.k, b.v", "b.k, a.v AS x, b.v AS y"])
    source = f"{', '.join(froms)}{_where(conditions)}"
    if len(names) == 2 and not random.randrange(3):
        kind = random.choice(["LEFT", "FULL", "RIGHT", "SEMI", "ANTI"])
        shown = "a.k, a.v" if kind in {"SEMI", "ANTI"} else shown
        source = f"{froms[0]} {kind} JOIN {froms[1]} ON {' AND '.join(conditions or ['a.v = b.v'])}"
    streams, lateness = draw_streams(random, names, 8)
    return ChangelogQuery(f"SELECT {shown} FROM {source} {end}", streams, windows, lateness)


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _counts(name: str, window: str) -> str:
    return f"(SELECT k, COUNT(*) AS n FROM {name} {window} GROUP BY k)"


def _sums(name: str, window: str) -> str:
    return f"(SELECT k, SUM(v) AS n FROM {name} {window} GROUP BY k HAVING COUNT(*) < 5)"


def _distinct(name: str, window: str) -> str:
    return f"(SELECT DISTINCT k, v AS n FROM {name} {window})"


CHANGELOGS: tuple[Callable[[str, str], str], ...] = (_counts, _sums, _distinct)
TOPS = (
    "SELECT {list} FROM {from_}",
    "SELECT {list} FROM {from_}",
    "SELECT DISTINCT {list} FROM {from_}",
    "SELECT q.i, COUNT(*) AS m FROM (SELECT {list} FROM {from_}) q GROUP BY q.i",
    "SELECT x.k, SUM(y.n) AS s, COUNT(*) AS m FROM {from_} GROUP BY x.k",
    # Rows of a join of changelogs, which have ends and signs, joined again.
    "SELECT q.i, r.n FROM (SELECT x.k AS i FROM {from_}) q, {again} r WHERE q.i = r.k",
)


def draw_snapshot_join(random: Random) -> ChangelogQuery:
    """A join of two or three relations of which one or more are changelogs, perhaps nested."""
    size = random.choice([2, 2, 3])
    names = NAMES[:size]
    windows = {name: random.choice([8, 3, 12, 5, 8, 0]) for name in names}
    aliases = ("x", "y", "z")[:size]
    kinds = [random.randrange(len(CHANGELOGS) + 1) for _ in names]
    if all(kind == len(CHANGELOGS) for kind in kinds):
        kinds[0] = 0
    froms = []
    for name, alias, kind in zip(names, aliases, kinds, strict=True):
        window = f"[RANGE {windows[name]}]"
        if kind < len(CHANGELOGS):
            froms.append(f"{CHANGELOGS[kind](name, window)} {alias}")
        else:
            plain = f"(SELECT k, v AS n FROM {name})"
            froms.append(f"{plain} {alias} {window}")
    pairs = list(itertools.pairwise(aliases))
    conditions = [f"{left}.k = {right}.k" for left, right in pairs if random.randrange(5)]
    conditions += [f"{left}.n <= {right}.n" for left, right in pairs if not random.randrange(4)]
    listed = random.choice(["x.k AS i, y.n AS j", "x.n AS i", "y.k AS i, x.n AS j, y.n AS l"])
    source = f"{', '.join(froms)}{_where(conditions)}"
    again = _counts("a", f"[RANGE {windows['a']}]")
    sql = random.choice(TOPS).format(list=listed, from_=source, again=again)
    streams, lateness = draw_streams(random, names, 7)
    return ChangelogQuery(sql, streams, windows, lateness)
