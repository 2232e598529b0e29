"""Which scheduling a query in process takes, and what EXPLAIN says of it."""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow
from windrow.optimize.scheduling import Load, tuples_handled

ONE = "SELECT COUNT(*) AS n FROM a [RANGE 5]"
SEVERAL = (
    "SELECT x, COUNT(*) AS n FROM (SELECT l.x FROM a [RANGE 5] l, b [RANGE 9] r"
    " WHERE l.x = r.x) j GROUP BY x"
)
PLAIN = "SELECT l.x FROM a l, b r WHERE l.x = r.x WINDOW = 5"


@pytest.fixture
def session():
    session = windrow.Session()
    for name in ("a", "b"):
        session.stream(name, pa.table({"x": [1], "at": [1]}), time="at")
    return session


def load_of(session, sql):
    return Load.of(session._plan(sql, {})[1].root)


def test_the_load_counts_operators_above_each_other_and_windows_that_differ(session):
    assert load_of(session, ONE) == Load(operators=1, windows=1)
    assert load_of(session, SEVERAL) == Load(operators=2, windows=2)
    assert load_of(session, SEVERAL.replace("9", "5")) == Load(operators=2, windows=1)
    assert load_of(session, SEVERAL.replace("RANGE 9", "ROWS 5")) == Load(operators=3, windows=2)


def test_negative_tuples_are_handled_again_and_nothing_that_is_held_is_scanned():
    load = Load(operators=3, windows=2)
    assert tuples_handled("tpa", load, arriving=10, held=1_000) == 30
    assert tuples_handled("nta", load, arriving=10, held=1_000) == 60


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
            "  scheduling  tpa (2 windows, but tuples are kept in the order of their ends;"
            " 1 tuple per input through 2 operators)\n"
            "              rejected nta: 2 tuples per input through 2 operators\n"
            "              rejected ita: changes wait until input arrives at their operator\n",
        ),
    ],
)
def test_explain_says_why_and_what_the_others_would_cost(session, sql, said):
    assert said in session.explain(sql)
    assert session.explain(sql) == session.explain(sql, scheduling="auto")


def test_explain_is_silent_where_no_row_is_taken_back(session):
    assert "scheduling" not in session.explain(PLAIN)
    assert "scheduling  ita (asked for; changes wait" in session.explain(PLAIN, scheduling="ita")


def test_explain_claims_no_bound_where_rows_leave_with_input_alone(session):
    hinted = ONE.replace("SELECT", "SELECT /*+ scheduling(ita) */")
    said = "          state       no bound while an input brings no rows (ita), for these tell"
    assert said in session.explain(hinted)
    assert said not in session.explain(hinted, scheduling="tpa")
