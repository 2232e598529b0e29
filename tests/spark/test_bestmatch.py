"""Bestmatch joins of every kind on Spark: many cases in one run, each against the twin."""

from __future__ import annotations

from random import Random

import pytest
from cases.bestmatches import draw_many
from cases.match_runs import FUNCTIONS
from spark_runs import SingleRun, bag, session_of

import windrow


def with_orders(session: windrow.Session) -> windrow.Session:
    """The session, with the orders that cases by value have."""
    for name, own in FUNCTIONS.items():
        session.function(
            name,
            own.body,
            arguments=own.arguments,
            returns=own.returns,
            partial_order=own.is_partial_order,
        )
    return session


@pytest.mark.parametrize("keyed", [True, False], ids=["by key and value", "by cells and distance"])
def test_a_batch_run_gives_the_whole_answer_of_every_kind(spark, tmp_path, keyed: bool) -> None:
    case = draw_many(Random(1), keyed=keyed)
    session = with_orders(session_of(spark, case, tmp_path, is_streaming=False))
    assert bag(session.sql(case.sql, buckets=3).toArrow()) == case.answer


@pytest.mark.parametrize("keyed", [True, False], ids=["by key and value", "by cells and distance"])
def test_a_streaming_run_gives_what_is_proven_of_every_kind(spark, tmp_path, keyed: bool) -> None:
    case = draw_many(Random(2), keyed=keyed)
    run = SingleRun(tmp_path / "run")
    session = with_orders(session_of(spark, case, tmp_path, is_streaming=True))
    run.finish(session.sql(case.sql, buckets=3))
    expected = case.answer_below_watermark()
    assert 0 < len(expected) < len(case.answer)
    assert bag(run.rows(spark)) == expected
