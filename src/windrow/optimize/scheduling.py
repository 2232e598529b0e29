"""Which scheduling a query in process takes, by the tuples that its operators handle.

A tuple goes through the n stateful operators between its window and the answer.

    tpa   Each handles it once, as it comes. That it has left its window each finds by itself: with
          one window, tuples leave in the order in which they came; with several, results of a join
          leave in any order, and an expiry scans all that are held, unless these are kept in the
          order in which they leave.
    nta   Each handles it twice, as it comes and as it goes, and scans nothing.
    ita   As tpa, but late: no operator hears of time but with its input. Never taken unasked.

All costs are per tuple that arrives, so that the choice follows from the plan alone, and a running
query that is planned again keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.physical.options import AUTO, ITA, TPA, Options
from windrow.physical.schedule import Schedule
from windrow.physical.specs import (
    CountRows,
    RangeRows,
    ResolveChanges,
    Spec,
    Stateful,
    inputs,
    takes_back,
)

NTA = "nta"

SCANNED_BY_EXPIRY = 0.0
"""The share of the tuples held that an expiry looks at, with several windows.

What is alive is kept in the order of its ends (`operators/sliding.py`): none. Of the paper's
buffers, which are in the order of arrival, it is 1."""


@dataclass(frozen=True)
class Load:
    """What goes through a plan.

    Attributes:
        operators: stateful ones that a tuple goes through, at most.
        windows: how many different windows there are.
    """

    operators: int
    windows: int

    @classmethod
    def of(cls, root: Spec) -> Load:
        """The load of a plan."""
        return cls(_operators(root), len(_windows(root)))


def tuples_handled(scheduling: str, load: Load, arriving: float = 1.0, held: float = 0.0) -> float:
    """Tuples that all operators handle while so many arrive, and so many are held.

    Examples:
        >>> [tuples_handled(name, Load(operators=3, windows=2)) for name in ("tpa", "nta")]
        [3.0, 6.0]
    """
    if scheduling == NTA:
        return 2 * arriving * load.operators
    scanned = SCANNED_BY_EXPIRY * held if load.windows > 1 else 0.0
    return arriving * (load.operators + scanned)


def scheduled(root: Spec, options: Options) -> Schedule:
    """The scheduling of a plan: the one asked for, or that by which least tuples are handled."""
    load = Load.of(root)
    if options.scheduling not in {None, AUTO}:
        assert options.scheduling is not None
        return Schedule(options.scheduling, f"asked for; {_effect(options.scheduling)}")
    if not takes_back(root):
        return Schedule()
    rejected = (f"nta: {_handled(NTA, load)}", f"ita: {_effect(ITA)}")
    return Schedule(TPA, f"{_why_tpa(load)}; {_handled(TPA, load)}", rejected)


def _effect(name: str) -> str:
    if name == ITA:
        return "changes wait until input arrives at their operator"
    return "changes come out as they become true"


def _why_tpa(load: Load) -> str:
    if load.windows <= 1:
        return "one window: tuples leave in the order in which they came"
    return f"{load.windows} windows, but tuples are kept in the order of their ends"


def _handled(name: str, load: Load) -> str:
    each = tuples_handled(name, load) / load.operators
    tuples = f"{each:g} tuple{'' if each == 1 else 's'} per input"
    return f"{tuples} through {load.operators} operator{'' if load.operators == 1 else 's'}"


def _operators(spec: Spec) -> int:
    below = max(map(_operators, inputs(spec)), default=0)
    return below + isinstance(spec, Stateful)


def _windows(spec: Spec) -> set[tuple[str, int]]:
    """The lengths of the windows below a spec, in ticks or in rows."""
    found = {window for child in inputs(spec) for window in _windows(child)}
    if isinstance(spec, RangeRows | ResolveChanges) and spec.ticks is not None:
        found.add(("ticks", spec.ticks))
    elif isinstance(spec, CountRows):
        found.add(("rows", spec.rows))
    return found
