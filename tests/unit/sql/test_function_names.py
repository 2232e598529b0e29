"""Functions by name: what is computed, what is refused, and what the engines themselves say."""

from __future__ import annotations

from time import sleep

import duckdb
import pyarrow as pa
import pytest
from sessions import session
from sqlglot import exp

import windrow
from windrow.errors import BindError, UnsupportedError, WindrowError
from windrow.operators.expressions.duckdb_engine import connect
from windrow.operators.expressions.evaluate import DuckdbTypes, called, duckdb_kinds
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.exprs import Expr
from windrow.schema import Field, Schema
from windrow.sql.grammar.dialect import WindrowParser
from windrow.sql.grammar.functions import (
    DUCKDB,
    OTHER_AGGREGATES,
    ROW_MAKERS,
    VOLATILE,
    WINDOW_FUNCTIONS,
    is_volatile,
)

EVERYWHERE = (
    "SELECT {} AS v FROM s [RANGE 5]",
    "SELECT x + coalesce({}, 1) AS v FROM s",
    "SELECT x FROM s WHERE {} > 1",
    "SELECT x FROM s [RANGE 5] GROUP BY x, {}",
    "SELECT x FROM s [RANGE 5] GROUP BY x HAVING {} > 1",
    "SELECT SUM(x) FILTER (WHERE {} > 1) AS v FROM s [RANGE 5]",
    "SELECT COUNT(x, {}) AS v FROM s [RANGE 5]",
    "SELECT s.x FROM s JOIN r ON s.x = {} WINDOW = 5",
    "SELECT s.x FROM s LEFT JOIN d ON s.x = {}",
    "SELECT s.x FROM s LEFT OUTER BESTMATCH JOIN r ON s.x MINDIST {} WINDOW = 5",
    "SELECT s.x FROM s ASOF JOIN r MATCH_CONDITION (s.t >= r.t) ON s.x = {}",
    "SELECT q.v FROM (SELECT {} AS v FROM s) q",
    "SELECT x FROM s ORDER BY {}",
)


def streams_and_table() -> windrow.Session:
    parts = [
        pa.table({"x": [1], "b": [True], "t": [0]}),
        pa.table({"x": [3, 10], "b": [False, None], "t": [5, 5]}),
    ]
    return session({"s": parts, "r": parts}, time="t", tables={"d": parts[0].select(["x", "b"])})


@pytest.fixture(scope="module")
def asked() -> windrow.Session:
    return streams_and_table()


@pytest.mark.parametrize("query", EVERYWHERE)
def test_what_is_no_value_of_a_row_is_refused_by_name_in_every_clause(asked, query):
    names = sorted(OTHER_AGGREGATES | WINDOW_FUNCTIONS | ROW_MAKERS)
    for name in names if query in EVERYWHERE[:3] else names[EVERYWHERE.index(query) :: 12]:
        with pytest.raises(WindrowError) as raised:
            asked.sql(query.format(f"{name}(x)"))
        assert raised.value.span is not None or raised.value.condition == "syntax", name


@pytest.mark.parametrize("query", EVERYWHERE[2:4] + EVERYWHERE[5:11])
def test_a_computed_aggregate_is_refused_where_one_row_is_looked_at(asked, query):
    for name in sorted(AGGREGATES):
        with pytest.raises(WindrowError):
            asked.sql(query.format(f"{name}(s.x)"))


def test_aggregates_of_one_meaning_have_one_answer():
    both = {
        "mean(x)": "AVG(x)",
        "std(x)": "STDDEV(x)",
        "count_if(x > 1)": "COUNT(CASE WHEN x > 1 THEN 1 END)",
        "countif(b)": "COUNT(*) FILTER (WHERE b)",
        "bool_or(b)": "MAX(b)",
        "any(b)": "MAX(b)",
        "some(b)": "MAX(b)",
        "bool_and(b)": "MIN(b)",
        "every(b)": "MIN(b)",
        "mean(DISTINCT x)": "AVG(DISTINCT x)",
        "every(b) FILTER (WHERE x > 1)": "MIN(b) FILTER (WHERE x > 1)",
        "count_if(b) FILTER (WHERE x < 5)": "COUNT(CASE WHEN b AND x < 5 THEN 1 END)",
        "`mean`(x) /* sqlglot.anonymous */": "AVG(x)",
    }
    for one, other in both.items():
        answers = [
            streams_and_table().sql(f"SELECT {each} AS v FROM s [RANGE 5]").to_arrow()
            for each in (one, other)
        ]
        assert answers[0].equals(answers[1]), one


def test_the_mean_of_a_window_is_over_all_its_batches():
    rows = streams_and_table().sql("SELECT mean(x) AS v FROM s [RANGE 5]").to_arrow().to_pylist()
    inserted = [r["v"] for r in rows if r["_change_type"] == "insert"]
    assert inserted == [1.0, 14 / 3, 6.5, None]


def test_an_aggregate_of_conditions_takes_nothing_else(asked):
    for name in ("count_if", "bool_or", "every"):
        with pytest.raises(BindError, match="not boolean"):
            asked.sql(f"SELECT {name}(x) AS v FROM s [RANGE 5]")


def test_distinct_without_a_value_is_refused(asked):
    for name in ("MAX", "COUNT", "SUM", "COUNT_IF"):
        with pytest.raises(WindrowError, match=r"has nothing|cannot be read"):
            asked.sql(f"SELECT {name}(DISTINCT) AS v FROM s [RANGE 5]")


@pytest.mark.parametrize("text", ["1e5.1BD", "1e99999999", "9" * 5000, "1e-99999"])
def test_a_number_that_is_none_is_refused(asked, text):
    for query in (f"SELECT {text} AS v FROM s", f"SELECT SUM(x) AS v FROM s [RANGE {text}]"):
        with pytest.raises(WindrowError):
            asked.sql(query)


def test_volatile_functions_are_refused_in_changelogs_under_every_name(asked):
    for name in sorted(VOLATILE):
        for query in ("SELECT {} AS v FROM s [RANGE 5] EMIT CHANGES", "SELECT COUNT(DISTINCT {}) AS v FROM s [RANGE 5]"):  # fmt: skip
            with pytest.raises(WindrowError) as raised:
                asked.sql(query.format(f"{name}()"))
            # One that takes arguments is not taken without them, whatever else it is.
            known = {"unsupported-nondeterministic", "syntax", "bad-expression", "unknown-function"}
            assert raised.value.condition in known or name in OTHER_AGGREGATES, name
        call = exp.Anonymous(this=name, expressions=[exp.column("x")])
        assert is_volatile(call)
        assert not is_volatile(call, functions={name})


@pytest.mark.parametrize(
    "text",
    [
        "CURRENT_TIMESTAMP", "current_date", "unix_timestamp()", "age(TIMESTAMP '2020-01-01')",
        "DATE 'today'", "CAST('now' AS TIMESTAMP)", "rand(5)", "concat('a', uuid())", "now()",
    ],
)  # fmt: skip
def test_what_is_of_the_moment_is_refused_in_changelogs_however_it_is_written(asked, text):
    with pytest.raises(UnsupportedError, match="changelog"):
        asked.sql(f"SELECT x, {text} AS v FROM s [RANGE 5] EMIT CHANGES")
    with pytest.raises(UnsupportedError, match="changelog"):
        asked.sql(f"SELECT COUNT(*) AS v FROM (SELECT {text} AS w FROM s) q [RANGE 5]")


def test_constants_of_a_session_are_no_volatile_functions():
    query = "SELECT current_database() AS v, unix_timestamp(t) AS w FROM s [RANGE 5] EMIT CHANGES"
    found = session({"s": {"t": pa.array([0], pa.timestamp("us", "UTC"))}}, time="t")
    query = query.replace("RANGE 5", "RANGE INTERVAL '5' SECONDS")
    assert found.sql(query).to_arrow().num_rows == 2


def test_own_functions_come_before_the_catalogs():
    found = streams_and_table()
    found.function("std", lambda x: x, returns="bigint")
    rows = found.sql("SELECT std(x) AS v FROM s").to_arrow()
    assert rows.to_pydict() == {"v": [1, 3, 10]}


def test_the_catalog_has_every_name_that_the_installed_duckdb_has():
    live = duckdb_kinds()
    for field in ("aggregates", "windows", "row_makers", "volatile"):
        known, found = getattr(DUCKDB, field), getattr(live, field)
        assert found <= known, "make it anew with scripts/function_catalog.py"
        assert live.version != DUCKDB.version or found == known


COLUMNS = Schema((Field("x", "bigint"), Field("l", "array<bigint>")))


@pytest.mark.parametrize(
    "text", ["mean(x)", "geomean(x)", "list(x)", "count_star()", "unnest(l)", "rank() OVER ()"]
)
def test_duckdb_itself_refuses_what_a_list_of_names_would_let_through(text):
    with pytest.raises(BindError):
        DuckdbTypes().types(COLUMNS, [Expr(text, text, text, ("x",), "")])


def test_duckdb_itself_says_what_is_volatile():
    texts = {"random() + 1": {"random"}, "ago(x)": {"ago"}, "CURRENT_DATE": {"current_date"}}
    for text, names in texts.items():
        expr = Expr(text, text, text, ("x",), "")
        assert DuckdbTypes().volatile_parts(COLUMNS, expr) == names


def test_what_is_not_called_volatile_has_one_value_in_two_queries():
    """Asked of DuckDB itself, since its catalog calls clocks of the local time consistent."""
    connection = connect()
    named = connection.execute(
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions()"
        " WHERE function_type IN ('scalar', 'macro') AND len(parameters) = 0"
        " AND regexp_matches(function_name, '^[a-z_0-9]+$')"
    )
    kinds = duckdb_kinds()
    plain = {name for (name,) in named.fetchall()} - kinds.volatile - kinds.aggregates
    values = {name: value_of(name, connection) for name in plain}
    sleep(0.001)
    assert values["pi"] is not None
    assert values == {name: value_of(name, connection) for name in plain}


def value_of(name: str, connection: duckdb.DuckDBPyConnection) -> object:
    try:
        return connection.execute(f"SELECT CAST({name}() AS VARCHAR)").fetchone()
    except (
        duckdb.BinderException,
        duckdb.InvalidInputException,
    ):  # it takes arguments that the catalog does not tell
        return None


def test_names_inside_texts_and_quotes_are_no_calls():
    assert called("""'now()' || "today" || upper("now()")""") == {"upper"}


ARGUMENTS = (
    "", "x", "b", "'a'", "x, 'a'", "'a', x, x", "'a', 1, x, b", "array(x), x", "DISTINCT x", "*", "x, *", "s.*",
)  # fmt: skip


def test_whatever_the_arguments_a_function_is_computed_or_refused_by_an_error_of_ours(asked):
    with connect() as engine:
        found = engine.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    names = {name for (name,) in found if name.isidentifier()} | {*WindrowParser.FUNCTIONS}
    refused = []
    for number, name in enumerate(sorted({*names, *WindrowParser.FUNCTION_PARSERS})):
        for arguments in ("", ARGUMENTS[number % len(ARGUMENTS)]):
            try:
                asked.explain(f"SELECT {name}({arguments}) AS v FROM s")
            except WindrowError as error:
                refused.append(error)
    assert len(refused) > 1000
    assert all(error.span is not None for error in refused if error.condition != "syntax")
