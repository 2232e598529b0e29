"""Figure 6 of the 2002 paper, step by step, by FEW-join as published (there: MW-join).

The text says which tuples are tested against which period, dropped, admitted and output; the times
are chosen so that every statement of it holds. Window 10; black tuples (upper case) join with each
other, white ones (lower case) with nothing.

    time   -5   3   4   5   9   12  13  14  15  16  17  18  21  22  23  24  25
    A                   a1      A2                          a3
    B               b1              B2              B3          b4
    C                       C1                                      c2
    D      d1                                   D2                      d3
    E           e1                          E2                              e4
                                                e3 (17, white)
"""

from __future__ import annotations

import numpy as np
import pytest
from watched import interpreted, told

from windrow.kernels import bew_period
from windrow.kernels.tuple_at_a_time import few as few_module
from windrow.kernels.tuple_at_a_time import sweep
from windrow.kernels.tuple_at_a_time import sweep_machine as sweep_machines
from windrow.kernels.tuple_at_a_time.sweep_machine import FewMachine
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    TOUCHED,
    Tape,
    TupleConditions,
    room_for,
)
from windrow_papers.kernels.loop_machine import order_by_keys
from windrow_papers.kernels.runs import run_few, turns_in_time_order

pytestmark = pytest.mark.slow

BLACK = 1_000
WINDOW = 10
FIGURE_6 = {
    "a1": 5, "A2": 12, "a3": 21,
    "b1": 4, "B2": 13, "B3": 18, "b4": 22,
    "C1": 9, "c2": 23,
    "d1": -5, "D2": 16, "d3": 24,
    "e1": 3, "E2": 15, "e3": 17, "e4": 25,
}  # fmt: skip
NAMES = list(FIGURE_6)
CONDITIONS = TupleConditions(
    np.where(np.eye(5, dtype=bool), 0, WINDOW).astype(np.int64), np.ones((5, 1), np.bool_)
)


def tape() -> Tape:
    homes = ["ABCDE".index(name[0].upper()) for name in NAMES]
    return Tape(
        np.array(list(FIGURE_6.values()), np.int64),
        np.array([[BLACK if name[0].isupper() else n] for n, name in enumerate(NAMES)], np.uint64),
        np.array([0, *np.cumsum(np.bincount(homes))], np.int64),
    )


def walked(monkeypatch, method: str) -> tuple[list[str], list[str], np.ndarray]:
    """The steps as texts, the combinations by name, and the work: FEW as plain Python."""
    interpreted(monkeypatch, sweep_machines, few_module, sweep, bew_period)
    steps: list[str] = []
    period = few_module._period

    def look(own, conditions, sweep, stream) -> None:
        low, high = period(own, conditions, sweep, stream)
        within = "" if high == bew_period.MOST else f" in {low} to {high}"
        steps.append(f"look at {NAMES[sweep.head[stream]]}{within}")

    def admit(_, sweep, __, stream) -> None:
        steps.append(f"admit {NAMES[sweep.taken[stream]]}")

    def drop(_, sweep, __, stream, ___) -> None:
        steps.append(f"drop {NAMES[sweep.head[stream]]}")

    def give(chosen, *_: object) -> None:
        steps.append("output " + " ".join(NAMES[at] for at in chosen))

    calls = {"_period": look, "admit": admit, "drop_oldest": drop, "give": give}
    for name, note in calls.items():
        told(monkeypatch, few_module, name, note)
    own = tape()
    done = run_few(own, CONDITIONS, turns_in_time_order(own), method=method)
    combinations = [" ".join(NAMES[at] for at in line) for line in done.combinations.tolist()]
    return steps, combinations, done.work


MODE_1 = [
    # Step 1: the period that includes a1; 2 and 3: shrunk for b1 and c1, which lie in it.
    "look at a1",
    "look at b1 in -5 to 15",
    "look at C1 in -5 to 14",
    # Steps 4 and 5: d1 is left of the period, d2 right of it. 6: a new period, centered at d2.
    "look at d1 in -1 to 14", "drop d1",
    "look at D2 in -1 to 14",
    # Steps 7 and 8: e1 is left of that, e2 in it.
    "look at e1 in 6 to 26", "drop e1",
    "look at E2 in 6 to 26",
    # Back at the first stream: a1 and b1 are left of the period now; c1 is in it still.
    "look at a1 in 6 to 25", "drop a1",
    "look at A2 in 6 to 25",
    "look at b1 in 6 to 22", "drop b1",
    "look at B2 in 6 to 22",
    "look at C1 in 6 to 22",
]  # fmt: skip


@pytest.mark.parametrize("method", ["nested-loop", "hash"])
def test_mode_1_goes_through_the_steps_of_figure_6(monkeypatch, method):
    steps, _, _ = walked(monkeypatch, method)
    assert steps[: len(MODE_1)] == MODE_1


@pytest.mark.parametrize("method", ["nested-loop", "hash"])
def test_mode_2_begins_with_the_starting_tuple_and_ends_by_dropping_the_oldest(monkeypatch, method):
    steps, _, _ = walked(monkeypatch, method)
    loops = steps[len(MODE_1) :]
    assert loops[:9] == [
        "admit A2", "admit B2", "admit C1", "admit D2", "admit E2",
        "output A2 B2 C1 D2 E2",
        "admit B3", "output A2 B3 C1 D2 E2",
        "admit e3",
    ]  # fmt: skip
    # Every stream's next tuple is right of the period: all of a3, b4, c2, d3 and e4 are beyond 19.
    assert loops[9] == "drop C1"


@pytest.mark.parametrize("method", ["nested-loop", "hash"])
def test_the_output_is_that_of_the_paper(monkeypatch, method):
    _, combinations, work = walked(monkeypatch, method)
    assert combinations == ["A2 B2 C1 D2 E2", "A2 B3 C1 D2 E2"]
    assert work[FOUND] == 2
    assert work[DROPS] == len(NAMES)  # the streams have ended: nothing is waited for


def test_mode_2_looks_at_buffered_tuples_alone_and_by_hash_at_those_of_a_bucket():
    own = tape()
    turns = turns_in_time_order(own)
    scanned, hashed = (
        run_few(own, CONDITIONS, turns, method=method).work[TOUCHED]
        for method in ("nested-loop", "hash")
    )
    # The starting tuple and B3 look at four black ones each. A white one looks at the first that it
    # would meet, with which it does not agree, or by hash at none.
    assert hashed == 4 + 4
    assert scanned == hashed + sum(
        name[0].islower() for name in ("e3", "a3", "b4", "c2", "d3", "e4")
    )


def test_a_stream_that_stalls_makes_the_sweep_wait():
    """The price of mode 2, as the paper says: tuples wait for streams that have nothing to say."""
    own = tape()
    machine = FewMachine(CONDITIONS, own.first, order_by_keys(CONDITIONS), method="nested-loop")
    found = room_for(10, 5)
    only_four = np.array([0] * 3 + [1] * 4 + [3] * 3 + [4] * 4, np.int64)  # nothing of stream C
    machine.begin(own, only_four)
    assert machine.fill(own, found)
    assert found.filled[0] == 0
    machine.begin(own, np.array([2], np.int64))
    assert machine.fill(own, found)
    assert found.filled[0] == 2
