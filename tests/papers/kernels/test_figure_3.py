"""Figure 3 of the 2002 paper: a tuple stays although one stream has gone beyond its window.

Five streams, one window of 10. Black tuples (upper case) join with each other, white ones (lower
case) with each other. b4 comes while stream C is far behind:

    time    -10 ..   3   4   5   9  10  11  12  14  17
    A                    a1         A2
    B                        b1             B2      B4    more than 10 after E1
    C                c1                         C2        arrives last, and meets E1
    D                            D2     d3
    E        e0              E1

When d3 makes the 4-tuple (a1, b1, c1, d3), the buffer of E is gone through. E1 lies beyond the
window of B4, but within that of A2, c1 and d3: it stays. e0 is beyond all four: it goes.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from watched import interpreted, told

from windrow.kernels import bew_period
from windrow.kernels.tuple_at_a_time import level_loops, pipeline, pipeline_machine
from windrow.kernels.tuple_at_a_time.level_loops import HwLoops, NlwLoops
from windrow.kernels.tuple_at_a_time.pipeline import LEFT, SLOT
from windrow.kernels.tuple_at_a_time.pipeline_machine import Pipeline, PipelineMachine
from windrow.kernels.tuple_at_a_time.tape import DROPS, FOUND, PROBES, Tape, TupleConditions
from windrow_papers.kernels import xjoin
from windrow_papers.kernels.runs import filled_blocks
from windrow_papers.kernels.xjoin import XJoinLoops

pytestmark = pytest.mark.slow

BLACK, WHITE = 1, 2
WINDOW = 10
STREAMS = "ABCDE"
TUPLES = {
    "a1": 4, "A2": 10,
    "b1": 5, "B2": 12, "B4": 17,
    "c1": 3, "C2": 14,
    "D2": 9, "d3": 11,
    "e0": -10, "E1": 5,
}  # fmt: skip
ARRIVALS = ["e0", "a1", "b1", "c1", "E1", "A2", "B2", "D2", "B4", "d3", "C2"]
NAMES = list(TUPLES)
LOOPS = {"nlw": NlwLoops, "hw": HwLoops, "xjoin": partial(XJoinLoops, 9)}


class Steps(list[str]):
    """What loops do with tuples, as texts; an m-tuple is named by its tuples."""

    def __init__(self, monkeypatch) -> None:
        interpreted(monkeypatch, level_loops, xjoin, pipeline, pipeline_machine, bew_period)
        for module in (level_loops, xjoin):
            take = module.take

            def admit(level, side, flow, progress, take=take) -> None:
                take(level, side, flow, progress)
                self._note("admit", level.left if side == LEFT else level.right, progress[SLOT])

            monkeypatch.setattr(module, "take", admit)
            told(monkeypatch, module, "same_words", self._meet)
            told(monkeypatch, module, "_probe", self._go_to)
        for module in (level_loops, pipeline):
            told(monkeypatch, module, "remove", self._remove)
        told(monkeypatch, pipeline, "remove_old", self._go_to)

    def _go_to(self, level, *_: object) -> None:
        self._level = level

    def _meet(self, _, __, words, slot, ___) -> None:
        left, right = self._level.left, self._level.right
        self._note("meet", left if words is left.words else right, slot)

    def _remove(self, links, heads, tails, free, bucket, before, slot) -> None:  # noqa: ARG002
        left, right = self._level.left, self._level.right
        self._note("drop", left if links is left.links else right, slot)

    def _note(self, word, store, slot) -> None:
        self.append(" ".join([word, *(NAMES[at] for at in store.places[slot])]))


def walked(monkeypatch, algorithm: str):
    """The run of figure 3: its steps, its combinations by name, its work."""
    steps = Steps(monkeypatch)
    homes = [STREAMS.index(name[0].upper()) for name in NAMES]
    words = [[BLACK if name[0].isupper() else WHITE] for name in NAMES]
    tape = Tape(
        np.array(list(TUPLES.values()), np.int64),
        np.array(words, np.uint64),
        np.array([0, *np.cumsum(np.bincount(homes))], np.int64),
    )
    upper = np.where(np.eye(5, dtype=bool), 0, WINDOW).astype(np.int64)
    conditions = TupleConditions(upper, np.ones((5, 1), np.bool_))
    turns = np.array([homes[NAMES.index(name)] for name in ARRIVALS], np.int64)
    # Room for one tuple: each climbs as soon as it is made, as GetNext has it.
    plan = Pipeline(LOOPS[algorithm], conditions, order=(0, 1, 2, 3, 4), room=1)
    machine = PipelineMachine(plan, tape.first)
    combinations = []
    for turn in range(len(turns)):
        for block in filled_blocks(machine, tape, turns[turn : turn + 1]):
            combinations += [[NAMES[at] for at in line] for line in block.tolist()]
    return steps, combinations, machine.work


def test_the_nested_loop_pipeline_goes_through_figure_3_step_by_step(monkeypatch):
    steps, combinations, work = walked(monkeypatch, "nlw")
    assert steps == [
        "admit e0",
        "admit a1",
        "admit b1", "meet a1",                         # level 1: (a1, b1) climbs,
        "admit a1 b1",                                 # level 2: and waits for C
        "admit c1", "meet a1 b1",                      # level 2: (a1, b1, c1) climbs,
        "admit a1 b1 c1",                              # level 3: and waits for D
        "admit E1",
        "admit A2", "meet b1",                         # in the window, of another color
        "admit B2", "meet a1", "meet A2",
        "admit A2 B2", "meet c1",
        "admit D2", "meet a1 b1 c1",
        "admit B4", "drop a1", "meet A2",              # a1 is more than 10 before B4
        "admit A2 B4",                                 # c1 too, but not before A2: it stays
        "admit d3", "meet a1 b1 c1",
        "admit a1 b1 c1 d3",
        "drop e0", "meet E1",                          # beyond all four; beyond B4 alone
        "admit C2", "meet a1 b1", "meet A2 B2",
        "admit A2 B2 C2", "meet D2",
        "admit A2 B2 C2 D2", "meet E1",                # the tuple that was not to be dropped
        "meet d3",                                     # back at level 3,
        "meet A2 B4",                                  # and at level 2
        "admit A2 B4 C2", "meet D2",
        "admit A2 B4 C2 D2",                           # B4 and E1: more than 10 apart
        "meet d3",
    ]  # fmt: skip
    assert combinations == [["A2", "B2", "C2", "D2", "E1"]]
    assert work[FOUND] == 1
    assert work[DROPS] == 2
    assert work[PROBES] == sum(step.startswith("admit") for step in steps)


@pytest.mark.parametrize("algorithm", ["hw", "xjoin"])
def test_the_hash_pipelines_keep_the_tuple_too(monkeypatch, algorithm):
    steps, combinations, _ = walked(monkeypatch, algorithm)
    assert combinations == [["A2", "B2", "C2", "D2", "E1"]]
    assert "drop E1" not in steps
    assert "meet b1" not in steps  # probed by key: no tuple of another color is met


def test_xjoin_drops_nothing_until_it_cleans_its_tables(monkeypatch):
    steps, _, work = walked(monkeypatch, "xjoin")
    drops = [step for step in steps if step.startswith("drop")]
    assert drops == ["drop a1", "drop e0"]
    assert work[DROPS] == 2
    # Each level cleans once nine tuples have arrived: after B4, and after d3's 4-tuple.
    assert steps.index("drop a1") == steps.index("admit B4") + 2
    assert steps.index("drop e0") > steps.index("admit a1 b1 c1 d3")
