from __future__ import annotations

import pytest

from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.scan import Scan
from windrow.plan.nodes.window_aggregate import WindowAggregate
from windrow.plan.nodes.window_join import WindowJoin

HOUR = 3_600_000_000


def aggregate_of(query) -> WindowAggregate:
    return next(node for node in query.root.walk() if isinstance(node, WindowAggregate))


def shape(query) -> list[str]:
    return [type(node).__name__ for node in query.root.walk()]


def test_the_sliding_aggregate_of_the_readme(compiled):
    query = compiled(
        "SELECT store, SUM(price * quantity), COUNT(*) FROM sales [RANGE INTERVAL '1' HOUR]"
        " WHERE price > 4 GROUP BY store"
    )
    assert query.is_changelog
    assert shape(query) == ["Project", "WindowAggregate", "Filter", "Range", "Scan"]
    aggregate = aggregate_of(query)
    assert [(k.name, k.expr.spark) for k in aggregate.keys] == [("sales.store", "`sales.store`")]
    total, count = aggregate.aggregates
    assert (total.function, total.argument.spark) == ("sum", "`sales.price` * `sales.quantity`")
    assert (count.function, count.argument, count.type) == ("count", None, "bigint")
    names = [item.name for item in query.root.items]
    assert names == ["store", "SUM(price * quantity)", "COUNT(*)"]
    assert next(n for n in query.root.walk() if isinstance(n, Range)).ticks == HOUR


@pytest.mark.parametrize(
    ("call", "type_"),
    [
        ("SUM(CAST(x AS TINYINT))", "bigint"),
        ("SUM(x)", "bigint"),
        ("SUM(CAST(x AS BIGINT))", "bigint"),
        ("SUM(price)", "double"),
        ("SUM(CAST(price AS FLOAT))", "double"),
        ("SUM(CAST(x AS DECIMAL(10,2)))", "decimal(20,2)"),
        ("SUM(CAST(x AS DECIMAL(35,2)))", "decimal(38,2)"),
        ("AVG(x)", "double"),
        ("AVG(price)", "double"),
        ("AVG(CAST(x AS DECIMAL(10,2)))", "decimal(14,6)"),
        ("AVG(CAST(x AS DECIMAL(38,36)))", "decimal(38,38)"),
        ("COUNT(x)", "bigint"),
        ("COUNT(name)", "bigint"),
        ("COUNT(1)", "bigint"),
        ("COUNT(x, name)", "bigint"),
        ("COUNT(DISTINCT name)", "bigint"),
        ("COUNT(DISTINCT x, name)", "bigint"),
        ("SUM(DISTINCT x)", "bigint"),
        ("AVG(DISTINCT CAST(x AS DECIMAL(10,2)))", "decimal(14,6)"),
        ("MIN(name)", "string"),
        ("MAX(x)", "int"),
        ("MIN(CAST(price AS FLOAT))", "float"),
        ("MAX(CAST(x AS DECIMAL(35,2)))", "decimal(35,2)"),
        ("MIN(ts)", "timestamp"),
        ("MAX(DISTINCT CAST(ts AS DATE))", "date"),
        ("MIN(x > 1)", "boolean"),
        ("MEDIAN(x)", "double"),
        ("MEDIAN(CAST(x AS DECIMAL(35,2)))", "double"),
        ("STDDEV(x)", "double"),
        ("STDDEV_SAMP(price)", "double"),
        ("STDDEV_POP(CAST(x AS DECIMAL(10,2)))", "double"),
        ("VARIANCE(x)", "double"),
        ("VAR_SAMP(DISTINCT x)", "double"),
        ("VAR_POP(price)", "double"),
    ],
)
def test_results_have_sparks_types(compiled, call, type_):
    query = compiled(f"SELECT {call} AS v FROM a [RANGE INTERVAL 1 HOUR]")
    assert aggregate_of(query).aggregates[0].type == type_
    assert query.root.schema.fields[0].type == type_


@pytest.mark.parametrize(
    ("call", "function"),
    [
        ("STDDEV(x)", "stddev_samp"),
        ("VARIANCE(x)", "var_samp"),
        ("VAR_SAMP(x)", "var_samp"),
        ("VAR_POP(x)", "var_pop"),
        ("STDDEV_POP(x)", "stddev_pop"),
        ("MEDIAN(x)", "median"),
    ],
)
def test_an_aggregate_has_one_name_whatever_it_was_called_by(compiled, call, function):
    query = compiled(f"SELECT {call} AS v FROM a [RANGE INTERVAL 1 HOUR]")
    assert aggregate_of(query).aggregates[0].function == function


def test_distinct_values_count_once_and_have_the_same_least_and_greatest(compiled):
    query = compiled(
        "SELECT COUNT(DISTINCT x) AS n, MIN(DISTINCT x) AS m FROM a [RANGE INTERVAL 1 HOUR]"
    )
    assert [a.is_distinct for a in aggregate_of(query).aggregates] == [True, False]


def test_several_expressions_are_one_value_that_is_null_where_one_of_them_is(compiled):
    query = compiled(
        "SELECT COUNT(DISTINCT x, name) AS n, COUNT(x, name) AS m FROM a [RANGE INTERVAL 1 HOUR]"
    )
    distinct, plain = aggregate_of(query).aggregates
    assert (distinct.argument.text, plain.argument.text) == ("x, name", "x, name")
    assert distinct.argument.columns == plain.argument.columns == ("a.x", "a.name")
    known = "CASE WHEN NOT `a.x` IS NULL AND NOT `a.name` IS NULL THEN"
    assert distinct.argument.spark == f"{known} STRUCT(`a.x`, `a.name`) END"
    assert plain.argument.spark == f"{known} 1 END"


def test_an_aggregate_without_group_by_has_no_keys(compiled):
    query = compiled("SELECT COUNT(*) AS n FROM a [RANGE INTERVAL 1 HOUR]")
    assert aggregate_of(query).keys == ()
    assert query.is_changelog


def test_expressions_over_aggregates_are_computed_above(compiled):
    query = compiled(
        "SELECT k, SUM(price) / COUNT(*) AS mean, SUM(price) + k AS s"
        " FROM a [RANGE INTERVAL 1 HOUR] GROUP BY k"
    )
    assert [(a.function, a.name) for a in aggregate_of(query).aggregates] == [
        ("sum", "$agg0"),
        ("count", "$agg1"),
    ]
    assert [item.expr.spark for item in query.root.items] == [
        "`a.k`",
        "`$agg0` / `$agg1`",
        "`$agg0` + `a.k`",
    ]


@pytest.mark.parametrize("key", ["x % 3", "m", "2", "(x % 3)"])
def test_a_key_is_an_expression_an_alias_or_a_position(compiled, key):
    if key == "(x % 3)":
        sql = f"SELECT COUNT(*) AS n, (x % 3) AS m FROM a [RANGE INTERVAL 1 HOUR] GROUP BY {key}"
    else:
        sql = f"SELECT COUNT(*) AS n, x % 3 AS m FROM a [RANGE INTERVAL 1 HOUR] GROUP BY {key}"
    aggregate = aggregate_of(compiled(sql))
    assert [k.name for k in aggregate.keys] == ["$group0"]
    assert aggregate.keys[0].expr.columns == ("a.x",)


def test_a_column_goes_before_an_alias_of_the_same_name(compiled):
    query = compiled("SELECT x, x AS k, COUNT(*) AS n FROM a [RANGE INTERVAL 1 HOUR] GROUP BY x")
    assert [k.name for k in aggregate_of(query).keys] == ["a.x"]


def test_group_by_all_takes_what_is_not_aggregated(compiled):
    query = compiled("SELECT k, x, COUNT(*) AS n FROM a [RANGE INTERVAL 1 HOUR] GROUP BY ALL")
    assert [k.name for k in aggregate_of(query).keys] == ["a.k", "a.x"]


def test_having_filters_above_the_aggregate(compiled):
    query = compiled(
        "SELECT k, SUM(x) AS s FROM a [RANGE INTERVAL 1 HOUR] GROUP BY k"
        " HAVING COUNT(*) > 2 AND s < 10"
    )
    above = query.root.input
    assert isinstance(above, Filter)
    assert isinstance(above.input, WindowAggregate)
    assert above.predicates[0].columns == ("$agg1", "$agg0")


def test_a_uniform_window_gives_a_range_to_every_stream_without_one(compiled):
    query = compiled(
        "SELECT a.name, COUNT(*) AS n FROM a [RANGE INTERVAL 2 HOURS], b WHERE a.name = b.name"
        " WINDOW = INTERVAL 1 HOUR GROUP BY a.name"
    )
    join = next(node for node in query.root.walk() if isinstance(node, WindowJoin))
    assert [node.ticks for node in join.inputs if isinstance(node, Range)] == [2 * HOUR, HOUR]
    assert [(b.lo, b.hi) for b in join.graph.stated] == [(HOUR, HOUR), (UNBOUNDED_B, 2 * HOUR)]


UNBOUNDED_B = 2**62


def test_a_uniform_window_serves_a_single_stream(compiled):
    query = compiled("SELECT k, COUNT(*) AS n FROM a WINDOW = INTERVAL 1 HOUR GROUP BY k")
    assert shape(query) == ["Project", "WindowAggregate", "Range", "Scan"]


def test_pairwise_windows_beside_ranges_are_part_of_the_join(compiled):
    query = compiled(
        "SELECT a.name, COUNT(*) AS n FROM a [RANGE INTERVAL 1 HOUR], b [RANGE INTERVAL 1 HOUR]"
        " WHERE a.name = b.name AND b.ts >= a.ts GROUP BY a.name"
    )
    join = next(node for node in query.root.walk() if isinstance(node, WindowJoin))
    assert join.graph.upper == ((0, HOUR), (0, 0))


def test_a_derived_join_is_windowed_and_aggregated(compiled):
    query = compiled(
        "SELECT x.name, COUNT(*) AS n FROM (SELECT a.name, b.z FROM a, b WHERE a.name = b.name"
        " WINDOW = INTERVAL 5 SECONDS) x [RANGE INTERVAL 1 HOUR] WHERE x.z > 1 GROUP BY x.name"
    )
    assert shape(query) == [
        "Project", "WindowAggregate", "Filter", "Range", "Project", "WindowJoin", "Scan", "Scan",
    ]  # fmt: skip
    derived = next(n for n in query.root.walk() if isinstance(n, Range)).input
    assert isinstance(derived, Project)
    assert derived.schema.names == ("x.name", "x.z")


def test_the_window_of_a_derived_table_may_stand_before_its_alias(compiled):
    query = compiled(
        "SELECT COUNT(*) AS n FROM (SELECT k FROM a WHERE x > 1) [RANGE INTERVAL 1 HOUR] AS t"
    )
    assert shape(query) == ["Project", "WindowAggregate", "Range", "Project", "Filter", "Scan"]


def test_with_names_a_derived_table(compiled):
    query = compiled(
        "WITH big AS (SELECT k, price FROM a WHERE price > 10)"
        " SELECT k, SUM(price) AS s FROM big [RANGE INTERVAL 1 HOUR] GROUP BY k"
    )
    assert shape(query) == ["Project", "WindowAggregate", "Range", "Project", "Filter", "Scan"]


def test_a_filter_above_a_derived_aggregate_is_still_a_changelog(compiled):
    query = compiled(
        "SELECT k, n + 1 AS m FROM (SELECT k, COUNT(*) AS n FROM a [RANGE INTERVAL 1 HOUR]"
        " GROUP BY k) t WHERE n > 3"
    )
    assert query.is_changelog
    assert shape(query) == ["Project", "Filter", "Project", "WindowAggregate", "Range", "Scan"]


def test_a_plain_derived_table_joins_by_its_event_time(compiled):
    query = compiled(
        "SELECT t.k, b.z FROM (SELECT k, ts FROM a WHERE x > 1) t JOIN b ON t.k = b.z"
        " WINDOW (t, b) = INTERVAL 1 SECOND"
    )
    join = query.root.input
    assert isinstance(join, WindowJoin)
    assert isinstance(join.inputs[0], Project)
    assert isinstance(join.inputs[1], Scan)


def test_a_time_condition_on_a_derived_table_is_a_predicate(compiled):
    query = compiled(
        "SELECT t.k FROM (SELECT k, ts FROM a) t, b WHERE t.ts <= b.ts WINDOW = INTERVAL 1 SECOND"
    )
    assert [p.text for p in query.root.input.predicates] == ["t.ts <= b.ts"]


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ("SUM(x) FILTER (WHERE y > 1)", "CASE WHEN `a.y` > 1 THEN `a.x` END"),
        ("COUNT(*) FILTER (WHERE y > 1)", "CASE WHEN `a.y` > 1 THEN 1 END"),
        ("COUNT(1) FILTER (WHERE y > 1)", "CASE WHEN `a.y` > 1 THEN 1 END"),
        ("COUNT(DISTINCT x) FILTER (WHERE y > 1)", "CASE WHEN `a.y` > 1 THEN `a.x` END"),
    ],
)
def test_a_filtered_aggregate_reads_null_where_its_condition_does_not_hold(
    compiled, call, argument
):
    query = compiled(f"SELECT k, {call} + 1 FROM a [RANGE INTERVAL 1 HOUR] GROUP BY k")
    (aggregate,) = aggregate_of(query).aggregates
    assert aggregate.argument.spark == argument
    assert aggregate.is_distinct == ("DISTINCT" in call)
    assert query.root.items[1].name == f"{call} + 1"
