"""Estimates against the twin: any combinations, any batches, stopped or not."""

from __future__ import annotations

from collections import Counter

import pytest
from case_share import share_of
from cases.estimates import ASKED, aggregate, combinations, marks, shown
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.estimates import Combination, estimate

from windrow.operators.aggregates import sliding
from windrow.schema import MAX_TICK

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(60), deadline=None, derandomize=True)
CHANCES = st.sampled_from([1.0, 1.0, 0.5, 0.3, 0.01])
VALUES = st.one_of(
    st.none(),
    st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e6, -1e6]),
    st.integers(-9000, 9000).map(lambda n: n * 0.001),
)
SPANS = st.lists(
    st.tuples(st.integers(0, 10), st.integers(1, 4)).map(lambda own: (own[0], sum(own))), max_size=3
)


@st.composite
def streams(draw):
    """How many inputs, and combinations of a few draws; each has its draws but once."""
    inputs = draw(st.integers(2, 3))
    numbers = st.tuples(*[st.integers(0, 3)] * inputs)
    chances = st.tuples(*[CHANCES] * inputs)
    rows = []
    for own in draw(st.lists(numbers, unique=True, max_size=12)):
        time = draw(st.integers(0, 6))
        end = time + draw(st.integers(1, 5))
        key, value = draw(st.integers(0, 1)), draw(VALUES)
        rows.append(Combination(key, value, own, draw(chances), time, end))
    return inputs, sorted(rows, key=lambda row: row.time)


def batch_of(rows, inputs):
    return combinations(
        [row.key for row in rows],
        [row.value for row in rows],
        [[row.draws[at] for row in rows] for at in range(inputs)],
        [[row.chances[at] for row in rows] for at in range(inputs)],
        [row.time for row in rows],
        [row.end for row in rows],
    )


def run(inputs, rows, watermarks=(), *, is_keyed=True, restart=False, spans=()):
    """All changes; rows and marks come in the micro-batch before their time is passed."""
    operator = aggregate(inputs=inputs, is_keyed=is_keyed)
    changes, start, before = [], 0, -1
    for watermark in (*watermarks, MAX_TICK):
        stop = sum(row.time < watermark for row in rows)
        if stop > start:
            list(operator.push([batch_of(rows[start:stop], inputs)]))
        start = max(start, stop)
        own = [span for span in spans if before <= span[0] < watermark]
        before = max(before, watermark)
        if own:
            list(operator.push([marks(own, inputs)]))
        changes += shown(operator.advance(watermark))
        if restart:
            kept = operator.snapshot()
            operator = aggregate(inputs=inputs, is_keyed=is_keyed)
            operator.restore(kept)
    return changes


def expected(rows):
    made = [estimate(function, argument, rows) for function, argument in ASKED]
    return [end for low, value, high in made for end in (value, low, high)]


@EXAMPLES
@given(streams(), st.booleans())
def test_estimates_are_those_of_the_twin_at_every_instant(stream, is_keyed):
    inputs, rows = stream
    changes = run(inputs, rows, is_keyed=is_keyed)
    for instant in range(12):
        standing = Counter()
        for time, sign, row in changes:
            if time <= instant:
                standing[row] += sign
        answers = {row[:is_keyed]: row[is_keyed:] for row, many in standing.items() if many}
        groups: dict[tuple[int, ...], list[Combination]] = {}
        for row in rows:
            if row.time <= instant < row.end:
                groups.setdefault((row.key,) if is_keyed else (), []).append(row)
        if not is_keyed and not groups and answers:
            continue  # what is known of no combination is for another test
        assert answers.keys() == groups.keys()
        for group, members in groups.items():
            scale = sum(abs(row.value or 0.0) * row.weight for row in members) + 1.0
            for answer, twin in zip(answers[group], expected(members), strict=True):
                assert answer == (twin if twin is None else pytest.approx(twin, 1e-5, 1e-9 * scale))


@EXAMPLES
@given(
    streams(),
    st.lists(st.integers(0, 12), max_size=5).map(sorted),
    st.booleans(),
    st.sampled_from([1, sliding.SlidingOp.step_rows]),
    SPANS,
)
def test_the_same_rows_come_out_whatever_the_batches_and_the_stops(
    stream, watermarks, is_keyed, step_rows, spans
):
    inputs, rows = stream
    whole = run(inputs, rows, is_keyed=is_keyed, spans=spans)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliding.SlidingOp, "step_rows", step_rows)
        made = run(inputs, rows, watermarks, is_keyed=is_keyed, restart=True, spans=spans)
        assert Counter(made) == Counter(whole)
