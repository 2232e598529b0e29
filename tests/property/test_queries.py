"""Any question, any streams, any cut into batches: the in-process answer is the brute-force one."""

from __future__ import annotations

from random import Random

import pytest
from bags import bag
from case_share import share_of
from cases import FAMILIES, Case
from cases.in_process import session_of
from cases.tape import TAPES
from hypothesis import HealthCheck, given, note, settings

pytestmark = pytest.mark.law


def check(family: str, random: Random) -> None:
    case: Case = FAMILIES[family](random)
    scheduling = random.choice(["tpa", "nta", "ita"])
    note(f"{case.sql} by {scheduling}")
    answer = session_of(case).sql(case.sql, scheduling=scheduling).to_arrow()
    assert bag(answer) == case.answer


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "values by"])
@settings(max_examples=share_of(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=TAPES)
def test_a_drawn_query_of_any_family_gives_the_answer_of_brute_force(
    family: str, random: Random
) -> None:
    check(family, random)


@pytest.mark.parametrize("algorithm", ["bew-hash", "bew-nested-loop"])
@settings(max_examples=share_of(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=TAPES)
def test_every_join_algorithm_gives_the_same_bag(algorithm: str, random: Random) -> None:
    case = FAMILIES["join"](random)
    note(case.sql)
    answer = session_of(case, whole=True).sql(case.sql, algorithm=algorithm).to_arrow()
    assert bag(answer) == case.answer
