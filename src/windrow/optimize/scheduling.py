"""Which scheduling a query takes, by the tuples that its operators handle.

A tuple goes through the n stateful operators between its window and the answer.

    tpa   Each handles it once, as it comes. That it has left its window each finds by itself: with
          one window, tuples leave in the order in which they came; with several, results of a join
          leave in any order, and an expiry scans all that are held, unless these are kept in the
          order in which they leave.
    nta   Each handles it twice, as it comes and as it goes, and scans nothing
          (`negative_tuples.py`).
    ita   As tpa, but late: no operator hears of time but with its input. Never taken unasked.

All costs are per tuple that arrives, so that the choice follows from the plan alone, and a running
query that is planned again keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.negative_tuples import with_negative_tuples
from windrow.physical.options import AUTO, ITA, NTA, TPA, Options
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

SCANNED_BY_EXPIRY = 0.0
"""The share of the tuples held that an expiry looks at, with several windows.

What is alive is kept in the order of its ends (`operators/sliding.py`): none. Of the paper's
buffers, which are in the order of arrival, it is 1."""


EFFECTS = {
    TPA: "changes come out as they become true",
    NTA: "a negative tuple follows each, and changes come out as they become true",
    ITA: "changes wait until input arrives at their operator",
}


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


def scheduled(root: Spec, options: Options) -> tuple[Spec, Schedule]:
    """A plan by its scheduling: the one asked for, or that by which least tuples are handled."""
    schedule = _schedule(root, options)
    if schedule.name == NTA and takes_back(root):
        return with_negative_tuples(root), schedule
    return root, schedule


def _schedule(root: Spec, options: Options) -> Schedule:
    if options.scheduling not in {None, AUTO}:
        assert options.scheduling is not None
        return Schedule(options.scheduling, f"asked for; {EFFECTS[options.scheduling]}")
    if not takes_back(root):
        return Schedule()
    load = Load.of(root)
    # Of equals the first: it needs no other plan.
    taken, other = sorted((TPA, NTA), key=lambda name: tuples_handled(name, load))
    rejected = (f"{other}: {_handled(other, load)}", f"{ITA}: {EFFECTS[ITA]}")
    return Schedule(taken, f"{_reason(taken, load)}; {_handled(taken, load)}", rejected)


def _reason(taken: str, load: Load) -> str:
    if load.windows <= 1:
        return "one window: tuples leave in the order in which they came"
    if taken == NTA:
        return f"{load.windows} windows: tuples leave in any order"
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
