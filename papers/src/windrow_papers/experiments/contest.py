"""The papers' algorithms as contestants: each made for a join's conditions, run over a tape.

A contestant takes tuples in the order given, and is asked after every so many how much it has done
and how long that took it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InternalError
from windrow.kernels.bew_period import MOST
from windrow.kernels.tuple_at_a_time.level_loops import HwLoops, NlwLoops
from windrow.kernels.tuple_at_a_time.machine import Machine, blocks
from windrow.kernels.tuple_at_a_time.pipeline import LevelLoops
from windrow.kernels.tuple_at_a_time.pipeline_machine import Pipeline, PipelineMachine
from windrow.kernels.tuple_at_a_time.sweep_machine import FewMachine
from windrow.kernels.tuple_at_a_time.tape import (
    FOUND,
    KEY_TESTS,
    NARROWINGS,
    PROBES,
    TIME_TESTS,
    TOUCHED,
    UPDATES,
    WINDOW_TESTS,
    FoundCombinations,
    Tape,
    TupleConditions,
    room_for,
)
from windrow.plan.windows import UNBOUNDED, Bound, WindowGraph
from windrow_papers.experiments.workloads.streams import Int64s, Streams
from windrow_papers.kernels.bew import BewNestedLoop
from windrow_papers.kernels.bew_graph import BewGraph
from windrow_papers.kernels.bew_hash import BewHash
from windrow_papers.kernels.cleaning import CLEAN_EVERY
from windrow_papers.kernels.closure import Closure
from windrow_papers.kernels.conservative_machines import GcaMachine, LcaMachine
from windrow_papers.kernels.loop_machine import order_by_keys
from windrow_papers.kernels.ripple import Ripple
from windrow_papers.kernels.runs import last_blocks
from windrow_papers.kernels.xjoin import XJoinLoops

EVERY = 1_000
"""Service time and work are averaged over so many input tuples, as in the papers."""

HANDED = 500
"""Tuples are handed over so many at a time. Sweeps make their tables for what they were handed:
with all tuples at once each key would have a bucket of its own."""

WARM_UP = 256
"""Tuples per stream that a contestant takes before it is measured: enough for buffers to grow, so
that all its loops are compiled."""

_COUNTED = (PROBES, WINDOW_TESTS, KEY_TESTS, TIME_TESTS, NARROWINGS, UPDATES)
"""What makes up the work of a run: each is one comparison, or one look-up."""

_ROOM = 1 << 14


@dataclass(frozen=True)
class Join:
    """The conditions of a join over streams with one key.

    Attributes:
        graph: the stated windows.
        clean_every: tuples between two cleanings of the algorithms that clean.
    """

    graph: WindowGraph
    clean_every: int = CLEAN_EVERY

    @property
    def closed(self) -> Int64s:
        """The closed bounds."""
        return np.array(self.graph.upper, np.int64)

    @property
    def stated(self) -> Int64s:
        """The bounds as stated; MOST for none."""
        direct = np.array(self.graph.direct, np.int64)
        return np.where(direct >= UNBOUNDED, MOST, direct)

    def conditions(self, upper: Int64s) -> TupleConditions:
        """The bounds, and the one key that all streams have."""
        return TupleConditions(upper, np.ones((len(upper), 1), np.bool_))


def uniform(streams: int, window: int) -> Join:
    """One window between all streams."""
    pairs = [(a, b) for a in range(streams) for b in range(a + 1, streams)]
    return joined([Bound(a, b, window, window) for a, b in pairs], streams)


def joined(bounds: Sequence[Bound], streams: int) -> Join:
    """The join with these windows."""
    names = tuple(chr(ord("a") + number) for number in range(streams))
    return Join(WindowGraph(names, tuple(bounds)))


@dataclass(frozen=True)
class Algorithm:
    """A contestant: how it is called, and how it is made for a join over a tape."""

    name: str
    make: Callable[[Join, Tape], Machine]


def _bew(join: Join, tape: Tape, kind: type[BewNestedLoop | BewHash]) -> Machine:
    conditions = join.conditions(join.closed)
    return kind(conditions, tape.first, order_by_keys(conditions))


def _pipeline(join: Join, tape: Tape, loops: Callable[[], LevelLoops]) -> Machine:
    plan = Pipeline(
        loops,
        join.conditions(join.closed),
        tuple(range(len(tape.first) - 1)),
        is_path=join.graph.form == "path",
    )
    return PipelineMachine(plan, tape.first)


def _xjoin(join: Join, tape: Tape) -> Machine:
    return _pipeline(join, tape, partial(XJoinLoops, join.clean_every))


def _ripple(join: Join, tape: Tape) -> Machine:
    conditions = join.conditions(join.closed)
    return Ripple(conditions, tape.first, order_by_keys(conditions), join.clean_every)


def _closure(join: Join, tape: Tape) -> Machine:
    conditions = join.conditions(join.closed)
    return Closure(conditions, tape.first, order_by_keys(conditions))


def _bew_graph(join: Join, tape: Tape) -> Machine:
    return BewGraph(join.conditions(join.stated), join.closed, tape.first)


def _few(join: Join, tape: Tape, method: str) -> Machine:
    conditions = join.conditions(join.closed)
    return FewMachine(conditions, tape.first, order_by_keys(conditions), method=method)


def _conservative(join: Join, tape: Tape, kind: type[GcaMachine | LcaMachine]) -> Machine:
    return kind(join.conditions(join.closed), join.stated, tape.first, method="nested-loop")


BEW = Algorithm("bew", lambda join, tape: _bew(join, tape, BewNestedLoop))
BEW_HASH = Algorithm("bew hash", lambda join, tape: _bew(join, tape, BewHash))
FEW = Algorithm("few", lambda join, tape: _few(join, tape, "nested-loop"))
FEW_HASH = Algorithm("few hash", lambda join, tape: _few(join, tape, "hash"))
NLW = Algorithm("nlw", lambda join, tape: _pipeline(join, tape, NlwLoops))
HW = Algorithm("hw", lambda join, tape: _pipeline(join, tape, HwLoops))
XJOIN = Algorithm("xjoin", _xjoin)
RIPPLE = Algorithm("ripple", _ripple)
CLOSURE = Algorithm("closure", _closure)
BEW_GRAPH = Algorithm("bew-graph", _bew_graph)
GCA = Algorithm("gca", lambda join, tape: _conservative(join, tape, GcaMachine))
LCA = Algorithm("lca", lambda join, tape: _conservative(join, tape, LcaMachine))


@dataclass(frozen=True)
class Series:
    """A run in slices: input tuples, counts and seconds of each.

    Attributes:
        inputs: tuples taken in each slice.
        counts: a line per slice, the counts as `tape.py` lists them.
        seconds: processor time of each slice.
        given_late: combinations given after the last slice, when the streams had ended.
    """

    inputs: Int64s
    counts: Int64s
    seconds: NDArray[np.float64]
    given_late: int = 0

    @property
    def work(self) -> Int64s:
        """Comparisons and look-ups of each slice."""
        return np.asarray(self.counts[:, _COUNTED].sum(axis=1))

    @property
    def touched(self) -> Int64s:
        """Buffered tuples that loops looked at, slice by slice."""
        return np.asarray(self.counts[:, TOUCHED])

    @property
    def found(self) -> int:
        """Combinations given, those of the end included."""
        return int(self.counts[:, FOUND].sum()) + self.given_late

    def per_tuple(self, figures: NDArray[np.generic], skipped: float = 0.0) -> float:
        """A figure's average per input tuple, the first share of the slices left out."""
        start = int(len(self.inputs) * skipped)
        return float(figures[start:].sum() / self.inputs[start:].sum())

    @property
    def cost_s(self) -> float:
        """Seconds per unit of work (an input tuple is one too), as this run had them."""
        return float(self.seconds.sum() / (self.work.sum() + self.inputs.sum()))


def measure(
    algorithm: Algorithm,
    join: Join,
    streams: Streams,
    turns: Int64s,
    *,
    every: int = EVERY,
    mark: int = 0,
    is_ended: bool = False,
) -> Series:
    """Runs a contestant over streams.

    Args:
        algorithm: which.
        join: what is joined.
        streams: the tuples.
        turns: whose tuple is taken, turn by turn.
        every: tuples per slice.
        mark: the number of tuples after which a slice ends early, so that none lies across.
        is_ended: whether what those who wait do when the streams have ended belongs to the last
            slice. They go on to the end in any case, so that all give the same combinations; but
            as a rule they are measured while streams last.
    """
    _warm_up(algorithm, join, streams)
    slices = _slices(turns, every, mark)
    first = _measure_once(algorithm, join, streams, slices, is_ended=is_ended)
    # What else the machine does only ever adds time: of some runs each slice's least counts.
    seconds = [first.seconds]
    for _ in range(_more_runs(float(first.seconds.sum()))):
        again = _measure_once(algorithm, join, streams, slices, is_ended=is_ended)
        assert np.array_equal(again.counts, first.counts), "counts are the same in every run"
        seconds.append(again.seconds)
    return replace(first, seconds=np.minimum.reduce(seconds))


def agree(case: str, found: Mapping[str, int]) -> None:
    """Checks that contestants over the same input gave the same number of combinations.

    Raises:
        InternalError: they did not, so that their work is not for the same answer.
    """
    if len(set(found.values())) > 1:
        given = ", ".join(f"{name} {number:,}" for name, number in found.items())
        raise InternalError("different-answers", f"{case}: combinations given differ: {given}")


def count(
    algorithm: Algorithm, join: Join, streams: Streams, turns: Int64s, *, every: int = EVERY
) -> Series:
    """Runs a contestant once, for its counts; its seconds may hold the time of compiling."""
    return _measure_once(algorithm, join, streams, _slices(turns, every, 0), is_ended=False)


def _slices(turns: Int64s, every: int, mark: int) -> list[Int64s]:
    """The turns, so many at a time, up to the mark and from there on."""
    return [
        part[start : start + every]
        for part in (turns[:mark], turns[mark:])
        for start in range(0, len(part), every)
    ]


def _more_runs(seconds: float) -> int:
    """How often a run of so many seconds is repeated."""
    return 2 if seconds < 1.0 else 1 if seconds < 10.0 else 0


def _measure_once(
    algorithm: Algorithm,
    join: Join,
    streams: Streams,
    slices: Sequence[Int64s],
    *,
    is_ended: bool,
) -> Series:
    tape = streams.tape()
    machine = algorithm.make(join, tape)
    found = room_for(_ROOM, len(streams))
    inputs, counts, seconds = [], [], []
    for number, part in enumerate(slices, 1):
        before, began = machine.work.copy(), time.thread_time()
        for at in range(0, len(part), HANDED):
            take(machine, tape, part[at : at + HANDED], found)
        if is_ended and number == len(slices):
            last_blocks(machine, tape)
        seconds.append(time.thread_time() - began)
        inputs.append(len(part))
        counts.append(machine.work - before)
    before_end = int(machine.work[FOUND])
    if not is_ended:
        last_blocks(machine, tape)
    given_late = int(machine.work[FOUND]) - before_end
    return Series(np.array(inputs), np.array(counts), np.array(seconds), given_late)


def units_of(counts: Int64s) -> int:
    """The work of some counts: comparisons and look-ups."""
    return int(counts[list(_COUNTED)].sum())


def take(machine: Machine, tape: Tape, turns: Int64s, found: FoundCombinations) -> None:
    """Lets a machine take some tuples; the combinations are found and forgotten."""
    machine.begin(tape, turns)
    for _ in blocks(machine, tape, found):
        pass


def _warm_up(algorithm: Algorithm, join: Join, streams: Streams) -> None:
    few = Streams(
        tuple(times[:WARM_UP] for times in streams.times),
        tuple(keys[:WARM_UP] for keys in streams.keys),
    )
    tape, turns = few.tape(), few.live()
    machine, found = algorithm.make(join, tape), room_for(_ROOM, len(few))
    half = len(turns) // 2
    for part in (turns[:half], turns[half:]):
        take(machine, tape, part, found)
