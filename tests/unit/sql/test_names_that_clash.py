"""Column names that meet the names of the plan, or each other."""

from __future__ import annotations

import pytest
from sessions import session

from windrow.errors import BindError


def test_a_column_named_as_the_plan_names_its_keys_is_a_column_like_any_other():
    made = session({"a": {"$key0": [1], "at": [5]}, "b": {"$key0": [2], "at": [5]}}, time="at")
    answer = made.sql(
        "SELECT a.`$key0` AS x, b.`$key0` AS y FROM a, b WHERE a.`$key0` + 1 = b.`$key0` + 0"
        " WINDOW = 0"
    )
    assert answer.to_arrow().to_pylist() == [{"x": 1, "y": 2}]


def test_a_column_named_as_the_plan_names_its_dimensions_is_a_column_like_any_other():
    made = session({"a": {"$dim0": [1], "at": [5]}, "b": {"$dim0": [2], "at": [5]}}, time="at")
    answer = made.sql(
        "SELECT a.`$dim0` AS x, b.`$dim0` AS y FROM a LEFT OUTER BESTMATCH JOIN b"
        " ON a.`$dim0` * 2 MINDIST b.`$dim0` + 1 WHERE abs(a.at - b.at) <= 1"
    )
    assert answer.to_arrow().to_pylist() == [{"x": 1, "y": 2}]


def test_columns_that_differ_in_case_alone_are_refused_where_the_stream_is_read():
    made = session({"a": {"k": [1], "K": [2], "at": [5]}}, time="at")
    with pytest.raises(BindError) as error:
        made.sql("SELECT k + 1 AS x, K + 1 AS y FROM a")
    assert str(error.value) == (
        "BindError[columns-alike]: the columns a.k and a.K differ only in case\n"
        "  1 | SELECT k + 1 AS x, K + 1 AS y FROM a\n"
        "    |                                    ^\n"
        "  names mean the same in upper and in lower case\n"
        "  hint: rename one of them before registering the stream"
    )


def test_columns_with_dots_that_read_alike_are_refused():
    made = session({"a": {"b.k": [1], "at": [5]}, "a.b": {"k": [1], "at": [5]}}, time="at")
    with pytest.raises(BindError) as error:
        made.sql("SELECT a.`b.k` AS x FROM a, `a.b` WHERE a.`b.k` = `a.b`.k WINDOW = 0")
    assert str(error.value) == (
        "BindError[columns-alike]: a.b.k could be a column of a or of a.b\n"
        "  1 | SELECT a.`b.k` AS x FROM a, `a.b` WHERE a.`b.k` = `a.b`.k WINDOW = 0\n"
        "    |                             ^^^^^\n"
        "  hint: give a.b an alias without dots"
    )


def test_the_hint_about_an_alias_used_twice_names_the_stream():
    made = session({"sales": {"k": [1], "at": [5]}}, time="at")
    with pytest.raises(BindError, match="for instance sales AS s2"):
        made.sql("SELECT s.k FROM sales s, sales s WHERE s.k = s.k WINDOW = 0")
