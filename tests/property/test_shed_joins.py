"""Joins that shed: a part of the exact answer, within bounds, however their input is cut."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from case_share import share_of
from cases.join_runs import (
    Case,
    batch_of,
    cases,
    cases_near_the_ends_of_the_scale,
    expected,
    result_rows,
    stored_and_read_back,
)
from cases.shed_joins import bytes_held
from cases.tape import TAPES
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from windrow.operators.engine.base import build
from windrow.operators.joins import bew_search
from windrow.operators.load_shedding import structured_join
from windrow.operators.load_shedding.join import ShedJoinOp
from windrow.physical.load_shedding.limits import STRATEGIES, Shedding
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.physical.structures import PartSizes
from windrow.schema import MAX_TICK

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(40), deadline=None, derandomize=True)
LIMITS = st.builds(
    lambda memory, **others: Shedding(memory=memory[0], is_in_bytes=memory[1], **others),
    memory=st.sampled_from([(None, False), *((float(n), False) for n in range(1, 9)),
                            *((float(1_000 * n), True) for n in range(1, 8))]),
    service_rate=st.none() | st.floats(0.1, 3),
    strategy=st.sampled_from(STRATEGIES),
    seed=st.integers(0, 3),
)  # fmt: skip


def by_backward_evaluation(case: Case, limit: Shedding) -> ShedJoinOp:
    return build(SheddingJoin.of(case.node, limit, case.node.schema))


def run(
    case: Case, limit: Shedding, made: Callable = by_backward_evaluation
) -> tuple[Counter, int]:
    """All results, and the most that was stored, rows at hand included.

    Checks the bound and what `due` promises on the way.

    `made` makes the operator, and another after every resumption.
    """
    operator = made(case, limit)
    out, peak, positions = Counter(), 0, [0] * len(case.rows)
    for number, cut in enumerate(case.cuts):
        batches = []
        for port, taken in enumerate(cut):
            rows = case.rows[port][positions[port] : positions[port] + taken]
            batches.append(batch_of(case, port, rows) if rows else None)
            positions[port] += taken
        assert not list(operator.push(batches))
        peak = max(peak, sum(buffer.rows for buffer in operator.buffers()))
        rest = [row.time for own, at in zip(case.rows, positions, strict=True) for row in own[at:]]
        watermark = min(rest) - case.slack if rest else MAX_TICK
        due, stored = operator.due(), sum(buffer.rows for buffer in operator.buffers())
        results = list(operator.advance(watermark))
        if due > watermark:
            assert not results
            assert operator.counters.stored == stored
        assert not list(operator.settle())  # no totals, no marks
        for result in results:
            out.update(map(repr, result_rows(result, case.node)))
        held = bytes_held(operator) if limit.is_in_bytes else operator.counters.stored
        assert limit.memory is None or held <= limit.memory
        assert operator.counters.stored == sum(buffer.rows for buffer in operator.buffers())
        if number in case.resumes:
            figures = operator.counters
            snapshot = stored_and_read_back(operator.snapshot())
            operator = made(case, limit)
            operator.restore(snapshot)
            operator.counters.shed_found = figures.shed_found
    assert operator.counters.stored == 0 or not case.cuts
    assert operator.counters.shed_found == out.total()
    return out, peak


def at_once(case: Case) -> Case:
    """The same rows in one push, never resumed."""
    sizes = tuple(len(own) for own in case.rows)
    return replace(case, cuts=(sizes,) if any(sizes) else (), resumes=())


@EXAMPLES
@given(cases(), LIMITS)
def test_what_is_found_is_a_part_of_the_answer_that_no_restart_changes(case, limit):
    found, _ = run(case, limit)
    assert found <= Counter(repr(row) for _, row in expected(case))
    assert found == run(replace(case, resumes=()), limit)[0]
    if limit.memory is None:
        # Nothing that waits has to go: no cut changes the answer.
        assert found == run(at_once(case), limit)[0]


@EXAMPLES
@given(cases())
def test_memory_for_windows_and_all_that_waits_gives_the_whole_answer(case):
    whole, peak = run(case, Shedding())
    assert whole == Counter(repr(row) for _, row in expected(case))
    assert run(case, Shedding(memory=float(peak), service_rate=100.0))[0] == whole


@settings(max_examples=share_of(40), deadline=None, derandomize=True)
@given(cases_near_the_ends_of_the_scale(), LIMITS)
def test_times_near_the_ends_of_the_scale_do_not_overflow(case, limit):
    assert run(case, limit)[0] <= Counter(repr(row) for _, row in expected(case))


NAMES = ("buffer", "hash", "btree", "ttree")
PAIRS = [*itertools.product(NAMES, NAMES)]
SMALL = PartSizes(bucket=2, node=3)
"""Nodes of three and buckets of two: all splits."""


@pytest.fixture
def little_room():
    """Room for three matches, and two tuples that probe together."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (bew_search, structured_join):
            patch.setattr(module, "MOST_FOUND", 3)
        patch.setattr(structured_join, "START_ROWS", 2)
        yield


def by_structures(pair: tuple[str, str]) -> Callable:
    def made(case: Case, limit: Shedding) -> ShedJoinOp:
        own = pair if case.node.classes else ("buffer", "buffer")
        node = replace(case.node, algorithm="asymmetric", structures=own, sizes=SMALL)
        operator = build(SheddingJoin.of(node, limit, node.schema))
        assert isinstance(operator, structured_join.StructuredShedJoinOp)
        return operator

    return made


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("pair", PAIRS, ids=["/".join(pair) for pair in PAIRS])
@settings(max_examples=share_of(8), deadline=None, derandomize=True)
@given(case=cases(most_inputs=2), limit=LIMITS)
def test_structures_find_what_backward_evaluation_finds(pair, case, limit):
    assert run(case, limit, by_structures(pair)) == run(case, limit)
    whole = Counter(repr(row) for _, row in expected(case))
    plenty = Shedding(memory=100.0, service_rate=100.0)
    assert run(case, plenty, by_structures(pair))[0] == whole


@pytest.mark.usefixtures("little_room")
@settings(max_examples=share_of(60), deadline=None, derandomize=True)
@given(cases(most_inputs=2), LIMITS, TAPES)
def test_any_structures_go_on_from_the_state_of_any_others(case, limit, choices):
    case = replace(case, resumes=tuple(range(len(case.cuts))))

    def made(case: Case, limit: Shedding) -> ShedJoinOp:
        if choices.random() < 0.3:
            return by_backward_evaluation(case, limit)
        return by_structures(choices.choice(PAIRS))(case, limit)

    assert run(case, limit, made) == run(case, limit)


@settings(max_examples=share_of(30), deadline=None, derandomize=True)
@given(cases_near_the_ends_of_the_scale(), LIMITS, st.sampled_from(PAIRS))
def test_structures_do_not_overflow_near_the_ends_of_the_scale(case, limit, pair):
    assume(len(case.rows) == 2)
    assert run(case, limit, by_structures(pair)) == run(case, limit)
