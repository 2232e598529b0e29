"""Random questions that join streams with tables, as Windrow and as DuckDB read them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

MOST_ROWS = 9
LAST = 20
VALUES = (0, 1, 2, 3, None)
STREAM = pa.schema([("id", pa.int64()), ("k", pa.int64()), ("x", pa.int32()), ("ts", pa.int64())])
TABLES = {
    "t": pa.schema([("k", pa.int64()), ("j", pa.int64()), ("y", pa.int32())]),
    "u": pa.schema([("j", pa.int64()), ("z", pa.float64())]),
}
JOINS = ("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
ON_T = (
    "{s}.k = t.k",
    "{s}.k = t.k AND {s}.x < t.y",
    "{s}.k + 1 = t.k AND t.y > 0",
    "{s}.k IS NOT DISTINCT FROM t.k",
    "{s}.x < t.y",
    "{s}.k = t.k AND {s}.x > 0",
)
ON_ROWS = ("TRUE", "FALSE", "NULL", "{s}.x > 1", "{s}.k IS NULL", "{s}.x > 1 OR {s}.k = 0")
"""Conditions that read no column of a table: how many rows it has decides all the same."""

ON_U = ("{s}.k = u.j", "u.z > {s}.x", "{s}.x = u.z AND {s}.k <> u.j")
BETWEEN = ("a.k = t.k AND t.j = b.k", "a.x + b.x = t.y", "a.k = t.k AND b.x <> t.y")


@dataclass(frozen=True)
class TableCase:
    """A question over streams a and b and tables t and u.

    Attributes:
        shown: the SELECT list.
        froms: FROM and WHERE, with {a} and {b} where the streams stand, {within} where the window
            of a join that is not inner does, and {where} where another condition may.
        window: of the streams.
        streams: the batches of each stream.
        tables: the tables.
    """

    shown: str
    froms: str
    window: int
    streams: dict[str, list[pa.RecordBatch]]
    tables: dict[str, pa.Table]

    @property
    def names(self) -> list[str]:
        """The streams that it reads."""
        return [name for name in "ab" if "{" + name + "}" in self.froms]

    def rows(self, name: str) -> pa.Table:
        """All rows of a stream."""
        return pa.Table.from_batches(self.streams[name], STREAM)

    def asked(self) -> str:
        """The question for Windrow."""
        froms = self.froms.format(a="a", b="b", within="", where="")
        return f"SELECT {self.shown} {froms} WINDOW = {self.window}"

    def asked_of_duckdb(self) -> str:
        """The question for DuckDB, the window as a condition."""
        within = f" AND abs(a.ts - b.ts) <= {self.window}"
        has_both = len(self.names) > 1
        is_on = "{within}" in self.froms
        froms = self.froms.format(
            a="a", b="b", within=within, where=within if has_both and not is_on else ""
        )
        return f"SELECT {self.shown} {_in_duckdb(froms)}"

    def counted(self) -> str:
        """How many rows there are by x of a, for Windrow."""
        froms = self.froms.format(
            a=f"a [RANGE {self.window}]", b=f"b [RANGE {self.window + 2}]", within="", where=""
        )
        return f"SELECT a.x AS x, COUNT(*) AS n {froms} GROUP BY a.x"

    def counted_by_duckdb(self, instant: int) -> str:
        """The same over what is alive at an instant, for DuckDB."""
        alive = "(SELECT * FROM {0} WHERE ts <= {1} AND {1} <= ts + {2}) {0}"
        froms = self.froms.format(
            a=alive.format("a", instant, self.window),
            b=alive.format("b", instant, self.window + 2),
            within="",
            where="",
        )
        return f"SELECT a.x AS x, COUNT(*) AS n {_in_duckdb(froms)} GROUP BY a.x"


def _in_duckdb(froms: str) -> str:
    return froms.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")


def draw_table_case(random: Random) -> TableCase:
    """A case: one stream or two, t and perhaps u, joined in any order and by any kind."""
    streams = {name: _stream(random) for name in "ab"}
    tables = {
        name: pa.Table.from_pylist(
            [
                {field.name: _value(random, field.type) for field in schema}
                for _ in range(random.randrange(6))
            ],
            schema=schema,
        )
        for name, schema in TABLES.items()
    }
    froms, seen = _from(random)
    shown = [f"{name}.id AS {name}_id" for name in seen if name in "ab"]
    if not random.randrange(3):  # of the tables, nothing may be read
        shown = random.choice((shown, ["1 AS one"]))
        seen = [name for name in seen if name in "ab"]
    shown += ["t.y + 1 AS ty", "t.j AS tj"] if "t" in seen else []
    shown += ["u.z"] if "u" in seen else []
    wheres = ["true", "a.x <> 3"]
    wheres += ["t.y > 1", "t.y IS NULL OR a.x = 1", "t.j = a.k"] if "t" in seen else []
    wheres += ["u.z < 3", "u.z IS NULL"] if "u" in seen else []
    where = " AND ".join(f"({random.choice(wheres)})" for _ in range(2))
    return TableCase(
        ", ".join(shown),
        f"{froms} WHERE {where}{{where}}",
        random.choice((3, 0, 8)),
        streams,
        tables,
    )


def _from(random: Random) -> tuple[str, list[str]]:
    """FROM, and what is in reach after it."""
    parts, seen = ["FROM {a}"], ["a"]
    steps = random.choice(
        (["t"], ["t", "u"], ["b", "t"], ["t", "b"], ["t", "b", "u"], ["b", "u", "t"])
    )
    for step in steps:
        if step == "b":
            kind = random.choice(("JOIN", "LEFT JOIN"))
            on = random.choice(["a.k = b.k", "a.x <= b.x", *(["t.j = b.k"] if "t" in seen else [])])
            parts.append(f"{kind} {{b}} ON {on}" + ("{within}" if kind != "JOIN" else ""))
            seen.append("b")
            continue
        if not random.randrange(8):
            parts.append(f"CROSS JOIN {step}")
            seen.append(step)
            continue
        kind = random.choice(JOINS)
        stream = random.choice([name for name in seen if name in "ab"])
        choices = [on.format(s=stream) for on in (ON_T if step == "t" else ON_U) + ON_ROWS]
        choices += BETWEEN if step == "t" and "b" in seen else ()
        choices += ["t.j = u.j"] if step == "u" and "t" in seen else []
        parts.append(f"{kind} {step} ON {random.choice(choices)}")
        if kind in {"JOIN", "LEFT JOIN"}:
            seen.append(step)
    return " ".join(parts), seen


def _stream(random: Random) -> list[pa.RecordBatch]:
    """Rows in the order of time, cut into batches."""
    times = sorted(random.randrange(LAST) for _ in range(random.randrange(1, MOST_ROWS)))
    rows = [
        {"id": n, "k": random.choice(VALUES), "x": random.choice(VALUES), "ts": at}
        for n, at in enumerate(times)
    ]
    cut = random.randrange(len(rows) + 1)
    return [pa.RecordBatch.from_pylist(part, STREAM) for part in (rows[:cut], rows[cut:])]


def _value(random: Random, type_: pa.DataType) -> Any:
    value = random.choice(VALUES)
    return float(value) if value is not None and pa.types.is_floating(type_) else value
