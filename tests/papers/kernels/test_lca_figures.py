"""Figure 10 of the 2002 paper by LCA, and why LCA as printed loses results.

Figure 10: four streams, six windows that grow with their index, w1 = 4 to w6 = 9. The text says
that mode 1 takes w6 for A and w5 for B, which starting N-tuple it finds, and that the refinement
then tests every pair.

    AB = w1 = 4    CD = w2 = 5    AD = w3 = 6    BD = w4 = 7    BC = w5 = 8    AC = w6 = 9
    largest:       A 9 (w6)       B 8 (w5)       C 9            D 7
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from watched import interpreted, told

from windrow.kernels import bew_period
from windrow.kernels.tuple_at_a_time import sweep
from windrow.kernels.tuple_at_a_time import sweep_machine as sweep_machines
from windrow.kernels.tuple_at_a_time.tape import REFINED, Tape, TupleConditions
from windrow_papers.kernels import conservative, conservative_machines
from windrow_papers.kernels.conservative import windows_of
from windrow_papers.kernels.runs import run_gca, run_lca, turns_in_time_order

pytestmark = pytest.mark.slow

FIGURE_10 = {
    "a1": 0, "a2": 11, "a3": 30,
    "b1": -20, "b2": 12, "b3": 18, "b4": 50,
    "c1": 1, "c2": 10, "c3": 16, "c4": 70,
    "d1": 2, "d2": 14, "d3": 90,
}  # fmt: skip
WINDOWS_10 = {"AB": 4, "CD": 5, "AD": 6, "BD": 7, "BC": 8, "AC": 9}


def layout(tuples: dict[str, int], windows: dict[str, int]) -> tuple[Tape, TupleConditions]:
    """The tuples as a tape without keys, and their windows."""
    streams = sorted({name[0] for name in tuples})
    homes = [streams.index(name[0]) for name in tuples]
    upper = np.zeros((len(streams), len(streams)), np.int64)
    for pair, window in windows.items():
        a, b = (streams.index(letter.lower()) for letter in pair)
        upper[a, b] = upper[b, a] = window
    tape = Tape(
        np.array(list(tuples.values()), np.int64),
        np.zeros((len(tuples), 0), np.uint64),
        np.array([0, *np.cumsum(np.bincount(homes))], np.int64),
    )
    return tape, TupleConditions(upper, np.zeros((len(streams), 0), np.bool_))


def walked(monkeypatch) -> tuple[list[str], list[str], np.ndarray]:
    """The steps as texts, the combinations by name, and the work: LCA as plain Python."""
    interpreted(monkeypatch, sweep_machines, conservative_machines, conservative, sweep, bew_period)
    names, steps = list(FIGURE_10), []
    period = conservative._local_period

    def look(own, local, sweep, stream) -> None:
        low, high = period(own, local, sweep)
        within = "" if high == bew_period.MOST else f" in {low} to {high}"
        steps.append(f"look at {names[sweep.head[stream]]}{within}")

    def admit(_, sweep, __, stream) -> None:
        steps.append(f"admit {names[sweep.taken[stream]]}")

    def drop(_, sweep, __, stream, ___) -> None:
        steps.append(f"drop {names[sweep.head[stream]]}")

    def give(chosen, *_: object) -> None:
        steps.append("output " + " ".join(names[at] for at in chosen))

    calls = {"_is_left": look, "admit": admit, "drop_oldest": drop, "give": give}
    for name, note in calls.items():
        told(monkeypatch, conservative, name, note)
    tape, conditions = layout(FIGURE_10, WINDOWS_10)
    turns = turns_in_time_order(tape)
    done = run_lca(tape, conditions, turns, stated=conditions.upper)
    combinations = [" ".join(names[at] for at in line) for line in done.combinations.tolist()]
    return steps, combinations, done.work


def test_the_window_of_a_stream_is_its_largest():
    _, conditions = layout(FIGURE_10, WINDOWS_10)
    assert windows_of(conditions.upper, conditions.upper).local.tolist() == [9, 8, 9, 7]


def test_directed_and_asymmetric_windows_are_covered_by_their_farther_end():
    upper = np.array([[0, 5], [-2, 0]], np.int64)  # t(b) - t(a) in [2, 5]
    assert windows_of(upper, upper).local.tolist() == [5, 5]


def test_mode_1_of_figure_10_finds_its_starting_tuple(monkeypatch):
    steps, _, _ = walked(monkeypatch)
    mode_1 = [
        "look at a1",
        "look at b1 in -9 to 9", "drop b1",  # w6 = 9 around a1
        "look at b2 in -9 to 9",  # right of it
        "look at c1 in 4 to 20", "drop c1",  # w5 = 8 around b2
        "look at c2 in 4 to 20",
        "look at d1 in 4 to 19", "drop d1",
        "look at d2 in 4 to 19",
        "drop a1",  # b2 has shown that it is too old
        "look at a2 in 7 to 19",
    ]  # fmt: skip
    assert steps[: len(mode_1)] == mode_1
    admitted = [step for step in steps[len(mode_1) :] if step.startswith(("admit", "output"))]
    assert admitted[:5] == [
        "admit a2", "admit b2", "admit c2", "admit d2", "output a2 b2 c2 d2",
    ]  # fmt: skip


def test_the_refinement_throws_out_what_a_pair_excludes(monkeypatch):
    _, combinations, work = walked(monkeypatch)
    # b3 lies in the period, but 7 from a2, which allows 4.
    assert combinations == ["a2 b2 c2 d2", "a2 b2 c3 d2"]
    assert work[REFINED] == 2


# AB = 12, AC = 6, BC = 6: the largest are 12, 12 and 6. With a1, b1 and c1 the period ends at 11,
# where c1's window does. a1 is the oldest, but its own window reaches b2:
#
#     time      0       5   6            11  12
#     a1        |===========================|        until 12
#     c1                |===============|            until 11: goes first
#     c2                    o
#     b1, b2                o                o       a1, b2, c2 are within all windows
COUNTEREXAMPLE = {"a1": 0, "a2": 40, "b1": 6, "b2": 12, "b3": 40, "c1": 5, "c2": 6, "c3": 40}
WINDOWS = {"AB": 12, "AC": 6, "BC": 6}


def slow_lca(tuples: dict[str, int], windows: dict[str, int], *, as_printed: bool) -> set[str]:
    """LCA in plain Python; as printed, mode 2 ends by dropping the oldest tuple."""
    streams = [[n for n in tuples if n[0] == letter] for letter in "abc"]
    local = [max(w for p, w in windows.items() if letter in p.lower()) for letter in "abc"]
    answer: set[str] = set()
    while all(streams):
        heads = [own[0] for own in streams]
        ends = [tuples[head] + window for head, window in zip(heads, local, strict=True)]
        begins = [tuples[head] - window for head, window in zip(heads, local, strict=True)]
        left = [i for i, head in enumerate(heads) if tuples[head] < max(begins)]
        if left:
            streams[left[0]].pop(0)
            continue
        if all(tuples[head] <= min(ends) for head in heads):
            inside = [[n for n in own if tuples[n] <= min(ends)] for own in streams]
            for found in itertools.product(*inside):
                near = (
                    abs(tuples[x] - tuples[y]) <= windows[(x[0] + y[0]).upper()]
                    for x, y in itertools.combinations(found, 2)
                )
                answer |= {" ".join(found)} if all(near) else set()
        oldest = min(range(3), key=lambda i: tuples[heads[i]])
        first_out = min(range(3), key=lambda i: ends[i])
        streams[oldest if as_printed else first_out].pop(0)
    return answer


def brute_force(tuples: dict[str, int], windows: dict[str, int]) -> set[str]:
    streams = [[n for n in tuples if n[0] == letter] for letter in "abc"]
    return {
        " ".join(found)
        for found in itertools.product(*streams)
        if all(
            abs(tuples[x] - tuples[y]) <= windows[(x[0] + y[0]).upper()]
            for x, y in itertools.combinations(found, 2)
        )
    }


def test_dropping_the_oldest_as_printed_loses_a_result():
    whole = brute_force(COUNTEREXAMPLE, WINDOWS)
    assert slow_lca(COUNTEREXAMPLE, WINDOWS, as_printed=True) == whole - {"a1 b2 c2"}
    assert slow_lca(COUNTEREXAMPLE, WINDOWS, as_printed=False) == whole


@pytest.mark.parametrize("run", [run_gca, run_lca])
def test_dropping_the_tuple_whose_window_ends_first_does_not(run):
    tape, conditions = layout(COUNTEREXAMPLE, WINDOWS)
    done = run(tape, conditions, turns_in_time_order(tape), stated=conditions.upper)
    names = list(COUNTEREXAMPLE)
    found = {" ".join(names[at] for at in line) for line in done.combinations.tolist()}
    assert found == brute_force(COUNTEREXAMPLE, WINDOWS)
