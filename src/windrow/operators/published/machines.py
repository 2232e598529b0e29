"""Which machine runs which of the published algorithms, and what it is told about a join.

A machine (`kernels.published.machine.ArrivalMachine`) is made for lanes that are still empty. To add an
algorithm, add a line here and a module beside the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InternalError
from windrow.kernels.published.arrival import order_by_keys
from windrow.kernels.published.machine import ArrivalMachine
from windrow.kernels.published.tape import Conditions, Numbers
from windrow.operators.published.structure_words import HIGH, KEY, LOW, range_of
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.routes import is_along_path, pipeline_order
from windrow.plan.windows import UNBOUNDED, WindowGraph
from windrow.schema import MAX_TICK

PIPELINES = frozenset({"nlw", "hw", "xjoin"})
"""The algorithms that keep partial combinations, and have them tested as they are made."""

CLEANED_AT_TIMES = frozenset({"ripple", "xjoin"})
"""The algorithms that meet old tuples too, until they clean their buffers."""

PartialTest = Callable[[Sequence[int], Numbers], Numbers]
"""Given inputs, the last one new, and positions of theirs: the combinations to go on with."""


def machine_for(spec: TimeJoin, first: Numbers, test: PartialTest) -> ArrivalMachine:
    """A machine that holds no tuple yet.

    Args:
        spec: the join.
        first: where each stream's lane begins on the tape, and after the last where it ends.
        test: what a pipeline asks of its partial combinations.
    """
    if spec.algorithm in PIPELINES:
        return _pipeline(spec, first, test)
    if spec.algorithm not in _MAKERS:
        raise InternalError(
            "no-such-machine",
            f"no algorithm {spec.algorithm!r} answers on arrival",
            reason="the planner checks the names of algorithms",
        )
    return _MAKERS[spec.algorithm](spec, first)


def conditions_of(spec: TimeJoin) -> Conditions:
    """The closed bounds and the keys of a join.

    Where two graphs are alternatives, a bound is the wider of the two, and the results are tested
    once more: the operator knows both.
    """
    return Conditions(_widest([graph.upper for graph in graphs_of(spec)]), _keyed(spec))


def stated_conditions(spec: TimeJoin) -> Conditions:
    """The bounds of a join as they are stated, MAX_TICK where there is none, and its keys."""
    return Conditions(_widest([graph.direct for graph in graphs_of(spec)]), _keyed(spec))


def graphs_of(spec: TimeJoin) -> list[WindowGraph]:
    """The windows of a join: a combination must meet one of these graphs."""
    return [spec.graph] if spec.alternative is None else [spec.graph, spec.alternative]


def _widest(uppers: Sequence[tuple[tuple[int, ...], ...]]) -> Numbers:
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


def _keyed(spec: TimeJoin) -> NDArray[np.bool_]:
    """Per input and key class, whether the input has a column in it."""
    keyed = np.zeros((len(spec.inputs), len(spec.classes)), np.bool_)
    for at, key in enumerate(spec.classes):
        keyed[list(key.inputs), at] = True
    return keyed


# A maker imports its kernels itself: a worker compiles those of its own algorithm alone.


def _pipeline(spec: TimeJoin, first: Numbers, test: PartialTest) -> ArrivalMachine:
    from windrow.kernels.published.levels import Plan  # noqa: PLC0415
    from windrow.kernels.published.pipeline_machine import PipelineMachine  # noqa: PLC0415

    order = pipeline_order(spec)
    plan = Plan(spec.algorithm, conditions_of(spec), order, is_path=is_along_path(spec, order))
    machine = PipelineMachine(plan, first)
    machine.keep = lambda streams, found: test(order[:streams], found.places)
    return machine


def _bew(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    from windrow.kernels.published.bew import BewNestedLoop  # noqa: PLC0415
    from windrow.kernels.published.bew_hash import BewHash  # noqa: PLC0415

    conditions = conditions_of(spec)
    make = BewHash if spec.method == "hash" else BewNestedLoop
    return make(conditions, first, order_by_keys(conditions))


def _bew_graph(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    from windrow.kernels.published.bew_graph import BewGraph  # noqa: PLC0415

    conditions = conditions_of(spec)
    return BewGraph(stated_conditions(spec), conditions.upper, first)


def _closure(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    from windrow.kernels.published.closure import Closure  # noqa: PLC0415

    conditions = conditions_of(spec)
    return Closure(conditions, first, order_by_keys(conditions))


def _ripple(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    from windrow.kernels.published.ripple import Ripple  # noqa: PLC0415

    conditions = conditions_of(spec)
    return Ripple(conditions, first, order_by_keys(conditions))


def _asymmetric(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    from windrow.kernels.published.asymmetric import (  # noqa: PLC0415
        NO_KEY,
        Asymmetric,
        KeyWords,
    )

    if spec.classes:
        words = KeyWords(0, 0, 0)  # the word of the first key is all that is asked for
    else:
        words = NO_KEY if range_of(spec) is None else KeyWords(KEY, LOW, HIGH)
    left, right = ((name, spec.sizes.of(name)) for name in spec.structures)
    return Asymmetric(conditions_of(spec), first, words, (left, right))


_MAKERS: dict[str, Callable[[TimeJoin, Numbers], ArrivalMachine]] = {
    "bew-published": _bew,
    "bew-graph": _bew_graph,
    "closure": _closure,
    "asymmetric": _asymmetric,
    "ripple": _ripple,
}
