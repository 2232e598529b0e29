"""A run turn by turn: what each arrival costs, and in which turn each tuple is joined.

An algorithm that answers on arrival joins a tuple in its own turn. A sweep may hold it, and join it
in the turn of a later arrival.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.kernels.tuple_at_a_time.sweep_machine import SweepMachine
from windrow.kernels.tuple_at_a_time.tape import FOUND, room_for
from windrow_papers.experiments.contest import Algorithm, Join, take, units_of
from windrow_papers.experiments.workloads.streams import Int64s, Streams
from windrow_papers.kernels.runs import last_blocks

_ROOM = 1 << 14
NEVER = -1


@dataclass(frozen=True)
class Turns:
    """Live streams, turn by turn.

    Attributes:
        units: the work of each turn, the taking of its tuple included.
        done: the turn in which the tuple of each turn was joined or dropped; NEVER if it was not.
        found: combinations given, those included that come once the streams have ended.
    """

    units: Int64s
    done: Int64s
    found: int


def turn_by_turn(algorithm: Algorithm, join: Join, streams: Streams) -> Turns:
    """Runs an algorithm over live streams, a tuple at a time."""
    tape, turns = streams.tape(), streams.live()
    machine, found = algorithm.make(join, tape), room_for(_ROOM, len(streams))
    units = np.empty(len(turns), np.int64)
    done = np.full(len(tape.times), NEVER, np.int64)
    before = machine.work.copy()
    reached = tape.first[:-1].copy()
    for turn in range(len(turns)):
        take(machine, tape, turns[turn : turn + 1], found)
        units[turn] = units_of(machine.work - before) + 1
        before = machine.work.copy()
        if isinstance(machine, SweepMachine):
            now = np.maximum(machine.sweep.head, machine.sweep.taken)
            for stream in np.flatnonzero(now > reached):
                done[reached[stream] : now[stream]] = turn
            reached = now
    last_blocks(machine, tape)
    given = int(machine.work[FOUND])
    if not isinstance(machine, SweepMachine):
        return Turns(units, np.arange(len(turns)), given)
    return Turns(units, done[_positions(turns, tape.first)], given)


def _positions(turns: Int64s, first: Int64s) -> Int64s:
    """Where on the tape each turn's tuple is."""
    positions = np.empty(len(turns), np.int64)
    for stream in range(len(first) - 1):
        own = np.flatnonzero(turns == stream)
        positions[own] = first[stream] + np.arange(len(own))
    return positions
