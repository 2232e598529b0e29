"""Rewrite soundness: for random plans and data, no rule changes the answer."""

from __future__ import annotations

import random

import duckdb
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import expr, join, like, renamed, scan, stream
from twins.plan import rows_of

from windrow.optimize.planner import RULES, apply_rules
from windrow.plan.exprs import Named
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.window_aggregate import Aggregate, WindowAggregate
from windrow.plan.nodes.window_join import OuterWindowJoin
from windrow.plan.windows import Bound

pytestmark = pytest.mark.law

COLUMNS = ("k", "x", "y")


def info(name: str):
    return stream(name, {"ts": "bigint", "k": "int", "x": "int", "y": "int"})


@pytest.fixture(scope="module")
def tables():
    """Three small streams over few values, NULLs among them."""
    draw = random.Random(7)
    connection = duckdb.connect(config={"threads": 1})
    for name in ("a", "b", "c"):
        connection.execute(f"CREATE TABLE {name} (ts BIGINT, k INT, x INT, y INT)")
        rows = [
            [draw.randrange(20), *(draw.choice([None, 0, 1, 2]) for _ in COLUMNS)]
            for _ in range(25)
        ]
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)
    yield connection
    connection.close()


@st.composite
def inputs(draw, alias: str):
    """A stream, perhaps windowed, as a derived table, and filtered in places."""
    node = scan(info(alias))
    if draw(st.booleans()):
        node = Range(node, draw(st.integers(0, 8)))
    if draw(st.booleans()):
        sum_of_two = expr(f"{alias}.x + {alias}.y", "int")
        items = {f"{alias}.{name}": f"{alias}.{name}" for name in COLUMNS}
        # A derived table may swap names, so that pushing a filter must rename what it reads.
        swapped = {**items, f"{alias}.x": f"{alias}.y", f"{alias}.y": f"{alias}.x"}
        items = {**draw(st.sampled_from([items, swapped])), f"{alias}.s": sum_of_two}
        node = renamed(node, items)
    if draw(st.booleans()):
        node = Filter(node, tuple(draw(predicates(node.schema.names))))
    return node


@st.composite
def predicates(draw, names):
    """One to three comparisons between columns, or with a constant or a tricky string."""
    columns = [name for name in names if not name.endswith(".ts")]
    found = []
    for _ in range(draw(st.integers(1, 3))):
        left, right = draw(st.sampled_from(columns)), draw(st.sampled_from(columns))
        shape = draw(
            st.sampled_from(
                ["{0} = {1}", "{0} < 2", "{0} IS NULL OR {1} > 0", "'{0}' <> 'x' AND {0} >= 0"]
            )
        )
        found.append(expr(shape.format(left, right)))
    return found


@st.composite
def plans(draw):
    """A join of two or three inputs, filtered, then projected or aggregated."""
    names = ("a", "b", "c")[: draw(st.integers(2, 3))]
    sides = {name: draw(inputs(name)) for name in names}
    keys = draw(
        st.lists(
            st.sampled_from(["a.k = b.k", "a.x = b.k", "a.y <=> b.y", "b.x = a.x", "a.k = a.x"]),
            max_size=3,
            unique=True,
        )
    )
    bounds = [Bound(i, i + 1, draw(st.integers(0, 6)), 6) for i in range(len(names) - 1)]
    node = join(sides, ",".join(keys), *bounds)
    if draw(st.booleans()):
        node = Filter(node, tuple(draw(predicates(node.schema.names))))
    if draw(st.booleans()):
        return renamed(node, {"one": "a.k", "two": expr("a.x + b.y", "int")})
    aggregates = (
        Aggregate("sum", expr("a.x * 2", "int"), "g.total", "bigint"),
        Aggregate("count", None, "g.n", "bigint"),
        Aggregate("sum", expr("a.k", "int"), "g.k_sum", "bigint"),
    )
    key = Named("b.k", expr("b.k % 2", "int")) if draw(st.booleans()) else None
    grouped = WindowAggregate(Range(node, 9), (key,) if key else (), aggregates)
    having = Filter(grouped, (expr("g.n > 1"),))
    return renamed(having, {"total": "g.total", **({"key": "b.k"} if key else {})})


@st.composite
def outer_plans(draw):
    """A join of two inputs that is not inner, with conditions of its own and filters above."""
    sides = {name: draw(inputs(name)) for name in ("a", "b")}
    keys = draw(
        st.lists(
            st.sampled_from(["a.k = b.k", "a.x = b.k", "a.y <=> b.y", "b.x = a.x", "a.k = a.x"]),
            max_size=3,
            unique=True,
        )
    )
    both = [name for side in sides.values() for name in side.schema.names]
    node = like(
        join(sides, ",".join(keys), Bound(0, 1, draw(st.integers(0, 6)), draw(st.integers(0, 6)))),
        OuterWindowJoin,
        kind=draw(st.sampled_from(["left", "right", "full", "semi", "anti"])),
        predicates=tuple(draw(predicates(both))) if draw(st.booleans()) else (),
    )
    if draw(st.booleans()):
        node = Filter(node, tuple(draw(predicates(node.schema.names))))
    shown = [name for name in node.schema.names if draw(st.booleans())]
    return renamed(node, {f"out{i}": name for i, name in enumerate(shown)})


def assert_all_rules_keep_the_answer(tables, plan, instant=0):
    expected = rows_of(plan, tables, instant)
    for rule in RULES:
        changed = rule(plan)
        # To ask DuckDB the same question again would show nothing.
        assert changed == plan or rows_of(changed, tables, instant) == expected, rule.__name__
    final = apply_rules(plan)
    assert rows_of(final, tables, instant) == expected
    assert final.schema == plan.schema


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(plan=outer_plans())
def test_no_rule_changes_the_answer_of_an_outer_semi_or_anti_join(tables, plan):
    assert_all_rules_keep_the_answer(tables, plan)


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(plan=plans(), instant=st.integers(0, 25))
def test_no_rule_and_not_all_together_change_the_answer(tables, plan, instant):
    assert_all_rules_keep_the_answer(tables, plan, instant)
