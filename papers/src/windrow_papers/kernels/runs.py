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
from functools import partial
from typing import NamedTuple

import numpy as np

from windrow.kernels.bew_period import MOST
from windrow.kernels.tuple_at_a_time.level_loops import HwLoops, NlwLoops
from windrow.kernels.tuple_at_a_time.machine import Machine, blocks
from windrow.kernels.tuple_at_a_time.pipeline_machine import Pipeline, PipelineMachine
from windrow.kernels.tuple_at_a_time.sweep_machine import FewMachine
from windrow.kernels.tuple_at_a_time.tape import Int64s, Tape, TupleConditions, room_for
from windrow_papers.kernels.bew import BewNestedLoop
from windrow_papers.kernels.bew_graph import BewGraph
from windrow_papers.kernels.bew_hash import BewHash
from windrow_papers.kernels.cleaning import CLEAN_EVERY
from windrow_papers.kernels.closure import Closure
from windrow_papers.kernels.conservative_machines import GcaMachine, LcaMachine
from windrow_papers.kernels.loop_machine import order_by_keys
from windrow_papers.kernels.ripple import Ripple
from windrow_papers.kernels.trace import Trace
from windrow_papers.kernels.xjoin import XJoinLoops

ROOM = 1 << 14
"""Combinations that are handed over together."""


class Run(NamedTuple):
    """What a run gave: combinations, a line each in the order they came, and the work."""

    combinations: Int64s
    work: Int64s


def run_bew(
    tape: Tape,
    conditions: TupleConditions,
    turns: Int64s,
    *,
    method: str = "nested-loop",
    trace: Trace | None = None,
) -> Run:
    """BEW-join, by "nested-loop" or "hash"."""
    make = BewHash if method == "hash" else BewNestedLoop
    return run(make(conditions, tape.first, order_by_keys(conditions), trace), tape, turns)


def run_bew_graph(
    tape: Tape,
    conditions: TupleConditions,
    turns: Int64s,
    *,
    reach: Int64s,
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
    tape: Tape, conditions: TupleConditions, turns: Int64s, *, trace: Trace | None = None
) -> Run:
    """The join by the closed bound of each pair."""
    order = order_by_keys(conditions)
    return run(Closure(conditions, tape.first, order, trace), tape, turns)


def run_ripple(
    tape: Tape,
    conditions: TupleConditions,
    turns: Int64s,
    *,
    clean_every: int = CLEAN_EVERY,
    trace: Trace | None = None,
) -> Run:
    """The adapted ripple join."""
    order = order_by_keys(conditions)
    return run(Ripple(conditions, tape.first, order, clean_every, trace), tape, turns)


def run_few(
    tape: Tape,
    conditions: TupleConditions,
    turns: Int64s,
    *,
    method: str = "nested-loop",
) -> Run:
    """FEW-join, by "nested-loop" or "hash"; the bounds are closed."""
    machine = FewMachine(conditions, tape.first, order_by_keys(conditions), method=method)
    return _run_sweep(machine, tape, turns)


def run_gca(
    tape: Tape,
    conditions: TupleConditions,
    turns: Int64s,
    *,
    stated: Int64s,
    method: str = "nested-loop",
) -> Run:
    """Filter with one window, and refine.

    Args:
        tape: the tuples.
        conditions: the closed bounds, and the keys.
        turns: the streams in order of arrival.
        stated: the bounds as stated, MOST for none; or several sets of them.
        method: "nested-loop" or "hash".
    """
    machine = GcaMachine(conditions, stated, tape.first, method=method)
    return _run_sweep(machine, tape, turns)


def run_lca(
    tape: Tape,
    conditions: TupleConditions,
    turns: Int64s,
    *,
    stated: Int64s,
    method: str = "nested-loop",
) -> Run:
    """Filter with a window per stream, and refine; the arguments are those of `run_gca`."""
    machine = LcaMachine(conditions, stated, tape.first, method=method)
    return _run_sweep(machine, tape, turns)


def run_nlw(
    tape: Tape,
    conditions: TupleConditions,
    turns: Int64s,
    *,
    order: tuple[int, ...] | None = None,
    is_path: bool = False,
) -> Run:
    """NLW-join; the bounds are closed.

    Args:
        tape: the tuples.
        conditions: the bounds and the keys.
        turns: the streams in order of arrival.
        order: the streams from the bottom of the pipeline up; None: as they are numbered.
        is_path: every stated window joins two streams that follow one another in `order`.
    """
    plan = Pipeline(NlwLoops, conditions, order or _as_numbered(tape), is_path=is_path)
    return run(PipelineMachine(plan, tape.first), tape, turns)


def run_hw(
    tape: Tape,
    conditions: TupleConditions,
    turns: Int64s,
    *,
    order: tuple[int, ...] | None = None,
    is_path: bool = False,
) -> Run:
    """HW-join; the arguments are those of `run_nlw`."""
    plan = Pipeline(HwLoops, conditions, order or _as_numbered(tape), is_path=is_path)
    return run(PipelineMachine(plan, tape.first), tape, turns)


def run_xjoin(
    tape: Tape,
    conditions: TupleConditions,
    turns: Int64s,
    *,
    order: tuple[int, ...] | None = None,
    clean_every: int = CLEAN_EVERY,
) -> Run:
    """The adapted XJoin, which cleans its tables every so many arrivals."""
    plan = Pipeline(partial(XJoinLoops, clean_every), conditions, order or _as_numbered(tape))
    return run(PipelineMachine(plan, tape.first), tape, turns)


def run(machine: Machine, tape: Tape, turns: Int64s, *, room: int = ROOM) -> Run:
    """Lets a machine take all arrivals."""
    return run_of(machine, tape, list(filled_blocks(machine, tape, turns, room=room)))


def run_of(machine: Machine, tape: Tape, found: Sequence[Int64s]) -> Run:
    """What a run gave that is over: the blocks found, and the machine's work."""
    nothing = room_for(0, len(tape.first) - 1).positions
    return Run(np.concatenate([nothing, *found]), machine.work.copy())


def filled_blocks(
    machine: Machine, tape: Tape, turns: Int64s, *, room: int = ROOM
) -> Iterator[Int64s]:
    """The combinations of some more arrivals, in blocks."""
    found = room_for(room, len(tape.first) - 1)
    machine.begin(tape, turns)
    for block in blocks(machine, tape, found):
        if len(block):
            yield block.copy()


def in_slices(
    machine: Machine, tape: Tape, turns: Int64s, every: int, *, room: int = ROOM
) -> Iterator[Int64s]:
    """Lets a machine take arrivals, some at a time; gives the work of each slice."""
    found = room_for(room, len(tape.first) - 1)
    before = machine.work.copy()
    for start in range(0, len(turns), every):
        machine.begin(tape, turns[start : start + every])
        for _ in blocks(machine, tape, found):
            pass  # the work is asked for, not what it gives
        yield machine.work - before
        before = machine.work.copy()


def turns_in_time_order(tape: Tape) -> Int64s:
    """The streams of all tuples as time goes by; at one time, in the order of the streams."""
    sizes = np.diff(tape.first)
    streams = np.repeat(np.arange(len(sizes)), sizes)
    return streams[np.lexsort((streams, tape.times[: len(streams)]))]


def _run_sweep(machine: Machine, tape: Tape, turns: Int64s) -> Run:
    """Lets a sweep take all arrivals, and then know that no more will come."""
    found = list(filled_blocks(machine, tape, turns))
    return run_of(machine, tape, found + last_blocks(machine, tape))


def last_blocks(machine: Machine, tape: Tape, *, room: int = ROOM) -> list[Int64s]:
    """What a sweep still gives once every stream has ended, in blocks."""
    streams = len(tape.first) - 1
    machine.begin(tape, np.zeros(0, np.int64), np.full(streams, MOST, np.int64))
    return [block.copy() for block in blocks(machine, tape, room_for(room, streams))]


def _as_numbered(tape: Tape) -> tuple[int, ...]:
    return tuple(range(len(tape.first) - 1))
