"""In which order a new tuple of a window join meets the other inputs, and by what.

Starting at input s, each step adds one input: one that a key class connects to those chosen, if
there is any, and among those the one with the narrowest window. The step probes by all classes
that the input shares with those chosen.

    a.x = b.x AND b.y = c.y, starting at c:    b by y (from c), then a by x (from b)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.physical.specs import WJoin
from windrow.schema import MAX_TICK


@dataclass(frozen=True, eq=False)
class Step:
    """One input to add.

    Attributes:
        input: the input.
        classes: the key classes to probe by.
        sources: per class, which of the inputs chosen so far gives the key (position in order).
        reach_back: per input i chosen so far, the largest t(i) - t(this).
        reach_on: per input i chosen so far, the largest t(this) - t(i).
        is_strict: of rows that came in the same push, only those before the start tuple count;
            whether equal times are after it (see `BewJoinOp`).
    """

    input: int
    classes: tuple[int, ...]
    sources: tuple[int, ...]
    reach_back: NDArray[np.int64]
    reach_on: NDArray[np.int64]
    is_strict: bool


@dataclass(frozen=True)
class Route:
    """The steps from one start input; `keys[n]` are the classes later steps take from step n."""

    start: int
    steps: tuple[Step, ...]
    keys: tuple[tuple[int, ...], ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The inputs as they are chosen, the start first."""
        return (self.start, *(step.input for step in self.steps))


def route_from(spec: WJoin, start: int) -> Route:
    """The steps that complete a combination from a tuple of input `start`."""
    chosen = [start]
    steps = []
    while len(chosen) < len(spec.inputs):
        step = _step(spec, chosen)
        steps.append(step)
        chosen.append(step.input)
    keys = [
        tuple(
            sorted(
                {
                    key
                    for step in steps
                    for key, source in zip(step.classes, step.sources, strict=True)
                    if source == position
                }
            )
        )
        for position in range(len(chosen))
    ]
    return Route(start, tuple(steps), tuple(keys))


def _step(spec: WJoin, chosen: list[int]) -> Step:
    upper = spec.graph.upper

    def preference(candidate: int) -> tuple[bool, int, int]:
        width = min(upper[i][candidate] + upper[candidate][i] for i in chosen)
        return (not _shared(spec, chosen, candidate), width, candidate)

    rest = [i for i in range(len(spec.inputs)) if i not in chosen]
    added = min(rest, key=preference)
    classes = _shared(spec, chosen, added)
    return Step(
        input=added,
        classes=classes,
        sources=tuple(
            next(at for at, i in enumerate(chosen) if i in spec.classes[key].inputs)
            for key in classes
        ),
        reach_back=_ticks([upper[added][i] for i in chosen]),
        reach_on=_ticks([upper[i][added] for i in chosen]),
        is_strict=added > chosen[0],
    )


def _shared(spec: WJoin, chosen: list[int], candidate: int) -> tuple[int, ...]:
    """The classes of a candidate that an input chosen before has too."""
    return tuple(
        at
        for at, key in enumerate(spec.classes)
        if candidate in key.inputs and any(i in key.inputs for i in chosen)
    )


def _ticks(bounds: list[int]) -> NDArray[np.int64]:
    return np.array([max(-MAX_TICK, min(MAX_TICK, bound)) for bound in bounds], np.int64)
