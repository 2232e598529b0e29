"""The bestmatch kernels against plain loops over the same arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.bestmatch import dominates

from windrow.kernels.bestmatch import (
    FLOAT,
    INTEGER,
    NO_LIMIT,
    WINDOW,
    YOUNGEST,
    Index,
    Measures,
    Probes,
    Sets,
    best_of_runs,
    best_pairs,
    best_with_sets,
    intersections,
)

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)


def shifted(numbers):
    return np.array([number + 2**63 for number in numbers], np.uint64)


def bits(floats):
    return np.array(floats, np.float64).view(np.uint64)


def index_of(rows, dimensions):
    """An index of (group, time, vector) rows; places are those in the list."""
    order = sorted(range(len(rows)), key=lambda i: rows[i][:2])
    groups = [rows[i][0] for i in order]
    names = sorted(set(groups))
    starts = [groups.index(name) for name in names] + [len(groups)]
    return Index(
        np.array(names, np.uint64),
        np.array(starts, np.int64),
        np.array([rows[i][1] for i in order], np.int64),
        np.array([rows[i][2] for i in order], np.uint64).reshape(len(rows), dimensions),
        np.array(order, np.int64),
    )


def probes_of(asked, dimensions):
    """Probes of (groups, times, vector): spans as pairs, both ends included."""
    return Probes(
        np.array([groups[0] for groups, _, _ in asked], np.uint64),
        np.array([groups[1] for groups, _, _ in asked], np.uint64),
        np.array([times[0] for _, times, _ in asked], np.int64),
        np.array([times[1] for _, times, _ in asked], np.int64),
        np.array([vector for _, _, vector in asked], np.uint64).reshape(len(asked), dimensions),
    )


def integers(limits):
    return Measures(np.zeros(len(limits), np.uint8), np.array(limits, np.uint64))


def by_hand(rows, asked, limits, *, is_pruned):
    """The same pairs by comparing everything with everything."""
    kept = []
    for probe, (groups, times, wanted) in enumerate(asked):
        candidates = []
        for place, (group, time, vector) in enumerate(rows):
            apart = tuple(abs(a - b) for a, b in zip(wanted, vector, strict=True))
            in_span = groups[0] <= group <= groups[1] and times[0] <= time <= times[1]
            if in_span and all(d <= limit for d, limit in zip(apart, limits, strict=True)):
                candidates.append((place, apart))
        kept += [
            (probe, place, *apart)
            for place, apart in candidates
            if not is_pruned or not any(dominates(other, apart) for _, other in candidates)
        ]
    return sorted(kept)


def listed(pairs):
    return sorted(
        (int(probe), int(row), *map(int, apart))
        for probe, row, apart in zip(pairs.probes, pairs.rows, pairs.codes, strict=True)
    )


@st.composite
def searches(draw):
    dimensions = draw(st.integers(1, 4))
    value = st.one_of(st.integers(0, 6), st.integers(0, 2**64 - 1))
    vector = st.tuples(*[value] * dimensions)
    rows = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(-5, 5), vector), max_size=40))
    span = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted)
    times = st.tuples(st.integers(-6, 6), st.integers(-6, 6)).map(sorted)
    asked = draw(st.lists(st.tuples(span, times, vector), min_size=1, max_size=8))
    limit = st.one_of(st.integers(0, 6), st.just(NO_LIMIT))
    return rows, asked, draw(st.tuples(*[limit] * dimensions))


@pytest.mark.law
@EXAMPLES
@given(searches(), st.booleans())
def test_the_pairs_are_those_of_comparing_everything_with_everything(search, is_pruned):
    rows, asked, limits = search
    index, probes = index_of(rows, len(limits)), probes_of(asked, len(limits))
    pairs = best_pairs(index, probes, integers(limits), is_pruned)
    assert listed(pairs) == by_hand(rows, asked, limits, is_pruned=is_pruned)


@pytest.mark.law
@EXAMPLES
@given(searches())
def test_comparisons_count_the_rows_within_groups_and_times(search):
    rows, asked, limits = search
    index, probes = index_of(rows, len(limits)), probes_of(asked, len(limits))
    pairs = best_pairs(index, probes, integers(limits), True)
    touched = sum(
        groups[0] <= group <= groups[1] and times[0] <= time <= times[1]
        for groups, times, _ in asked
        for group, time, _ in rows
    )
    assert pairs.comparisons == touched


def test_the_farthest_two_integers_are_measured_exactly():
    rows = [(0, 0, tuple(shifted([2**63 - 1])))]
    asked = [((0, 0), (0, 0), tuple(shifted([-(2**63)])))]
    pairs = best_pairs(index_of(rows, 1), probes_of(asked, 1), integers([NO_LIMIT]), True)
    assert pairs.codes.tolist() == [[2**64 - 1]]


def test_an_infinite_value_is_measured_and_the_distance_of_two_infinities_is_not():
    vectors = bits([math.inf, -math.inf, 1.5, -0.0])
    index = index_of([(0, 0, (vector,)) for vector in vectors], 1)
    asked = [((0, 0), (0, 0), (value,)) for value in bits([math.inf, 0.0])]
    measures = Measures(np.array([FLOAT], np.uint8), np.array([NO_LIMIT], np.uint64))
    with np.errstate(invalid="ignore"):  # heard only where the kernel runs uncompiled
        pairs = best_pairs(index, probes_of(asked, 1), measures, False)
    found = sorted(
        (int(probe), int(row), float(apart.view(np.float64)[0]))
        for probe, row, apart in zip(pairs.probes, pairs.rows, pairs.codes, strict=True)
    )
    assert found == [
        (0, 1, math.inf),
        (0, 2, math.inf),
        (0, 3, math.inf),
        (1, 0, math.inf),
        (1, 1, math.inf),
        (1, 2, 1.5),
        (1, 3, 0.0),
    ]


def test_a_pair_is_the_younger_the_later_its_later_value_is():
    rows = [(0, 0, (value, 7)) for value in shifted([3, 5, 9])]
    asked = [((0, 0), (0, 0), (shifted([5])[0], 7))]
    kinds = np.array([YOUNGEST, INTEGER], np.uint8)
    measures = Measures(kinds, np.array([NO_LIMIT, 0], np.uint64))
    pairs = best_pairs(index_of(rows, 2), probes_of(asked, 2), measures, False)
    youngest = {int(row): int(code[0]) for row, code in zip(pairs.rows, pairs.codes, strict=True)}
    assert youngest[0] == youngest[1] > youngest[2]


def test_a_window_lets_in_what_lies_from_a_value_up_to_its_limit():
    rows = [(0, 0, (value, bits([0.5])[0])) for value in (4, 5, 8, 9)]
    asked = [((0, 0), (0, 0), (5, bits([0.0])[0]))]
    measures = Measures(np.array([WINDOW, FLOAT], np.uint8), np.array([3, NO_LIMIT], np.uint64))
    pairs = best_pairs(index_of(rows, 2), probes_of(asked, 2), measures, False)
    assert sorted(pairs.rows.tolist()) == [1, 2]
    assert pairs.codes[:, 0].tolist() == [0, 0]


def test_a_limit_on_doubles_includes_its_end():
    index = index_of([(0, 0, (value,)) for value in bits([0.75, 0.5, 0.25])], 1)
    asked = [((0, 0), (0, 0), tuple(bits([0.25])))]
    measures = Measures(np.array([FLOAT], np.uint8), bits([0.25]))
    pairs = best_pairs(index, probes_of(asked, 1), measures, False)
    assert sorted(pairs.rows.tolist()) == [1, 2]


def test_a_limit_on_doubles_ends_at_its_last_bit():
    limit = bits([0.1])
    index = index_of([(0, 0, (value,)) for value in (limit[0], limit[0] + np.uint64(1))], 1)
    asked = [((0, 0), (0, 0), tuple(bits([0.0])))]
    pairs = best_pairs(
        index, probes_of(asked, 1), Measures(np.array([FLOAT], np.uint8), limit), False
    )
    assert pairs.rows.tolist() == [0]


def test_more_pairs_than_the_output_began_with_are_all_kept():
    rows = [(0, 0, (5, 5)) for _ in range(3000)] + [(0, 0, (4, 6))]
    asked = [((0, 0), (0, 0), (0, 0)), ((0, 0), (0, 0), (5, 5))]
    pairs = best_pairs(index_of(rows, 2), probes_of(asked, 2), integers([9, 9]), True)
    assert np.bincount(pairs.probes).tolist() == [3001, 3000]


@pytest.mark.law
@EXAMPLES
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=12),
        max_size=6,
    )
)
def test_the_best_of_each_run_are_those_that_none_of_the_run_dominates(runs):
    starts = np.cumsum([0, *map(len, runs)]).astype(np.int64)
    vectors = [vector for run in runs for vector in run]
    distances = np.array(vectors, np.uint64).reshape(len(vectors), 3)
    expected = [
        starts[number] + place
        for number, run in enumerate(runs)
        for place, vector in enumerate(run)
        if not any(dominates(other, vector) for other in run)
    ]
    assert sorted(best_of_runs(starts, distances)) == expected


def test_a_pair_is_dominated_by_one_that_is_better_by_less_than_their_scores_can_tell():
    rows = [(0, 0, (11, 2**62 + 1)), (0, 0, (10, 2**62)), (0, 0, (0, 2**64 - 1))]
    rows += [(0, 0, (2**64 - 1, 0))]
    asked = [((0, 0), (0, 0), (0, 0))]
    pairs = best_pairs(index_of(rows, 2), probes_of(asked, 2), integers([NO_LIMIT] * 2), True)
    assert sorted(pairs.rows.tolist()) == [1, 2, 3]


@pytest.mark.parametrize("is_pruned", [True, False])
def test_nothing_comes_of_no_probes_or_of_an_empty_index(is_pruned):
    one_row, no_row = index_of([(0, 0, (1,))], 1), index_of([], 1)
    one_probe, no_probe = probes_of([((0, 9), (0, 9), (1,))], 1), probes_of([], 1)
    for index, probes in ((one_row, no_probe), (no_row, one_probe), (no_row, no_probe)):
        pairs = best_pairs(index, probes, integers([1]), is_pruned)
        assert len(pairs.rows) == 0
        assert pairs.comparisons == 0


def test_sets_are_better_the_more_they_contain_and_equal_ones_stay():
    sets = np.array([[0b011], [0b001], [0b111], [0b111], [0b000]], np.uint64)
    is_best = best_with_sets(np.array([0, 2, 5]), sets, 0)
    assert is_best.tolist() == [True, False, True, True, False]
    apart = np.array([[0b01], [0b10]], np.uint64)
    assert best_with_sets(np.array([0, 2]), apart, 0).all()


def test_a_set_of_several_words_and_a_number_are_compared_each_by_its_own():
    codes = np.array([[5, 0, 1], [5, 1, 1], [4, 0, 0], [6, 1, 1]], np.uint64)
    assert best_with_sets(np.array([0, 4]), codes, 1).tolist() == [False, True, True, False]


def test_intersections_are_bits_of_the_first_set():
    elements = np.arange(0, 300, 3)  # 100 elements: two words
    one = Sets(np.array([0, 0, 1]), np.array([0, 100, 101]), np.append(elements, 5))
    other = Sets(np.array([0, 1, 1]), np.array([0, 2, 4]), np.array([0, 297, 4, 5]))
    bits = intersections(one, other, 2)
    assert bits.tolist() == [[1, 1 << (99 - 64)], [0, 0], [1, 0]]
