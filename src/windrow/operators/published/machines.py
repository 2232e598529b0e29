"""Which machine runs which of the published algorithms, and what it is told about a join.

A machine (`kernels.published.machine.Machine`) is made for lanes that are still empty. To add an
algorithm, add a line here and a module beside the kernels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.errors import InternalError
from windrow.kernels.published.arrival import round_robin
from windrow.kernels.published.machine import Machine
from windrow.kernels.published.tape import Conditions, Numbers
from windrow.physical.specs import WJoin
from windrow.schema import MAX_TICK


def machine_for(spec: WJoin, first: Numbers) -> Machine:
    """A machine that holds no tuple yet.

    Args:
        spec: the join.
        first: where each stream's lane begins on the tape, and after the last where it ends.
    """
    if spec.algorithm not in _MAKERS:
        raise InternalError(
            "no-such-machine",
            f"no algorithm {spec.algorithm!r} answers on arrival",
            reason="the planner checks the names of algorithms",
        )
    return _MAKERS[spec.algorithm](spec, first)


def conditions_of(spec: WJoin) -> Conditions:
    """The closed bounds and the keys of a join.

    Where two graphs are alternatives, a bound is the wider of the two, and the results are tested
    once more: the operator knows both.
    """
    graphs = [spec.graph] if spec.alternative is None else [spec.graph, spec.alternative]
    upper = np.max([bounds(graph.upper) for graph in graphs], axis=0)
    keyed = np.zeros((len(spec.inputs), len(spec.classes)), np.bool_)
    for at, key in enumerate(spec.classes):
        keyed[list(key.inputs), at] = True
    return Conditions(upper, keyed)


def bounds(upper: tuple[tuple[int, ...], ...]) -> Numbers:
    """A matrix of bounds as kernels take it: 64-bit numbers, farther ones at the last tick."""
    return np.array(
        [[max(-MAX_TICK, min(MAX_TICK, bound)) for bound in line] for line in upper], np.int64
    )


# A maker imports its kernels itself: a worker compiles those of its own algorithm alone.


def _bew(spec: WJoin, first: Numbers) -> Machine:
    from windrow.kernels.published.bew import BewNestedLoop  # noqa: PLC0415

    return BewNestedLoop(conditions_of(spec), first, round_robin(len(spec.inputs)))


_MAKERS: dict[str, Callable[[WJoin, Numbers], Machine]] = {
    "bew": _bew,
}
