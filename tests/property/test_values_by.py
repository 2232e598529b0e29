"""COUNT_IF, BOOL_AND, BOOL_OR, MAX_BY, MIN_BY and ANY_VALUE against the twin: any rows, any cut, any stop."""

from __future__ import annotations

import pickle
from itertools import islice
from random import Random

import pytest
from bags import bag
from case_share import share_of
from cases import draw_values_by
from cases.in_process import session_of
from cases.tape import TAPES
from hypothesis import HealthCheck, given, note, settings

pytestmark = pytest.mark.law


@settings(max_examples=share_of(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=TAPES)
def test_the_answer_is_the_brute_force_one_however_cut_stopped_and_scheduled(
    random: Random,
) -> None:
    case = draw_values_by(random)
    scheduling, stops = random.choice(["tpa", "nta", "ita"]), random.randrange(3)
    note(f"{case.sql} by {scheduling}, stopped after {stops} batches of the answer")
    result = first = session_of(case).sql(case.sql, scheduling=scheduling)
    found = list(islice(first, stops))
    if stops:
        checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
        later = session_of(case, cut_by=random)
        result = later.sql(case.sql, scheduling=scheduling, resume=checkpoint)
    assert bag([*found, *result]) == case.answer
    assert result.progress.stored == 0  # everything has expired
