"""Which algorithms of window joins may spill, and what is said of the others."""

from __future__ import annotations

import pytest
from sessions import session

import windrow
from windrow.errors import PlanError

SPILL = {"memory": "1 MB", "on_memory": "spill"}
QUERY = "SELECT a.ts FROM a, b WHERE a.k = b.k WINDOW = 3"


def two_streams() -> windrow.Session:
    return session({name: {"ts": range(10), "k": range(10)} for name in "ab"}, time="ts")


def test_a_pipeline_is_refused_with_what_it_keeps():
    with pytest.raises(PlanError) as error:
        two_streams().sql(QUERY, algorithm="hw", **SPILL)
    assert str(error.value) == (
        "PlanError[algorithm-cannot-spill]: the algorithm hw cannot move what it holds to disk\n"
        "  it keeps the time and key of every tuple, and partial combinations, in memory, apart"
        " from the rows\n"
        "  hint: leave algorithm out, or use algorithm bew; or let the query fail beyond its"
        " memory: on_memory = 'fail'"
    )


def test_a_hint_is_refused_where_it_stands():
    sql = QUERY.replace("SELECT", "SELECT /*+ algorithm(few), memory(1 MB), on_memory(spill) */")
    with pytest.raises(PlanError, match=r"(?s)algorithm few cannot move.*\^\^"):
        two_streams().sql(sql)


def test_explain_says_why_no_other_plan_is_taken():
    assert "BEW alone, for on_memory = 'spill'" in two_streams().explain(QUERY, **SPILL)
    bounded = two_streams().explain(QUERY, memory="1 MB")
    assert "BEW alone, for memory is bounded" in bounded
    assert "BEW alone" not in two_streams().explain(QUERY, memory="1 MB", algorithm="nlw")
    assert "BEW alone" not in two_streams().explain(QUERY)
