"""Random mixes of window clauses give the bounds that one computes by hand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import PlanError
from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.plan.catalog import StreamInfo
from windrow.plan.nodes.window_join import WindowJoin
from windrow.plan.windows import UNBOUNDED, WindowGraph
from windrow.schema import Field, Schema
from windrow.sql.compile import compile_query

pytestmark = pytest.mark.law

NAMES = ("p", "q", "r", "s")
COLUMNS = Schema((Field("t", "bigint"), Field("k", "int")))
CATALOG = {name: StreamInfo(name, COLUMNS, "t") for name in NAMES}
RESOLVER = DuckdbTypes()


@dataclass
class Mix:
    """A query's clauses, and the largest t(b) - t(a) they allow, written down beside them."""

    size: int
    ranges: dict[int, int]
    where: list[str]
    trailing: list[str]
    upper: list[list[int]]

    @property
    def sql(self) -> str:
        names = NAMES[: self.size]
        sources = [
            f"{name} [RANGE {self.ranges[i]}]" if i in self.ranges else name
            for i, name in enumerate(names)
        ]
        where = f" WHERE {' AND '.join(self.where)}" if self.where else ""
        return f"SELECT p.k FROM {', '.join(sources)}{where} {', '.join(self.trailing)}"

    def allow(self, a: int, b: int, most: int) -> None:
        self.upper[a][b] = min(self.upper[a][b], most)


def closed(upper: list[list[int]]) -> list[list[int]]:
    """All-pairs shortest paths, one edge longer at a time (not the way the plan does it)."""
    size = len(upper)
    best = [row[:] for row in upper]
    for _ in range(size):
        best = [
            [min(best[a][b], *(best[a][v] + upper[v][b] for v in range(size))) for b in range(size)]
            for a in range(size)
        ]
    return [[min(value, UNBOUNDED) for value in row] for row in best]


@st.composite
def mixes(draw: st.DrawFn) -> Mix:
    size = draw(st.integers(2, 4))
    width = st.integers(0, 20)
    upper = [[0 if a == b else UNBOUNDED for b in range(size)] for a in range(size)]
    ranges = draw(st.dictionaries(st.integers(0, size - 1), width, max_size=size))
    mix = Mix(size, ranges, [], [], upper)
    for a, ticks in ranges.items():
        for b in range(size):
            if a != b:
                mix.allow(a, b, ticks)
    if draw(st.booleans()):
        ticks = draw(width)
        mix.trailing.append(f"WINDOW = {ticks}")
        for a, b in combinations(range(size), 2):
            mix.allow(a, b, ticks)
            mix.allow(b, a, ticks)
    for _ in range(draw(st.integers(0, 5))):
        a, b = draw(st.permutations(range(size)))[:2]
        add_clause(mix, a, b, draw(st.integers(0, 7)), draw(width), draw(width))
    return mix


def add_clause(mix: Mix, a: int, b: int, form: int, x: int, y: int) -> None:
    left, right = NAMES[a], NAMES[b]
    if form == 0:
        mix.trailing.append(f"WINDOW ({left}, {right}) = {x}")
        lo, hi = x, x
    elif form == 1:
        mix.where.append(f"DWINDOW ({left}, {right}) = {x}")
        lo, hi = 0, x
    elif form == 2:
        mix.trailing.append(f"WINDOW ({left}, {right}) BETWEEN {x} PRECEDING AND {y} FOLLOWING")
        lo, hi = x, y
    elif form == 3:
        mix.where.append(f"{right}.t BETWEEN {left}.t - {x} AND {left}.t + {y}")
        lo, hi = x, y
    elif form == 4:
        mix.where.append(f"abs({left}.t - {right}.t) < {x + 1}")
        lo, hi = x, x
    elif form == 5:
        mix.where.append(f"{left}.t + {x} >= {right}.t")
        lo, hi = UNBOUNDED, x
    elif form == 6:
        mix.where.append(f"{x} > {right}.t - {left}.t")
        lo, hi = UNBOUNDED, x - 1
    else:
        mix.where.append(f"{right}.t - {left}.t >= {x}")
        lo, hi = -x, UNBOUNDED
    mix.allow(a, b, hi)
    mix.allow(b, a, lo)


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(mixes())
def test_a_mix_of_clauses_gives_the_bounds_written_by_hand(mix):
    expected = closed(mix.upper)
    contradicts = any(expected[a][a] < 0 for a in range(mix.size))
    unbounded = any(value >= UNBOUNDED for row in expected for value in row)
    if contradicts or unbounded:
        with pytest.raises(PlanError) as caught:
            compile_query(mix.sql, CATALOG, RESOLVER)
        assert contradicts == (caught.value.condition == "contradicting-windows"), mix.sql
        return
    graph = graph_of(compile_query(mix.sql, CATALOG, RESOLVER))
    assert [list(row) for row in graph.upper] == expected, mix.sql


def graph_of(query) -> WindowGraph:
    return next(node.graph for node in query.root.walk() if isinstance(node, WindowJoin))
