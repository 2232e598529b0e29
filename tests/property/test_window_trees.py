"""Random trees with windows anywhere: the changelog is the answer at every instant.

WINDROW_TREES=5000 pytest tests/property/test_window_trees.py     that many trees
WINDROW_PASTED_TREES=1                                            with conditions in COUNT
"""

from __future__ import annotations

import os
import pickle
from itertools import islice
from random import Random

import pytest
from bags import bag
from case_share import share_of
from cases.in_process import session_of
from cases.tape import tapes
from cases.window_trees import draw_window_tree
from hypothesis import HealthCheck, given, note, settings

pytestmark = pytest.mark.law

TREES = int(os.environ.get("WINDROW_TREES", "80"))
HAS_PASTED = os.environ.get("WINDROW_PASTED_TREES", "") == "1"


@settings(max_examples=share_of(TREES), deadline=None, suppress_health_check=list(HealthCheck))
@given(random=tapes(2048))
def test_a_tree_with_windows_anywhere_answers_as_duckdb_does_at_every_instant(
    random: Random,
) -> None:
    case = draw_window_tree(random, pasted=HAS_PASTED)
    scheduling, stops = random.choice(["tpa", "nta", "ita"]), random.choice([0, 0, 1, 2])
    note(f"{case.sql} by {scheduling}, stopped after {stops} batches of the answer")
    first = session_of(case).sql(case.sql, scheduling=scheduling)
    found = list(islice(first, stops))
    result = first
    if stops:
        checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
        result = session_of(case).sql(case.sql, scheduling=scheduling, resume=checkpoint)
    assert bag([*found, *result]) == case.answer
    if all(abs(stream.newest or 0) < 100 for stream in case.streams):
        assert result.progress.stored == 0  # everything has expired
