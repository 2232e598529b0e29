from __future__ import annotations

import pickle

import pytest

from windrow.errors import (
    BindError,
    DataError,
    ParseError,
    PlanError,
    Span,
    UnknownColumn,
    UnsupportedError,
    error_inside,
    nearest,
)

SQL = "SELECT c.user\nFROM clicks c\n  JOIN orders o ON c.user = o.user"


def unbounded() -> PlanError:
    return PlanError(
        "unbounded-state",
        "the join of clicks and orders keeps state forever",
        reason="neither side has a time bound",
        hint="add a range",
    )


def test_a_message_has_condition_sentence_place_reason_and_hint():
    start = SQL.index("JOIN")
    error = unbounded().at(Span(start, start + len("JOIN orders o"))).in_sql(SQL)
    assert str(error) == (
        "PlanError[unbounded-state]: the join of clicks and orders keeps state forever\n"
        "  3 |   JOIN orders o ON c.user = o.user\n"
        "    |   ^^^^^^^^^^^^^\n"
        "  neither side has a time bound\n"
        "  hint: add a range"
    )


def test_carets_stop_at_the_end_of_the_line():
    start = SQL.index("clicks c")
    shown = str(BindError("x", "y", span=Span(start, len(SQL))).in_sql(SQL))
    assert shown.splitlines()[1:] == ["  2 | FROM clicks c", "    |      ^^^^^^^^"]


def test_without_a_place_the_sql_is_not_quoted():
    assert str(BindError("x", "y").in_sql(SQL)) == "BindError[x]: y"


def test_the_first_place_and_the_first_sql_stay():
    error = BindError("x", "y").at(Span(0, 6)).at(Span(7, 8)).in_sql(SQL).in_sql("other")
    assert error.span == Span(0, 6)
    assert error.sql == SQL


def test_an_error_survives_pickling_whole():
    error = pickle.loads(pickle.dumps(unbounded().at(Span(0, 6)).in_sql(SQL)))
    assert type(error) is PlanError
    assert str(error) == str(unbounded().at(Span(0, 6)).in_sql(SQL))
    assert error.args == ("the join of clicks and orders keeps state forever",)


def test_errors_are_also_the_builtin_ones_that_callers_expect():
    assert issubclass(UnknownColumn, KeyError)
    assert issubclass(PlanError, ValueError)


@pytest.mark.parametrize("refusal", [ParseError, BindError, PlanError, UnsupportedError])
def test_every_refusal_of_a_question_is_a_value_error_and_no_stub(refusal):
    assert issubclass(refusal, ValueError)
    assert not issubclass(refusal, NotImplementedError)


def test_nearest_names_come_first_and_eight_at_most():
    assert nearest("prise", ["store", "price", "item"]).startswith("price")
    many = nearest("c3", [f"c{i}" for i in range(12)])
    assert many.startswith("c3, ")
    assert many.endswith(", ...")
    assert many.count(",") == 8


@pytest.mark.parametrize("before", [0, 3, 1_000])
@pytest.mark.parametrize("after", [0, 3, 1_000])
def test_of_a_long_line_the_part_around_the_place_is_shown(before, after):
    sql = "x <> 7 AND " * before + "nosuch = 8" + " AND x <> 7" * after
    start = sql.index("nosuch")
    error = unbounded().at(Span(start, start + len("nosuch"))).in_sql(sql)
    _, line, carets, *_ = str(error).splitlines()
    assert len(line) < 420
    assert line[carets.index("^") : carets.rindex("^") + 1] == "nosuch"
    assert (".." in line) == (max(before, after) == 1_000)


def test_a_place_that_is_longer_than_a_line_shown_is_marked_as_far_as_it_is_shown():
    sql = "(" * 500 + "k" + ")" * 500
    _, line, carets, *_ = str(unbounded().at(Span(0, len(sql))).in_sql(sql)).splitlines()
    assert len(line) < 420
    assert carets.count("^") == line.count("(") == 400


def test_an_error_is_made_again_from_the_text_that_another_carries():
    error = DataError("late-row", "a row is late", reason="it is", hint="wait")
    carried = f"[SPARK] worker: {error} SQLSTATE: 38000\nand more\n=== Streaming Query ===\n..."
    found = error_inside(carried)
    assert type(found) is DataError
    assert str(found) == str(error)
    short = error_inside(f"[SPARK] {DataError('late-row', 'a row is late')} SQLSTATE: 38000")
    assert str(short) == "DataError[late-row]: a row is late"
    placed = BindError("unknown", "no column", hint="look").at(Span(7, 8)).in_sql("SELECT x")
    assert str(error_inside(f"raised: {placed}")) == str(placed)
    assert error_inside("nothing of ours") is None
