"""Random window joins of 2 to 6 streams as SQL: any connected graph, keys here, predicates there.

A stream is a list of batches with silences in between; its rows are out of order within its
lateness. The answer is the slow twin's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from twins.join import Bound, Equal, Row, window_join
from twins.theta import compared, either, plus

import windrow

NAMES = "abcdef"
MOST_STREAMS = len(NAMES)
SCHEMA = pa.schema([(name, pa.int64()) for name in ("id", "at", "k", "x", "y")])

Value = Callable[[str], Any]
Test = Callable[[Value], bool | None]


@dataclass(frozen=True)
class Stream:
    """Rows in order of arrival, cut into batches; None for a silence."""

    lateness: int
    parts: tuple[tuple[Row, ...] | None, ...]

    @property
    def rows(self) -> list[Row]:
        return [row for part in self.parts for row in part or ()]

    def items(self) -> list[Any]:
        return [windrow.NOTHING_NOW if part is None else _batch(part) for part in self.parts]


@dataclass(frozen=True)
class Question:
    """A join of the first streams of `NAMES`."""

    streams: tuple[Stream, ...]
    windows: tuple[tuple[str, Bound], ...]
    keys: tuple[tuple[int, int], ...]
    predicates: tuple[tuple[str, Test], ...]

    @property
    def names(self) -> str:
        return NAMES[: len(self.streams)]

    @property
    def sql(self) -> str:
        keys = [f"{NAMES[a]}.k = {NAMES[b]}.k" for a, b in self.keys]
        where = " AND ".join([*keys, *(f"({text})" for text, _ in self.predicates)])
        ids = ", ".join(f"{name}.id AS {name}_id" for name in self.names)
        clauses = [f"SELECT {ids} FROM {', '.join(self.names)}"]
        clauses += [f"WHERE {where}"] if where else []
        return " ".join([*clauses, " AND ".join(text for text, _ in self.windows)])

    def session(self) -> windrow.Session:
        made = windrow.Session()
        for name, stream in zip(self.names, self.streams, strict=True):
            data, late = stream.items(), stream.lateness
            made.stream(name, data, time="at", lateness=late, schema=SCHEMA)
        return made

    def answer(self) -> Counter[tuple[int, ...]]:
        """The identities of the rows of each combination, by the twin."""
        equalities = [Equal({a: "k", b: "k"}) for a, b in self.keys]
        found = window_join(
            [stream.rows for stream in self.streams], equalities, [own for _, own in self.windows]
        )
        return Counter(
            tuple(row.values["id"] for row in combination.rows)
            for combination in found
            if all(test(_values(combination.rows)) is True for _, test in self.predicates)
        )


@st.composite
def questions(draw: Any, most_streams: int, *, needs_key: bool = False) -> Question:
    """Any question that an algorithm takes: so many streams at most, and a key if it needs one."""
    size = draw(st.integers(2, most_streams))
    most_rows = {2: 8, 3: 7, 4: 6, 5: 5, 6: 4}[size]  # the twin takes every product
    streams = tuple(draw(_streams(most_rows)) for _ in range(size))
    pairs = [(draw(st.integers(0, right - 1)), right) for right in range(1, size)]
    fewest = 1 if needs_key else 0
    most = min(3, size - 1)  # more would leave nothing to join
    keys = draw(st.lists(st.sampled_from(pairs), min_size=fewest, max_size=most, unique=True))
    predicates = draw(st.lists(_predicates(size), max_size=2))
    return Question(streams, draw(_windows(size)), tuple(keys), tuple(predicates))


@st.composite
def _streams(draw: Any, most_rows: int) -> Stream:
    lateness = draw(st.sampled_from([0, 2, 5]))
    small = st.integers(-1, 2)
    rows = []
    for number in range(draw(st.integers(most_rows - 2, most_rows))):
        at = draw(st.integers(0, 7))
        k, x, y = draw(st.integers(0, 1)), draw(small), draw(small)
        values = {"id": number, "at": at, "k": k, "x": x, "y": y}
        if missing := draw(st.sampled_from(["", "", "", "", "", "", "k", "x"])):
            values[missing] = None
        rows.append((at + draw(st.integers(0, lateness)), Row(values, at)))
    # A row is displaced by its lateness at most: none comes after one that is more than that newer.
    arrived = [row for _, row in sorted(rows, key=lambda item: item[0])]
    parts: list[tuple[Row, ...] | None] = []
    while arrived:
        parts += [None] * draw(st.sampled_from([0, 0, 1, 2]))
        cut = draw(st.integers(1, 4))
        parts.append(tuple(arrived[:cut]))
        arrived = arrived[cut:]
    return Stream(lateness, tuple(parts))


@st.composite
def _windows(draw: Any, size: int) -> tuple[tuple[str, Bound], ...]:
    """A window along each edge of a random tree, and sometimes some more."""
    windows = [
        draw(
            _window(
                *draw(st.permutations([draw(st.integers(0, right - 1)), right])), widest=2 * size
            )
        )
        for right in range(1, size)
    ]
    for _ in range(draw(st.integers(0, 2)) if size > 2 else 0):
        # Wide enough for what the tree may demand: a graph that no rows can meet is refused.
        a, b = draw(st.permutations(range(size)))[:2]
        w = draw(st.integers(2 * size, 3 * size))
        windows.append((f"WINDOW ({NAMES[a]}, {NAMES[b]}) = {w}", Bound(a, b, w, w)))
    return tuple(windows)


@st.composite
def _window(draw: Any, a: int, b: int, widest: int) -> tuple[str, Bound]:
    pair, w, x = f"({NAMES[a]}, {NAMES[b]})", draw(st.integers(1, widest)), draw(st.integers(0, 2))
    kind = draw(st.sampled_from(["within", "directed", "asymmetric", "apart"]))
    if kind == "within":
        return f"WINDOW {pair} = {w}", Bound(a, b, w, w)
    if kind == "directed":
        return f"DWINDOW {pair} = {w}", Bound(a, b, 0, w)
    if kind == "asymmetric":
        return f"WINDOW {pair} BETWEEN {x} PRECEDING AND {w} FOLLOWING", Bound(a, b, x, w)
    ends = f"{x} FOLLOWING AND {x + w} FOLLOWING"
    return f"WINDOW {pair} BETWEEN {ends}", Bound(a, b, -x, x + w)


@st.composite
def _predicates(draw: Any, size: int) -> tuple[str, Test]:
    """A condition over two or three streams, and what it means."""
    p, q, *rest = draw(st.permutations(NAMES[:size]))
    op = draw(st.sampled_from(["<", "<=", ">=", "<>"]))
    c = draw(st.integers(-1, 1))
    forms: list[tuple[str, Test]] = [
        (f"{p}.x {op} {q}.x", lambda v: compared(v(f"{p}.x"), op, v(f"{q}.x"))),
        (f"{p}.x + {c} {op} {q}.y", lambda v: compared(plus(v(f"{p}.x"), c), op, v(f"{q}.y"))),
        (
            f"{p}.x + {q}.x {op} {c}",
            lambda v: compared(plus(v(f"{p}.x"), v(f"{q}.x")), op, c),
        ),
        (
            f"{p}.x {op} {q}.x OR {p}.y = {q}.y",
            lambda v: either(
                compared(v(f"{p}.x"), op, v(f"{q}.x")), compared(v(f"{p}.y"), "=", v(f"{q}.y"))
            ),
        ),
    ]
    if rest:
        r = rest[0]
        three = lambda v: compared(plus(v(f"{p}.x"), v(f"{q}.y")), op, v(f"{r}.x"))  # noqa: E731
        forms += [(f"{p}.x + {q}.y {op} {r}.x", three)] * 2
    return draw(st.sampled_from(forms))


def _values(rows: tuple[Row, ...]) -> Value:
    def value(name: str) -> Any:
        alias, column = name.split(".")
        return rows[NAMES.index(alias)].values[column]

    return value


def _batch(rows: tuple[Row, ...]) -> pa.RecordBatch:
    columns = {name: [row.values[name] for row in rows] for name in SCHEMA.names}
    return pa.record_batch(columns, schema=SCHEMA)
