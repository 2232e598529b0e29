"""A row that is added to the table of options is an option: as a keyword, as a hint, and on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest

from windrow.errors import PlanError, UnsupportedError
from windrow.optimize import options as of_queries
from windrow.physical.option import Option, RefusedBySpark, as_number, rows_of, whole
from windrow.physical.options import Options
from windrow.plan.nodes.query import Hint


@dataclass(frozen=True)
class MoreOptions(Options):
    """The table with one more row."""

    patience: Annotated[
        int | None,
        Option(
            "how often is asked again",
            whole(1, 9, "is no number of questions"),
            read=as_number,
            in_process=RefusedBySpark("Spark asks for itself", "leave it out"),
        ),
    ] = None


@pytest.fixture(autouse=True)
def larger_table(monkeypatch):
    monkeypatch.setattr(of_queries, "Options", MoreOptions)
    monkeypatch.setattr(of_queries, "ROWS", rows_of(MoreOptions))


def test_a_keyword_and_a_hint_say_the_same():
    by_keyword = of_queries.with_hints(of_queries.by_keyword({"patience": 3}), [])
    by_hint = of_queries.with_hints(of_queries.by_keyword({}), [Hint("patience", "3")])
    assert by_keyword == by_hint == MoreOptions(patience=3)


def test_what_it_cannot_be_is_refused():
    with pytest.raises(PlanError, match="patience = 'much' is no number of questions"):
        of_queries.with_hints(of_queries.by_keyword({}), [Hint("patience", "much")])


def test_spark_refuses_it_as_its_row_says():
    with pytest.raises(UnsupportedError, match="patience works only in process"):
        of_queries.check_on_spark(MoreOptions(patience=3), [])


def test_without_its_row_it_is_unknown(monkeypatch):
    monkeypatch.setattr(of_queries, "ROWS", rows_of(Options))
    with pytest.raises(PlanError, match="there is no option 'patience'"):
        of_queries.by_keyword({"patience": 3})
