"""Every algorithm against the slow twin: any graph, any predicate, disorder, silences, any cut."""

from __future__ import annotations

from collections import Counter

import pytest
from cases.window_graphs import MOST_STREAMS, Question, questions
from hypothesis import given, note, seed, settings

from windrow.physical.algorithms import ALGORITHMS, choice, choices

pytestmark = pytest.mark.law

HASHED = {"bew-hash", "bew-tuple-at-a-time-hash", "few-hash", "hw", "xjoin"}
# All of them are drawn: many graphs join nothing, and some must.
EACH = settings(max_examples=-(-200 // len(choices())), deadline=None, database=None)
"""Of 200 questions and a few, each algorithm is asked as many as any other, and other ones."""


@pytest.mark.parametrize("algorithm", choices())
def test_any_join_of_2_to_6_streams_gives_the_bag_of_the_slow_twin(algorithm):
    most = ALGORITHMS[choice(algorithm)[0]].most_streams or MOST_STREAMS
    answers = []

    @seed(choices().index(algorithm))
    @EACH
    @given(questions(most, needs_key=algorithm in HASHED))
    def law(question: Question):
        note(question.sql)
        result = question.session().sql(question.sql, algorithm=algorithm)
        ids = [column.to_pylist() for column in result.to_arrow().columns]
        answers.append(question.answer())
        assert Counter(zip(*ids, strict=True)) == answers[-1]
        assert result.progress.late == 0

    law()
    # Many graphs join nothing by chance; enough of them join something.
    assert sum(map(bool, answers)) >= 3
