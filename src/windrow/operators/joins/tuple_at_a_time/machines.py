"""The machines of the algorithms that plans take: what each is told about a join.

A machine (`kernels.tuple_at_a_time.machine.Machine`) is made for lanes that are still empty. An
algorithm names the function that makes its machine (`physical.algorithms.Algorithm.machine`); to
add one, write such a function, here or in a package of your own. It is handed the join, and where
each stream's lane begins on the tape, and after the last where it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.kernels.tuple_at_a_time.tape import Int64s, TupleConditions
from windrow.operators.joins.tuple_at_a_time.tuple_words import (
    HIGH,
    KEY,
    LOW,
    compared_pairs,
    range_of,
)
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.probe_orders import is_along_path, pipeline_order, probe_order
from windrow.plan.windows import UNBOUNDED
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from windrow.kernels.tuple_at_a_time.machine import ArrivalMachine
    from windrow.kernels.tuple_at_a_time.pipeline import LevelLoops
    from windrow.kernels.tuple_at_a_time.sweep_machine import SweepMachine


def conditions_of(node: TimeJoin) -> TupleConditions:
    """The closed bounds and the keys of a join.

    Where two graphs are alternatives, a bound is the wider of the two, and the results are tested
    once more: the operator knows both.
    """
    return TupleConditions(_widest([graph.upper for graph in node.ways]), _keyed(node))


def stated_conditions(node: TimeJoin) -> TupleConditions:
    """The bounds of a join as they are stated, MAX_TICK where there is none, and its keys."""
    return TupleConditions(_widest([graph.direct for graph in node.ways]), _keyed(node))


def pipeline(node: TimeJoin, first: Int64s, loops: Callable[[], LevelLoops]) -> ArrivalMachine:
    """A pipeline whose levels join by some loops, in the order of the plan."""
    from windrow.kernels.tuple_at_a_time.pipeline_machine import (  # noqa: PLC0415
        Pipeline,
        PipelineMachine,
    )

    order = pipeline_order(node)
    plan = Pipeline(loops, conditions_of(node), order, is_path=is_along_path(node, order))
    return PipelineMachine(plan, first)


# A maker imports its kernels itself: a worker compiles those of its own algorithm alone.


def nlw(node: TimeJoin, first: Int64s) -> ArrivalMachine:
    """A pipeline of nested loops."""
    from windrow.kernels.tuple_at_a_time.level_loops import NlwLoops  # noqa: PLC0415

    return pipeline(node, first, NlwLoops)


def hw(node: TimeJoin, first: Int64s) -> ArrivalMachine:
    """A pipeline of hash tables."""
    from windrow.kernels.tuple_at_a_time.level_loops import HwLoops  # noqa: PLC0415

    return pipeline(node, first, HwLoops)


def few(node: TimeJoin, first: Int64s) -> SweepMachine:
    """Forward evaluation, in the orders of the plan, with the comparisons that its loops test."""
    from windrow.kernels.tuple_at_a_time.sweep import Compared  # noqa: PLC0415
    from windrow.kernels.tuple_at_a_time.sweep_machine import FewMachine  # noqa: PLC0415

    starts = range(len(node.inputs))
    comparisons = [
        Compared(len(node.classes) + at, pair.lesser[0], pair.greater[0])
        for at, pair in enumerate(compared_pairs(node))
    ]
    return FewMachine(
        conditions_of(node),
        first,
        np.array([[start, *probe_order(node, start)] for start in starts]),
        method=node.method,
        comparisons=comparisons,
    )


def asymmetric(node: TimeJoin, first: Int64s) -> ArrivalMachine:
    """Two windows, each in the structure that the plan says."""
    from windrow.kernels.tuple_at_a_time.asymmetric import (  # noqa: PLC0415
        NO_KEY,
        Asymmetric,
        KeyPlaces,
    )

    if node.classes:
        words = KeyPlaces(0, 0, 0)  # the word of the first key is all that is asked for
    else:
        words = NO_KEY if range_of(node) is None else KeyPlaces(KEY, LOW, HIGH)
    left, right = ((name, node.sizes.of(name)) for name in node.structures)
    return Asymmetric(conditions_of(node), first, words, (left, right))


def _widest(uppers: Sequence[tuple[tuple[int, ...], ...]]) -> Int64s:
    """The largest of several bounds per pair, as 64-bit numbers."""
    return np.array(
        [
            [_as_ticks(max(bounds)) for bounds in zip(*lines, strict=True)]
            for lines in zip(*uppers, strict=True)
        ],
        np.int64,
    )


def _as_ticks(bound: int) -> int:
    return MAX_TICK if bound >= UNBOUNDED else max(-MAX_TICK, bound)


def _keyed(node: TimeJoin) -> NDArray[np.bool_]:
    """Per input and key class, whether the input has a column in it."""
    keyed = np.zeros((len(node.inputs), len(node.classes)), np.bool_)
    for at, key in enumerate(node.classes):
        keyed[list(key.inputs), at] = True
    return keyed
