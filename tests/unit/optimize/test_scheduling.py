"""Which scheduling a query in process takes, and what EXPLAIN says of it."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from plans import planned
from sessions import session

import windrow
from windrow.optimize.choose.scheduling import Load
from windrow.physical.estimates import show_count

ONE = "SELECT COUNT(*) AS n FROM a [RANGE 5]"
SEVERAL = (
    "SELECT x, COUNT(*) AS n FROM (SELECT l.x FROM a [RANGE 5] l, b [RANGE 9] r"
    " WHERE l.x = r.x) j GROUP BY x"
)
PLAIN = "SELECT l.x FROM a l, b r WHERE l.x = r.x WINDOW = 5"


@pytest.fixture
def two_streams():
    return session({name: {"x": [1], "at": [1]} for name in ("a", "b")}, time="at")


def load_of(w, sql):
    return Load.of(planned(w, sql).root)


def test_the_load_counts_operators_above_each_other_and_windows_that_differ(two_streams):
    assert load_of(two_streams, ONE) == Load(operators=1, windows=1)
    assert load_of(two_streams, SEVERAL) == Load(operators=2, windows=2)
    assert load_of(two_streams, SEVERAL.replace("9", "5")) == Load(operators=2, windows=1)
    assert load_of(two_streams, SEVERAL.replace("RANGE 9", "ROWS 5")) == Load(
        operators=3, windows=2
    )


def hinted(different):
    """Two streams of two tuples per tick and so many keys, as their hints say, a tick at a time."""
    session = windrow.Session()
    dice = Random(7)
    for name in ("a", "b"):
        keys = ([dice.randrange(different) for _ in range(2)] for _ in range(80))
        batches = [pa.table({"k": own, "x": [1, 2], "at": [at] * 2}) for at, own in enumerate(keys)]
        session.stream(name, batches, time="at", rate=2, distinct={"k": different})
    return session


PAIRS = "SELECT {}(l.x) AS value FROM a [RANGE 30] l, b [RANGE 50] r WHERE l.k = r.k"


@pytest.mark.parametrize(
    ("function", "different", "taken", "held"),
    [
        # 60 and 100 tuples in the windows, 6,000 / d pairs alive.
        ("SUM", 5, "nta", {"tpa": 1_360, "nta": 160}),
        ("SUM", 38, "tpa", {"tpa": 318, "nta": 160}),
        ("SUM", 37, "nta", {"tpa": 322, "nta": 160}),
        ("MAX", 5, "tpa", {"tpa": 1_360, "nta": 1_360}),
    ],
)
def test_negative_tuples_are_taken_where_they_hold_less_than_half(function, different, taken, held):
    session = hinted(different)
    sql = PAIRS.format(function)
    said = session.explain(sql)
    assert f"  scheduling  {taken} (" in said
    for figure in held.values():
        assert f"through 2 operators, {show_count(figure)} held" in said


def test_what_is_held_is_about_what_the_planner_says():
    held = {"tpa": 1_360, "nta": 160}
    session, sql = hinted(5), PAIRS.format("SUM")
    found = {name: most_stored(session.sql(sql, scheduling=name)) for name in held}
    assert found == pytest.approx(held, rel=0.25)


def test_negative_tuples_are_taken_where_only_they_fit_into_memory():
    session, sql = hinted(38), PAIRS.format("SUM")
    assert "  scheduling  tpa (" in session.explain(sql)
    limit = "300 tuples"
    said = session.explain(sql, memory=limit)
    assert "  scheduling  nta (what is held fits into 300 tuples; 2 tuples" in said
    assert session.sql(sql, memory=limit).to_arrow().num_rows
    with pytest.raises(windrow.WindrowError, match="more than its memory of 300 tuples"):
        session.sql(sql, memory=limit, scheduling="tpa").to_arrow()


def test_a_join_that_was_asked_for_is_not_replaced():
    said = hinted(5).explain(PAIRS.format("SUM"), algorithm="few")
    assert "  scheduling  tpa (2 windows, and the join is to be as it was asked for; 1" in said


def most_stored(result):
    """The most tuples held after any batch of the answer."""
    return max(result.progress.stored for _ in result)


def test_the_choice_is_by_hints_alone_so_that_a_query_can_be_planned_again():
    table = pa.table({"x": [1] * 100, "at": range(100)})
    w = session(dict.fromkeys(("a", "b"), table), time="at")
    assert "  scheduling  tpa (2 windows, and rate= and distinct= do not" in w.explain(SEVERAL)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            ONE,
            "  scheduling  tpa (one window: tuples leave in the order in which they came;"
            " 1 tuple per input through 1 operator)\n"
            "              rejected nta: 2 tuples per input through 1 operator\n"
            "              rejected ita: changes wait until input arrives at their operator\n",
        ),
        (
            SEVERAL,
            "  scheduling  tpa (2 windows, and rate= and distinct= do not tell how much is held;"
            " 1 tuple per input through 2 operators)\n"
            "              rejected nta: 2 tuples per input through 2 operators\n"
            "              rejected ita: changes wait until input arrives at their operator\n",
        ),
    ],
)
def test_explain_says_why_and_what_the_others_would_cost(two_streams, sql, said):
    assert said in two_streams.explain(sql)
    assert two_streams.explain(sql) == two_streams.explain(sql, scheduling="auto")


def test_explain_is_silent_where_no_row_is_taken_back(two_streams):
    assert "scheduling" not in two_streams.explain(PLAIN)
    assert "scheduling  ita (asked for; changes wait" in two_streams.explain(
        PLAIN, scheduling="ita"
    )


def test_explain_says_of_a_table_that_it_is_held_whole_however_it_is_scheduled(two_streams):
    two_streams.table("t", pa.table({"x": [1]}))
    plan = two_streams.explain("SELECT a.x FROM a JOIN t ON a.x = t.x", scheduling="ita")
    assert "state       t: the whole table, in process with an index on t.x" in plan
    assert "with ita these bounds" not in plan


def test_explain_claims_no_bound_where_rows_leave_with_input_alone(two_streams):
    hinted = ONE.replace("SELECT", "SELECT /*+ scheduling(ita) */")
    said = "with ita these bounds hold only while every input brings rows"
    assert said in two_streams.explain(hinted)
    assert said not in two_streams.explain(hinted, scheduling="tpa")
