"""Functions registered with a session, from the name to the answer."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sessions import session

import windrow
from windrow.errors import BindError, DataError, UnsupportedError


@pytest.fixture
def streams_and_functions() -> windrow.Session:
    a = {"ts": [1, 2, 3], "word": ["lamb", "oak", None], "x": [1, 2, 3]}
    b = {"ts": [2, 3, 4], "word": ["lame", "elm", None], "x": [3, 2, None]}
    found = session({"a": pa.table(a), "b": pa.table(b)}, time="ts")
    found.function("alike", alike)
    found.function("score", score, returns="double", vectorized=False)
    return found


def alike(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.equal(*(pc.utf8_slice_codeunits(words, 0, 2) for words in (left, right)))


def score(left: int | None, right: int | None) -> float | None:
    return None if left is None or right is None else left / right


def rows(w: windrow.Session, condition: str) -> list[tuple[int, int]]:
    query = f"SELECT a.ts AS one, b.ts AS other FROM a, b WHERE {condition} WINDOW = 9"
    found = w.sql(query).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


def test_a_function_is_a_join_predicate(streams_and_functions):
    assert rows(streams_and_functions, "alike(a.word, b.word)") == [(1, 2)]


def test_a_function_is_negated_and_its_null_is_neither(streams_and_functions):
    assert rows(streams_and_functions, "NOT alike(a.word, b.word)") == [(1, 3), (2, 2), (2, 3)]


def test_a_function_stands_beside_other_conditions(streams_and_functions):
    assert rows(streams_and_functions, "alike(a.word, b.word) OR score(a.x, b.x) > 0.9 AND a.ts < 3") == [
        (1, 2), (2, 3),
    ]  # fmt: skip


def test_a_function_of_one_stream_filters_it_and_is_selected(streams_and_functions):
    query = "SELECT word, score(x, 2) AS s FROM a WHERE alike(word, 'la') OR score(x, 2) > 1"
    assert streams_and_functions.sql(query).to_arrow().to_pydict() == {
        "word": ["lamb", None],
        "s": [0.5, 1.5],
    }


def test_functions_work_above_joins_and_in_derived_tables(streams_and_functions):
    query = """
        SELECT x.s FROM (SELECT score(a.x, b.x) AS s FROM a, b WINDOW = 9) x
        WHERE score(CAST(x.s * 2 AS INT), 1) > 1
    """
    assert sorted(streams_and_functions.sql(query).to_arrow()["s"].to_pylist()) == [1.0, 1.0, 1.5]


def test_functions_work_in_aggregates_over_joins(streams_and_functions):
    query = """
        SELECT alike(a.word, 'la') AS l, SUM(score(a.x, b.x)) AS s
        FROM a [RANGE 100], b [RANGE 100] WHERE a.x >= b.x GROUP BY alike(a.word, 'la')
    """
    changes = streams_and_functions.sql(query).to_arrow()
    inserts = changes.filter(pc.equal(changes["_change_type"], "insert"))
    at_4 = {row["l"]: row["s"] for row in inserts.to_pylist() if row["_event_time"] <= 4}
    assert at_4 == {False: 1.0, None: 2.5}


def test_explain_names_the_function_and_when_it_is_asked(streams_and_functions):
    plan = streams_and_functions.explain(
        "SELECT a.ts FROM a, b WHERE alike(a.word, b.word) WINDOW = 9"
    )
    assert "a new a meets b where alike(a.word, b.word)" in plan
    assert "alike(a.word, b.word): by alike, on blocks of candidates" in plan


def test_a_function_registered_again_takes_the_place_of_the_old_one(streams_and_functions):
    streams_and_functions.function("ALIKE", lambda left, _: pc.is_valid(left))
    assert rows(streams_and_functions, "alike(a.word, b.word)") == [
        (1, 2), (1, 3), (1, 4), (2, 2), (2, 3), (2, 4),
    ]  # fmt: skip


@pytest.mark.usefixtures("streams_and_functions")
def test_two_sessions_have_functions_of_their_own():
    other = session({"a": {"ts": [1], "word": ["x"]}}, time="ts")
    with pytest.raises(BindError, match="unknown-function"):
        other.sql("SELECT ts FROM a WHERE alike(word, word)")


@pytest.mark.parametrize(
    "name", ["upper", "count", "list_cosine_similarity", "two words", "youngest"]
)
def test_a_name_that_is_taken_or_none_is_refused(streams_and_functions, name):
    with pytest.raises(BindError) as caught:
        streams_and_functions.function(name, alike)
    assert caught.value.condition == "function-name"


def test_a_function_that_fails_in_a_join_is_named(streams_and_functions):
    streams_and_functions.function("broken", lambda left, right: pc.equal(left, right)[:1])
    with pytest.raises(DataError) as caught:
        rows(streams_and_functions, "broken(a.x, b.x)")
    assert caught.value.condition == "function-length"
    assert str(caught.value).startswith("DataError[function-length]: the function broken gave 1")


def failing(left: int | None) -> bool:
    raise ValueError(left)


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("SELECT a.ts FROM a, b WHERE a.x > 0 AND odd(a.x + b.x) WINDOW = 9", "odd(a.x + b.x)"),
        ("SELECT ts FROM a WHERE NOT odd(x) OR x > 5", "odd(x)"),
        ("SELECT 1 + odd(x) AS y FROM a", "odd(x)"),
        ("SELECT t.y FROM (SELECT odd(x) AS y FROM a) t", "odd(x)"),
    ],
)
def test_a_function_that_fails_is_shown_where_the_query_calls_it(
    streams_and_functions, query, place
):
    streams_and_functions.function(
        "odd", failing, returns="int" if "1 +" in query else "boolean", vectorized=False
    )
    with pytest.raises(DataError) as caught:
        streams_and_functions.sql(query).to_arrow()
    assert caught.value.condition == "function-failed"
    line, carets = str(caught.value).splitlines()[1:3]
    assert line[carets.index("^") : carets.rindex("^") + 1] == place
    assert isinstance(caught.value.__cause__, ValueError)


def test_nondeterministic_functions_of_sql_stay_refused_in_changelogs(streams_and_functions):
    with pytest.raises(UnsupportedError, match="nondeterministic"):
        streams_and_functions.sql(
            "SELECT COUNT(*) AS n FROM a [RANGE 5] WHERE score(x, 2) > rand()"
        )
