"""Random query trees: the changelog is the answer at every instant, and is itself input again."""

from __future__ import annotations

import pickle
from itertools import islice
from random import Random

import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from cases.in_process import session_of
from cases.query_trees import draw_set_of_join, draw_tree
from cases.tape import tapes
from hypothesis import HealthCheck, given, note, settings
from sessions import session

pytestmark = pytest.mark.law


@settings(max_examples=share_of(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=tapes(1024))
def test_a_tree_of_queries_answers_as_duckdb_does_at_every_instant(random: Random) -> None:
    case = draw_tree(random)
    scheduling, stops = random.choice(["tpa", "nta", "ita"]), random.randrange(3)
    note(f"{case.sql} by {scheduling}, stopped after {stops} batches of the answer")
    first = session_of(case).sql(case.sql, scheduling=scheduling)
    found = list(islice(first, stops))
    result = first
    if stops:
        checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
        later = session_of(case, cut_by=random)
        result = later.sql(case.sql, scheduling=scheduling, resume=checkpoint)
    assert bag([*found, *result]) == case.answer
    if "ROWS" not in case.sql and "whole" not in case.sql:
        assert result.progress.stored == 0  # everything has expired


@settings(max_examples=share_of(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=tapes(1024))
def test_a_distinct_pushed_below_a_join_changes_nothing(random: Random) -> None:
    case = draw_tree(random, draw=draw_set_of_join)
    note(case.sql)
    session = session_of(case, hints={"rate": 1000, "distinct": {"k": 2, "x": 3}})
    result = session.sql(case.sql, scheduling=random.choice(["tpa", "nta", "ita"]))
    assert "pushed below the join" in result.explain()
    assert bag(result) == case.answer


@settings(max_examples=share_of(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=tapes(1024))
def test_a_changelog_read_as_a_stream_is_the_relation_that_it_came_from(random: Random) -> None:
    case = draw_tree(random, depth=2)
    note(case.sql)
    changes = session_of(case).sql(case.sql).to_arrow()
    batches = changes.to_batches(max_chunksize=random.choice([1, 3, 100]))
    reader = pa.RecordBatchReader.from_batches(changes.schema, batches)
    w = session({"feed": reader}, time="_event_time", changes="_change_type")
    again = w.sql("SELECT k, x FROM feed").to_arrow()
    assert bag(again) == case.answer


@settings(max_examples=share_of(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=tapes(1024))
def test_by_negative_tuples_changes_are_produced_when_they_are_by_time_probing(
    random: Random,
) -> None:
    case = draw_tree(random)
    note(case.sql)
    results = [session_of(case).sql(case.sql, scheduling=name) for name in ("tpa", "nta")]
    for result in results:
        result.to_arrow()
    assert results[0].response == results[1].response
