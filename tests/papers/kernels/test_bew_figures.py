"""Figures 2 and 3 of the 2002 paper, step by step, by BEW-join as published.

The text says which tuples lie in which rectangle, which are probed, removed and output; the times
are chosen so that every statement of it holds. Window 10; black tuples (upper case) join with each
other, white ones (lower case) with each other.
"""

from __future__ import annotations

import numpy as np
import pytest

from windrow.kernels.tuple_at_a_time.tape import DROPS, FOUND, Tape, TupleConditions
from windrow_papers.kernels.runs import run_bew
from windrow_papers.kernels.trace import ADMIT, DROP, OUTPUT, PERIOD, TOUCH, trace_of

pytestmark = pytest.mark.slow

BLACK, WHITE = 1, 2
WINDOW = 10
STREAMS = "ABCDE"

# Figure 2: the stretch of each stream that is processed when A2 is; b5, c4 and a3 come later.
#
#     time    5   6   12  13  14  15  16  17  18  19  20  21  22  23
#     A           a1                                  A2          a3
#     B               b1      B2          B3      B4          b5
#     C                   C1          c2      C3          c4
#     D       D1                  D2      d3
#     E                   e1          E2
FIGURE_2 = {
    "a1": 6, "A2": 20, "a3": 23,
    "b1": 12, "B2": 14, "B3": 17, "B4": 19, "b5": 22,
    "C1": 13, "c2": 16, "C3": 18, "c4": 21,
    "D1": 5, "D2": 15, "d3": 17,
    "e1": 13, "E2": 16,
}  # fmt: skip
# Stream by stream in turn; one that has no tuple is passed over.
ARRIVALS_2 = ["a1", "b1", "C1", "D1", "e1", "B2", "c2", "D2", "E2", "B3", "C3", "d3", "B4", "A2"]
ARRIVALS_2 += ["b5", "c4", "a3"]

# Figure 3: b4 comes while stream C is behind; e1 is beyond its window, but not beyond that of C2,
# which comes next.
FIGURE_3 = {
    "A2": 10,
    "B2": 12, "b4": 17,
    "c1": 8, "C2": 14,
    "d1": 8, "D2": 9,
    "e0": -5, "E1": 5,
}  # fmt: skip
ARRIVALS_3 = ["e0", "c1", "d1", "E1", "D2", "A2", "B2", "b4", "C2"]


def walked(tuples: dict[str, int], arrivals: list[str], method: str):
    """A run: the steps of each arrival as texts, the combinations by name, the work."""
    names = list(tuples)
    homes = [STREAMS.index(name[0].upper()) for name in names]
    words = [[BLACK if name[0].isupper() else WHITE] for name in names]
    tape = Tape(
        np.array(list(tuples.values()), np.int64),
        np.array(words, np.uint64),
        np.array([0, *np.cumsum(np.bincount(homes))], np.int64),
    )
    upper = np.where(np.eye(5, dtype=bool), 0, WINDOW).astype(np.int64)
    conditions = TupleConditions(upper, np.ones((5, 1), np.bool_))
    turns = np.array([homes[names.index(name)] for name in arrivals], np.int64)
    trace = trace_of(1000)
    found = run_bew(tape, conditions, turns, method=method, trace=trace)
    combinations = [" ".join(names[at] for at in line) for line in found.combinations.tolist()]
    steps: dict[str, list[str]] = {}
    for event, first, second in trace.events[: trace.noted[0]].tolist():
        if event == ADMIT:
            own = steps[names[second]] = []
        elif event == PERIOD:
            own.append(f"period {first} to {second}")
        elif event == OUTPUT:
            own.append(f"output {combinations[second]}")
        else:
            own.append(f"{ {TOUCH: 'probe', DROP: 'drop'}[event] } {names[second]}")
    return steps, combinations, found.work


OUTPUT_OF_A2 = [
    "A2 B2 C1 D2 E2",
    "A2 B2 C3 D2 E2",
    "A2 B3 C1 D2 E2",
    "A2 B3 C3 D2 E2",
    "A2 B4 C1 D2 E2",
    "A2 B4 C3 D2 E2",
]


def test_figure_2_i_is_walked_through_as_the_text_has_it():
    steps, _, _ = walked(FIGURE_2, ARRIVALS_2, "nested-loop")
    until_second_output = [
        "period 10 to 30",                   # of length 2w, centered at A2: the rectangle over B
        "probe b1",                          # inside, but white
        "probe B2", "period 10 to 24",       # inside: the period shrinks, over C
        "probe C1", "period 10 to 23",       # over D
        "probe D1", "drop D1",               # more than w from A2, B4, C3 and E2
        "probe D2", "period 10 to 23",       # over E
        "probe e1",
        "probe E2", "output A2 B2 C1 D2 E2",
        "probe d3",                          # back in D,
        "probe c2",                          # then in C
        "probe C3", "period 10 to 24",
        "probe D2", "period 10 to 24",       # D1 is not met again
        "probe e1",
        "probe E2", "output A2 B2 C3 D2 E2",
        "probe d3",
        "probe B3",                          # and finally in B
    ]  # fmt: skip
    assert steps["A2"][: len(until_second_output)] == until_second_output
    outputs = [step for step in steps["A2"] if step.startswith("output")]
    assert outputs == [f"output {combination}" for combination in OUTPUT_OF_A2]


def test_figure_2_ii_constructs_four_periods_and_outputs_nothing():
    steps, _, _ = walked(FIGURE_2, ARRIVALS_2, "nested-loop")
    assert steps["b5"] == [
        "period 12 to 32",                   # over C
        "probe C1",
        "probe c2", "period 12 to 26",       # over D
        "probe D2",
        "probe d3", "period 12 to 26",       # over E
        "probe e1", "period 12 to 23",       # over A: a3 lies in it, but not in the buffer yet
        "probe a1", "probe A2",
        "probe E2",
        "probe C3",                          # c4 lies in the rectangle over C, and comes later
    ]  # fmt: skip


@pytest.mark.parametrize("method", ["nested-loop", "hash"])
def test_what_came_too_late_for_b5_joins_it_in_its_own_turn(method):
    steps, combinations, work = walked(FIGURE_2, ARRIVALS_2, method)
    later = ["a3 b5 c2 d3 e1", "a3 b5 c4 d3 e1"]
    assert combinations == [*OUTPUT_OF_A2, *later]
    assert [step for step in steps["a3"] if "output" in step] == [f"output {c}" for c in later]
    assert work[FOUND] == len(combinations)


def test_by_hash_only_tuples_of_the_key_are_probed():
    steps, _, _ = walked(FIGURE_2, ARRIVALS_2, "hash")
    assert steps["A2"][:10] == [
        "period 10 to 30",
        "probe B2", "period 10 to 24",
        "probe C1", "period 10 to 23",
        "probe D1", "drop D1",
        "probe D2", "period 10 to 23",
        "probe E2",
    ]  # fmt: skip
    assert not [step for step in steps["A2"] if step.startswith("probe") and step[6].islower()]


@pytest.mark.parametrize("method", ["nested-loop", "hash"])
def test_figure_3_a_tuple_beyond_the_window_of_one_stream_stays(method):
    steps, combinations, work = walked(FIGURE_3, ARRIVALS_3, method)
    probed = [step for step in steps["b4"] if step.split()[1] in {"e0", "E1"}]
    # b4 goes through E by way of c1 and d1. e0 is beyond all streams; E1 beyond b4 alone.
    scanned = ["probe e0", "drop e0", "probe E1"]
    assert probed == (scanned if method == "nested-loop" else scanned[:2])
    assert combinations == ["A2 B2 C2 D2 E1"]
    assert steps["C2"][-1] != "drop E1"
    assert work[DROPS] == 1


def test_figure_3_output_comes_in_the_turn_of_the_tuple_that_completes_it():
    steps, _, _ = walked(FIGURE_3, ARRIVALS_3, "nested-loop")
    assert steps["C2"] == [
        "period 4 to 24",
        "probe d1",
        "probe D2", "period 4 to 19",
        "probe E1", "period 4 to 15",
        "probe A2", "period 4 to 15",
        "probe B2", "output A2 B2 C2 D2 E1",
        "probe b4",
    ]  # fmt: skip
