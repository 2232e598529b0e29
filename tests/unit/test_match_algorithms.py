"""The algorithms of bestmatch joins: asked for by name, shown by EXPLAIN, told apart by their work."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sessions import session

import windrow
from windrow.errors import PlanError
from windrow.physical.algorithms import MATCH_ALGORITHMS, PAGED

QUERY = (
    "SELECT l.id AS l, r.id AS r FROM l FULL OUTER BESTMATCH JOIN r"
    " ON l.ts MINDIST r.ts WITHIN 50, l.x MINDIST r.x WITHIN 2, l.y MINDIST r.y"
)


@pytest.fixture
def drawn_streams() -> windrow.Session:
    random = np.random.default_rng(7)
    return session(
        {
            name: pa.table(
                {
                    "ts": np.sort(random.integers(0, 1000, 600)),
                    "id": np.arange(600),
                    "x": random.integers(0, 100, 600),
                    "y": random.integers(0, 9, 600),
                }
            )
            for name in ("l", "r")
        },
        time="ts",
    )


def memory_for(algorithm: str) -> dict[str, str]:
    """What an algorithm needs to be told of memory."""
    return {"memory": "20 kB", "on_memory": "spill"} if algorithm in PAGED else {}


@pytest.mark.law
def test_every_algorithm_gives_the_same_pairs_by_less_work_the_more_it_looks_up(drawn_streams):
    work, answers = {}, []
    for algorithm in MATCH_ALGORITHMS:
        result = drawn_streams.sql(QUERY, algorithm=algorithm, **memory_for(algorithm))
        answers.append(result.to_arrow().sort_by([("l", "ascending"), ("r", "ascending")]))
        (figures,) = result.progress.operators.values()
        work[algorithm] = figures["comparisons"]
    assert all(answer.equals(answers[0]) for answer in answers)
    assert work["matwin-grid"] < 0.2 * work["matwin-plain"]
    assert work["matwin-plain"] < 0.5 * work["nested-loops"]
    assert work["matwin-grid"] <= work["matwin"] < work["matwin-plain"]


@pytest.mark.parametrize("algorithm", list(MATCH_ALGORITHMS))
def test_explain_shows_the_algorithm_and_that_it_was_asked_for(drawn_streams, algorithm):
    asked = QUERY.replace("SELECT", f"SELECT /*+ algorithm({algorithm}) */")
    plan = drawn_streams.explain(asked, **memory_for(algorithm))
    assert f"algorithm   {algorithm}: " in plan
    assert f"asked for: algorithm = '{algorithm}'" in plan


def test_without_being_told_the_choice_is_explained(drawn_streams):
    plan = drawn_streams.explain(QUERY)
    assert "algorithm   matwin: " in plan
    assert "each chunk's rows choose: a grid pays where many are in reach of one" in plan
    keyed = drawn_streams.explain(f"{QUERY} WHERE l.id = r.id")
    assert "rows of one key are looked up together" in keyed
    bare = drawn_streams.explain(QUERY.replace(" WITHIN 2", ""))
    assert "no grid: no dimension but time is a distance with a limit" in bare


@pytest.mark.parametrize(
    ("query", "reason", "hint"),
    [
        (
            f"{QUERY} WHERE l.id = r.id",
            "rows of one key are found together",
            "use algorithm matwin",
        ),
        (
            QUERY.replace(" WITHIN 2", ""),
            "no dimension but time is a distance with a limit",
            "use algorithm matwin, or write WITHIN after MINDIST",
        ),
    ],
)
def test_a_grid_with_nothing_to_lay_it_over_is_refused(drawn_streams, query, reason, hint):
    with pytest.raises(PlanError) as caught:
        drawn_streams.sql(query, algorithm="matwin-grid")
    assert caught.value.condition == "no-epsilon-grid"
    assert (caught.value.reason, caught.value.hint) == (reason, hint)


def test_an_algorithm_of_bestmatch_joins_is_refused_where_there_is_none(drawn_streams):
    with pytest.raises(PlanError) as caught:
        drawn_streams.sql(
            "SELECT l.id FROM l, r WHERE l.id = r.id WINDOW = 5", algorithm="nested-loops"
        )
    assert caught.value.condition == "algorithm-of-bestmatch"
    assert caught.value.sentence == (
        "the algorithm nested-loops is for bestmatch joins, and the query has none"
    )


def test_an_algorithm_of_bestmatch_joins_leaves_window_joins_as_they_are(drawn_streams):
    query = f"SELECT m.l FROM ({QUERY}) m, r s WHERE m.l = s.id WINDOW = 5"
    plan = drawn_streams.explain(query, algorithm="matwin-plain")
    assert "algorithm   matwin-plain: " in plan
    assert "bew" in plan.lower()
