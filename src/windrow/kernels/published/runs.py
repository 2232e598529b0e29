"""A machine over a tape that is all there: how experiments and walk-throughs run an algorithm.

Every algorithm has the same signature here:

    run_bew(tape, conditions, turns, method="hash") -> Run
    run_bew_graph(...), run_closure(...), run_ripple(..., clean_every=10_000)

`turns` is the order in which tuples arrive, as an array of stream numbers; a stream's tuples come
in the order in which they lie on the tape. As published, the newest time stamps decide what is
dropped. For service times over the run, drive the machine in slices: `in_slices`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from windrow.kernels.published.machine import Machine
from windrow.kernels.published.tape import Found, Numbers, Tape, room_for

ROOM = 1 << 14
"""Combinations that are handed over together."""


class Run(NamedTuple):
    """What a run gave: combinations, a line each in the order they came, and the work."""

    combinations: Numbers
    work: Numbers


def run(machine: Machine, tape: Tape, turns: Numbers, *, room: int = ROOM) -> Run:
    """Lets a machine take all arrivals."""
    blocks = list(filled_blocks(machine, tape, turns, room=room))
    combinations = np.concatenate(blocks) if blocks else room_for(0, len(tape.first) - 1).positions
    return Run(combinations, machine.work.copy())


def filled_blocks(
    machine: Machine, tape: Tape, turns: Numbers, *, room: int = ROOM
) -> Iterator[Numbers]:
    """The combinations of some more arrivals, in blocks."""
    found: Found = room_for(room, len(tape.first) - 1)
    machine.begin(tape, turns)
    through = False
    while not through:
        found.filled[0] = 0
        through = machine.fill(tape, found)
        if found.filled[0]:
            yield found.positions[: found.filled[0]].copy()


def in_slices(
    machine: Machine, tape: Tape, turns: Numbers, every: int, *, room: int = ROOM
) -> Iterator[Numbers]:
    """Lets a machine take arrivals, some at a time; gives the work of each slice."""
    found = room_for(room, len(tape.first) - 1)
    before = machine.work.copy()
    for start in range(0, len(turns), every):
        machine.begin(tape, turns[start : start + every])
        through = False
        while not through:
            found.filled[0] = 0
            through = machine.fill(tape, found)
        yield machine.work - before
        before = machine.work.copy()


def turns_in_time_order(tape: Tape) -> Numbers:
    """The streams of all tuples as time goes by; at one time, in the order of the streams."""
    sizes = np.diff(tape.first)
    streams = np.repeat(np.arange(len(sizes)), sizes)
    return streams[np.lexsort((streams, tape.times[: len(streams)]))]
