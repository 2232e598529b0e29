"""What a join that sheds is expected to give, and the workload that is left for it.

The allocation comes first, by the rates that are known. How windows are looked up, and in which
order, is then chosen for what is left: the arrivals that probe, and the tuples that are kept.

What a tuple will take in memory is told by the types of its columns, before any has come. A join that
runs takes every tuple for as wide as the widest so far; the planner knows how wide numbers and times
are, and takes texts and nested values for as long as they often are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import NamedTuple

from windrow.allocation.loads import (
    Allocation,
    Case,
    Resources,
    StreamLoad,
    alike,
    case_of,
    expected_recall,
)
from windrow.optimize.cost.joins import Joined, output
from windrow.optimize.cost.statistics import Sized
from windrow.optimize.cost.structures import Direction
from windrow.physical.load_shedding.limits import (
    CLEARLY,
    Expected,
    Shedding,
    counted_ticks,
    part_of,
    room_to_wait,
)
from windrow.physical.nodes.shedding_join import SheddingJoin

NEARLY_ALL = 0.99
"""What is expected at most where all fits but a part of a batch, which may have to wait."""

_ROUNDS = 20
"""Steps in which windows and what waits agree on who has how much."""


def left_workload(node: SheddingJoin, join: Sized) -> tuple[SheddingJoin, Sized]:
    """The join with what it is expected to shed, and its streams as they are kept and probed with."""
    shedding = node.shedding
    expected = _expected(node, shedding, join.widest.rates)
    ways = tuple(_left_of(way, expected) for way in join.ways)
    widest = _left_of(join.widest, expected)
    found = min(sum(map(output, ways)), output(widest))
    directions = _left_directions(node, expected.rates) if len(node.inputs) == 2 else ()
    left = replace(join, ways=ways, widest=widest, output=found, directions=directions)
    return replace(node, shedding=replace(shedding, expected=expected)), left


def _expected(node: SheddingJoin, shedding: Shedding, rates: Sequence[float]) -> Expected:
    """What the inputs get at some rates."""
    service_rate = shedding.service_rate if shedding.may_skip else None
    retention = [max(0, node.retention(at)) for at in range(len(rates))]
    # Memory is divided by what is counted when a pane is decided, which begins with a block, and for
    # what is at hand then: what lies before the window is not held any more, and the pane itself has
    # waited. A window of no length holds the tuples of an instant.
    lengths = [max(1, own) for own in retention]
    loads = _loads(node, rates, lengths)
    width = expected_width(node)
    waiting = _Waiting.of(node, shedding.most_tuples(width.nbytes), loads)
    ticks = [counted_ticks(own, node.pane) for own in retention]
    counted = _loads(node, rates, ticks)
    asked = [
        replace(own, at_hand=load.window * share, meets=met)
        for own, load, share, met in zip(
            counted, loads, waiting.shares, alike([own.meets for own in counted]), strict=True
        )
    ]
    divided = shedding.allocated(asked, Resources(waiting.room, service_rate))
    probing = tuple(map(min, divided.rates, map(mul, rates, waiting.shares)))
    allocation = Allocation(probing, divided.windows)
    case = case_of(loads, Resources(waiting.for_windows, service_rate))
    recall = 1.0 if case is Case.nothing else min(NEARLY_ALL, expected_recall(loads, allocation))
    return Expected(
        case=case.value,
        rates=tuple(rates),
        windows=tuple(load.window for load in loads),
        probing=probing,
        kept=divided.windows,
        recall=recall,
        waiting=waiting.tuples,
        waited=tuple(map(mul, waiting.tuples, waiting.shares)),
        row_bytes=width.nbytes,
        is_width_assumed=width.is_assumed,
    )


@dataclass(frozen=True)
class _Waiting:
    """Arrivals that wait.

    Attributes:
        tuples: per stream, how many, until their pane is over and no late ones can come.
        shares: of them, for which there is room.
        room: tuples that the windows may hold beside those; None for as many as come.
        for_windows: the same if all waited, and a part of a batch with them.
    """

    tuples: tuple[float, ...]
    shares: tuple[float, ...]
    room: float | None
    for_windows: float | None

    @classmethod
    def of(cls, node: SheddingJoin, memory: float | None, loads: Sequence[StreamLoad]) -> _Waiting:
        tuples = tuple(load.rate * node.waiting_ticks for load in loads)
        shares = (1.0,) * len(loads)
        if memory is None:
            return cls(tuples, shares, None, None)
        for _ in range(_ROUNDS):
            # Windows keep no more of their tuples than are left to wait, and leave the rest.
            windows = sum(load.window * own for load, own in zip(loads, shares, strict=True))
            most = max(memory / len(loads), memory - windows)
            room = room_to_wait(tuples, most)
            shares = tuple(
                own / asked if asked else 1.0 for own, asked in zip(room, tuples, strict=True)
            )
        for_windows = max(0.0, memory - sum(tuples) - part_of(memory, len(loads)))
        return cls(tuples, shares, max(0.0, memory - sum(room)), for_windows)


def _loads(node: SheddingJoin, rates: Sequence[float], ticks: Sequence[int]) -> list[StreamLoad]:
    """The streams, with the tuples that arrive in so many ticks, and what a probe meets of these.

    Tuples are taken as spread evenly over ticks: an arrival meets those of the ticks that it reaches.
    """
    loads = []
    for last, rate in enumerate(rates):
        meets = 1.0
        for other, long in enumerate(ticks):
            if other != last:
                first, until = node.reach(last, other)
                meets *= max(0, until + 1 - first) / long
        loads.append(StreamLoad(rate, rate * ticks[last], meets=meets))
    return loads


def _left_directions(
    node: SheddingJoin, rates: Sequence[float]
) -> tuple[tuple[Direction, Direction], ...]:
    """Each window of two streams as it is kept and probed, once for every division to reckon with.

    Of streams that are about as fast, the one or the other gets what there is: a join that runs
    keeps to what it has once decided while rates are about the same. So there are three divisions,
    of the rates expected and of those that are just not taken for others.
    """
    rate, other = rates
    found = []
    for times in (1.0, CLEARLY, 1 / CLEARLY):
        own = _expected(node, node.shedding, (rate * times, other))
        loads = [StreamLoad(*load) for load in zip(own.rates, own.windows, strict=True)]
        found.append(effective_directions(loads, Allocation(own.probing, own.kept)))
    return tuple(found)


def _left_of(joined: Joined, expected: Expected) -> Joined:
    kept = [
        rate * (part / full if full else 1.0)
        for rate, part, full in zip(joined.rates, expected.kept, expected.windows, strict=True)
    ]
    return replace(joined, rates=tuple(kept), probing=expected.probing)


_WIDTHS = {
    "boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "float": 4, "double": 8,
    "date": 4, "timestamp": 8, "timestamp_ntz": 8, "decimal": 16,
}  # fmt: skip
"""Bytes of a value, where that does not depend on the value."""

_NULL = 1
"""Bytes of the mark for NULL, at most."""

ASSUMED = 24
"""Bytes of a text or a nested value: some letters, and where they begin."""


class Width(NamedTuple):
    """What a tuple takes, with its draws and its place in a structure.

    Attributes:
        nbytes: of the widest input.
        is_assumed: whether some of its columns may be of any width.
    """

    nbytes: int
    is_assumed: bool


def expected_width(node: SheddingJoin) -> Width:
    """What a tuple of the widest input takes, as far as types tell."""
    widest, is_assumed = 0, False
    for port, child in enumerate(node.inputs):
        types = {field.name: field.type.partition("(")[0] for field in child.schema.fields}
        widths = [_WIDTHS.get(types[name]) for name in node.columns_needed(port)]
        widest = max(widest, sum((own or ASSUMED) + _NULL for own in widths))
        is_assumed |= None in widths
    return Width(node.shed_row_bytes + widest, is_assumed)


def effective_directions(
    loads: Sequence[StreamLoad], allocation: Allocation
) -> tuple[Direction, Direction]:
    """Window A as it is kept and probed, and window B.

    Arrivals that do not probe are still kept; of a window that is kept in part, the same part of
    the arrivals comes in.

    Examples:
        >>> streams = [Load(rate=10, window=100), Load(rate=50, window=100)]
        >>> into_a, into_b = effective_directions(streams, Allocation((0, 50), (60, 40)))
        >>> into_a
        Direction(window=60, probes=50, arrivals=6.0)
    """
    (load_a, load_b), (rate_a, rate_b) = loads, allocation.rates
    window_a, window_b = allocation.windows
    return (
        Direction(window_a, probes=rate_b, arrivals=load_a.rate * _kept(load_a, window_a)),
        Direction(window_b, probes=rate_a, arrivals=load_b.rate * _kept(load_b, window_b)),
    )


def _kept(load: StreamLoad, window: float) -> float:
    """The share of a window that is kept; all of an empty one."""
    return window / load.window if load.window else 1.0
