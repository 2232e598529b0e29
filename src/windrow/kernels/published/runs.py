"""A machine over a tape that is all there: how experiments and walk-throughs run an algorithm.

Every algorithm has the same signature here:

    run_bew(tape, conditions, turns, method="hash") -> Run
    run_bew_graph(..., reach=closed), run_closure(...), run_ripple(..., clean_every=10_000)

`turns` is the order in which tuples arrive, as an array of stream numbers; a stream's tuples come
in the order in which they lie on the tape. As published, the newest time stamps decide what is
dropped. For service times over the run, drive the machine in slices: `in_slices`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from windrow.kernels.published.arrival import order_by_keys
from windrow.kernels.published.bew import BewNestedLoop
from windrow.kernels.published.bew_graph import BewGraph
from windrow.kernels.published.bew_hash import BewHash
from windrow.kernels.published.closure import Closure
from windrow.kernels.published.machine import Machine, blocks
from windrow.kernels.published.ripple import CLEAN_EVERY, Ripple
from windrow.kernels.published.tape import Conditions, Numbers, Tape, Trace, room_for

ROOM = 1 << 14
"""Combinations that are handed over together."""


class Run(NamedTuple):
    """What a run gave: combinations, a line each in the order they came, and the work."""

    combinations: Numbers
    work: Numbers


def run_bew(
    tape: Tape,
    conditions: Conditions,
    turns: Numbers,
    *,
    method: str = "nested-loop",
    trace: Trace | None = None,
) -> Run:
    """BEW-join, by "nested-loop" or "hash"."""
    make = BewHash if method == "hash" else BewNestedLoop
    return run(make(conditions, tape.first, order_by_keys(conditions), trace), tape, turns)


def run_bew_graph(
    tape: Tape,
    conditions: Conditions,
    turns: Numbers,
    *,
    reach: Numbers,
    trace: Trace | None = None,
) -> Run:
    """BEW-join along stated constraints.

    Args:
        tape: the tuples.
        conditions: the bounds as stated, UNSTATED for none, and the keys.
        turns: the streams in order of arrival.
        reach: the closed bounds.
        trace: where steps are noted.
    """
    return run(BewGraph(conditions, reach, tape.first, trace), tape, turns)


def run_closure(
    tape: Tape, conditions: Conditions, turns: Numbers, *, trace: Trace | None = None
) -> Run:
    """The join by the closed bound of each pair."""
    order = order_by_keys(conditions)
    return run(Closure(conditions, tape.first, order, trace), tape, turns)


def run_ripple(
    tape: Tape,
    conditions: Conditions,
    turns: Numbers,
    *,
    clean_every: int = CLEAN_EVERY,
    trace: Trace | None = None,
) -> Run:
    """The adapted ripple join."""
    order = order_by_keys(conditions)
    return run(Ripple(conditions, tape.first, order, clean_every, trace), tape, turns)


def run(machine: Machine, tape: Tape, turns: Numbers, *, room: int = ROOM) -> Run:
    """Lets a machine take all arrivals."""
    return run_of(machine, tape, list(filled_blocks(machine, tape, turns, room=room)))


def run_of(machine: Machine, tape: Tape, found: Sequence[Numbers]) -> Run:
    """What a run gave that is over: the blocks found, and the machine's work."""
    nothing = room_for(0, len(tape.first) - 1).positions
    return Run(np.concatenate([nothing, *found]), machine.work.copy())


def filled_blocks(
    machine: Machine, tape: Tape, turns: Numbers, *, room: int = ROOM
) -> Iterator[Numbers]:
    """The combinations of some more arrivals, in blocks."""
    found = room_for(room, len(tape.first) - 1)
    machine.begin(tape, turns)
    for block in blocks(machine, tape, found):
        if len(block):
            yield block.copy()


def in_slices(
    machine: Machine, tape: Tape, turns: Numbers, every: int, *, room: int = ROOM
) -> Iterator[Numbers]:
    """Lets a machine take arrivals, some at a time; gives the work of each slice."""
    found = room_for(room, len(tape.first) - 1)
    before = machine.work.copy()
    for start in range(0, len(turns), every):
        machine.begin(tape, turns[start : start + every])
        for _ in blocks(machine, tape, found):
            pass  # the work is asked for, not what it gives
        yield machine.work - before
        before = machine.work.copy()


def turns_in_time_order(tape: Tape) -> Numbers:
    """The streams of all tuples as time goes by; at one time, in the order of the streams."""
    sizes = np.diff(tape.first)
    streams = np.repeat(np.arange(len(sizes)), sizes)
    return streams[np.lexsort((streams, tape.times[: len(streams)]))]
