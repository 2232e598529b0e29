"""Which scheduling a query takes, by the tuples that its operators handle and those they hold.

A tuple goes through the n stateful operators between its window and the answer.

    tpa   Each handles it once, as it comes, and keeps it until it leaves its window, which is found
          without a search: what is held is kept in the order in which it leaves.
    nta   Each handles it twice, as it comes and as it goes (`negative_tuples.py`). Only the expire
          operator over a stream and the join keep tuples, not what adds them up above.
    ita   As tpa, but late: no operator hears of time but with its input. Never taken unasked.

With one window tuples are held once by either, and tpa handles fewer. Over a join of several windows
tpa holds its results too, which may be many more than the tuples in the windows (`held_rows.py`).
What counts is the product, tuples handled by tuples held: nta is taken where it holds less than half.
How much is held is told by hints alone (`rate=`, `distinct=`): the choice then stays when a running
query is planned again, and when it is resumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.held_rows import held_rows
from windrow.optimize.negative_tuples import with_negative_tuples
from windrow.optimize.plan_statistics import PlanStatistics
from windrow.physical.cost_facts import show_count
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.count_rows import CountRows
from windrow.physical.nodes.range_rows import RangeRows
from windrow.physical.nodes.resolve_changes import ResolveChanges
from windrow.physical.options import AUTO, ITA, NTA, TPA, Options
from windrow.physical.schedule import Schedule

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
    def of(cls, root: PhysicalNode) -> Load:
        """The load of a plan."""
        return cls(_operators(root), len(_windows(root)))


@dataclass(frozen=True)
class Cost:
    """What a plan costs by one scheduling.

    Attributes:
        handled: tuples that all operators handle for each one that arrives.
        held: tuples that they hold, once windows are full; None where that is not known.
    """

    handled: float
    held: float | None = None

    @classmethod
    def of(cls, scheduling: str, root: PhysicalNode, load: Load, numbers: PlanStatistics) -> Cost:
        """The cost of a plan, given as it runs by tpa."""
        if scheduling == NTA:
            return cls(2.0 * load.operators, held_rows(with_negative_tuples(root), numbers))
        return cls(float(load.operators), held_rows(root, numbers))

    def text(self, load: Load) -> str:
        """The cost in words."""
        each = self.handled / load.operators
        tuples = f"{each:g} tuple{'' if each == 1 else 's'} per input"
        through = f"{load.operators} operator{'' if load.operators == 1 else 's'}"
        held = "" if self.held is None else f", {show_count(self.held)} held"
        return f"{tuples} through {through}{held}"


def scheduled(
    root: PhysicalNode, options: Options, numbers: PlanStatistics
) -> tuple[PhysicalNode, Schedule]:
    """A plan by its scheduling: the one asked for, or the one that costs least by the numbers."""
    schedule = _schedule(root, options, numbers)
    if schedule.name == NTA and root.takes_back:
        return with_negative_tuples(root), schedule
    return root, schedule


def _schedule(root: PhysicalNode, options: Options, numbers: PlanStatistics) -> Schedule:
    if options.scheduling not in {None, AUTO}:
        assert options.scheduling is not None
        return Schedule(options.scheduling, f"asked for; {EFFECTS[options.scheduling]}")
    if not root.takes_back:
        return Schedule()
    load = Load.of(root)
    tpa, nta = (Cost.of(name, root, load, numbers) for name in (TPA, NTA))
    better = _why_negative(tpa, nta, options)
    rejected_ita = f"{ITA}: {EFFECTS[ITA]}"
    if better:
        return Schedule(
            NTA, f"{better}; {nta.text(load)}", (f"{TPA}: {tpa.text(load)}", rejected_ita)
        )
    why = f"{_why_probing(tpa, nta, load, options)}; {tpa.text(load)}"
    return Schedule(TPA, why, (f"{NTA}: {nta.text(load)}", rejected_ita))


def _why_negative(tpa: Cost, nta: Cost, options: Options) -> str:
    """What speaks for negative tuples; "" where that is less than what speaks against them."""
    if tpa.held is None or nta.held is None or _is_asked_for(options):
        return ""
    memory = options.memory_amount
    if memory is not None and memory.is_tuples and nta.held <= memory.count < tpa.held:
        return f"what is held fits into {memory}"
    if nta.handled * nta.held < tpa.handled * tpa.held:
        return "less than half is held, for twice the tuples handled"
    return ""


def _why_probing(tpa: Cost, nta: Cost, load: Load, options: Options) -> str:
    if load.windows == 0:
        return "no window: rows go as they are taken back"
    if load.windows == 1:
        return "one window: tuples leave in the order in which they came"
    if _is_asked_for(options):
        return f"{load.windows} windows, and the join is to be as it was asked for"
    if tpa.held is None or nta.held is None:
        return f"{load.windows} windows, and rate= and distinct= do not tell how much is held"
    return f"{load.windows} windows, but negative tuples would not halve what is held"


def _is_asked_for(options: Options) -> bool:
    """Whether joins are to run in a way that a join which expires its tuples has not."""
    return bool(options.asked_algorithm or options.order or options.sheds)


def _operators(spec: PhysicalNode) -> int:
    below = max(map(_operators, spec.inputs), default=0)
    return below + spec.is_stateful


def _windows(spec: PhysicalNode) -> set[tuple[str, int]]:
    """The lengths of the windows below a spec, in ticks or in rows."""
    found = {window for child in spec.inputs for window in _windows(child)}
    if isinstance(spec, RangeRows | ResolveChanges) and spec.ticks is not None:
        found.add(("ticks", spec.ticks))
    elif isinstance(spec, CountRows):
        found.add(("rows", spec.rows))
    return found
