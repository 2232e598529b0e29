"""Any question on several threads, whatever the cut, late rows and restarts: the answer of one thread."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
from bags import bag
from case_share import share_of
from cases import FAMILIES, Case
from cases.in_process import session_of
from cases.query_trees import draw_tree
from cases.tape import TAPES, tapes
from hypothesis import HealthCheck, given, note, settings

from windrow.operators.engine import bucketed

pytestmark = pytest.mark.law


@pytest.fixture(autouse=True, scope="module")
def threads_for_every_row() -> Iterator[None]:
    """Has threads work on the few rows of drawn cases, which are not worth it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bucketed, "LEAST_ROWS", 0)
        yield


def check(case: Case, random: Random) -> None:
    threads = [random.choice([2, 3]), random.choice([1, 2, 3])]
    scheduling, stops = random.choice(["tpa", "nta", "ita"]), random.randrange(3)
    note(f"{case.sql} by {scheduling}, stopped after {stops} batches, threads {threads}")
    result = session_of(case).sql(case.sql, scheduling=scheduling, threads=threads[0])
    found = list(islice(result, stops))
    if stops:
        checkpoint = pickle.loads(pickle.dumps(result.checkpoint()))
        result = session_of(case, cut_by=random).sql(
            case.sql, scheduling=scheduling, threads=threads[1], resume=checkpoint
        )
    assert bag([*found, *result]) == case.answer


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "values by"])
@settings(max_examples=share_of(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=TAPES)
def test_a_drawn_query_of_any_family_gives_the_same_rows(family: str, random: Random) -> None:
    check(FAMILIES[family](random), random)


@settings(max_examples=share_of(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=tapes(1024))
def test_a_tree_of_queries_gives_the_same_rows(random: Random) -> None:
    check(draw_tree(random), random)


@settings(max_examples=share_of(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=tapes(1024))
def test_figures_of_rows_are_those_of_one_thread(random: Random) -> None:
    case = draw_tree(random)
    note(case.sql)
    results = [session_of(case).sql(case.sql, threads=threads) for threads in (1, 2)]
    answers = [bag(list(result)) for result in results]
    one, two = (result.progress for result in results)
    assert answers[0] == answers[1]
    assert (one.rows_in, one.rows_out, one.late) == (two.rows_in, two.rows_out, two.late)
    assert one.response == two.response
