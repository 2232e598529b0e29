"""Which scheduling a query takes, and its plan where rows leave by negative tuples.

**The choice** is by the tuples that operators handle and those they hold. A tuple goes through the
n stateful operators between its window and the answer.

    tpa   Each handles it once, as it comes, and keeps it until it leaves its window, which is found
          without a search: what is held is kept in the order in which it leaves.
    nta   Each handles it twice, as it comes and as it goes (`with_negative_tuples`). Only the expire
          operator over a stream and the join keep tuples, not what adds them up above.
    ita   As tpa, but late: no operator hears of time but with its input. Never taken unasked.

With one window tuples are held once by either, and tpa handles fewer. Over a join of several
windows tpa holds its results too, which may be many more than the tuples in the windows. What
counts is the product, tuples handled by tuples held: nta is taken where it holds less than half.
How much is held is told by hints alone (`rate=`, `distinct=`): the choice then stays when a running
query is planned again, and when it is resumed.

**What operators hold** once windows are full is told by rates and different keys (`held_rows`):

    SlidingAggregate sum(x)      tpa: the pairs alive           nta: none, the sum alone
      join a.k = b.k             the tuples of both windows     the same: pairs leave with them
        a [RANGE 10 min]
        b [RANGE 5 min]

Of two windows with n and m tuples alive, n m / d pairs are alive where keys take d different
values. What is kept per group or per different row is no tuple, and the same by either scheduling.

**By negative tuples**, the 2004 paper's second approach, rows do not go by their ends. Whatever
takes rows back works on signs alone: an aggregate keeps its accumulators, DISTINCT and set
operations a count per value, and no row a second time.

    SlidingAggregate sum(x)                  SlidingAggregate sum(x)
      RangeRows 10                             FilterRows x > 1
        FilterRows x > 1                         ExpireRows a
          ScanStream a                             RangeRows 10
                                                     ScanStream a

Rows get their negatives right over the scan, as in the paper, and these pass selections and
projections as the rows did. There are two places where they do not:

- A join of windows keeps its rows anyway, and expires them itself (`ExpiringJoin`): below it
  nothing does. The same join runs where an input takes rows back.
- Rows of what must see them whole (an outer or bestmatch join, a join that sheds, one by count
  windows or by pairs of streams) end as they did, and get their negatives above it. So it is where
  an expiring join asks how far apart rows are: a negative tuple has the time at which a row goes,
  not the one at which it came. Such inputs end by themselves, with all that lies below them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from windrow.optimize.cost.statistics import PlanStatistics
from windrow.physical.estimates import ONE_PLAN, show_count
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.feeds import ExpireRows
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.snapshot_join import ExpiringJoin
from windrow.physical.nodes.stateless import RangeRows
from windrow.physical.options import AUTO, ITA, NTA, TPA, Options
from windrow.physical.query import Schedule
from windrow.plan.statistics import ASSUMED

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
        """The load of a plan; windows are told apart by their lengths, in ticks or in rows."""
        windows = {node.own_window for node in root.walk() if node.own_window is not None}
        return cls(_operators(root), len(windows))


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


def _operators(node: PhysicalNode) -> int:
    below = max(map(_operators, node.inputs), default=0)
    return below + node.is_stateful


def held_rows(node: PhysicalNode, numbers: PlanStatistics) -> float | None:
    """Tuples that a plan holds on average; None where its numbers do not tell."""
    parts = [held_rows(child, numbers) for child in node.inputs]
    held = node.held_inputs
    own = None if held is None else _total([_alive(child, numbers) for child in held])
    return _total([own, *parts])


def _alive(node: PhysicalNode, numbers: PlanStatistics) -> float | None:
    """Rows of a node that are alive at an instant."""
    if node.whole_inputs:
        return _total([_alive(child, numbers) for child in node.whole_inputs])
    if isinstance(node, MultiJoin):
        return _alive_pairs(node, numbers)
    if len(node.scans) > 1:  # a selection over a join: what passes it is not known
        return None
    length, rate = node.alive_ticks, numbers.rate(node)
    return None if length is None or rate is None else rate.value * length


def _alive_pairs(join: MultiJoin, numbers: PlanStatistics) -> float | None:
    """Combinations of a join that are alive: those of equal keys, of all that could be."""
    if join.predicates or not join.joins_what_is_alive:
        return None
    alive = [_alive(child, numbers) for child in join.inputs]
    apart = 1.0
    for own in join.classes:
        keys = [numbers.different(join.inputs[at], str(own.columns[at])) for at in own.inputs]
        if any(figure.source == ASSUMED for figure in keys):
            return None
        apart *= max(figure.value for figure in keys) ** (len(keys) - 1)
    known = [rows for rows in alive if rows is not None]
    return prod(known) / max(apart, 1.0) if len(known) == len(alive) else None


def _total(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def with_negative_tuples(node: PhysicalNode) -> PhysicalNode:
    """The plan of a changelog in which no row ends by itself where rows are taken back.

    Its changes are those of the plan given, and come at the same watermarks.
    """
    if node.range_ticks is not None:
        return _expired(node.inputs[0], node.range_ticks)
    if node.row_inputs:
        return node.with_rows(with_negative_tuples)
    if node.is_stateful and node.whole_inputs and node.has_ends:
        return with_negative_tuples(
            node.inputs[0]
        )  # what makes the negatives finds late rows as well
    rewritten = _ending(node)
    return ExpireRows(rewritten) if rewritten.has_ends else rewritten


def _ending(node: PhysicalNode) -> PhysicalNode:
    """The rows of a node with ends where they have some, made by negative tuples below."""
    if node.row_inputs:
        return node.with_rows(_ending)
    if node.works_on_signs:
        return node.with_inputs([with_negative_tuples(child) for child in node.inputs])
    if node.can_expire:
        (join, *_) = node.window_joins
        return _expiring(join)
    return node


def _expired(node: PhysicalNode, ticks: int) -> PhysicalNode:
    """The rows of a node, each with a negative so many ticks and one later: over its scans."""
    if node.row_inputs:
        return node.with_rows(lambda below: _expired(below, ticks))
    if node.range_ticks is not None:
        return _expired(node.inputs[0], min(ticks, node.range_ticks))
    return ExpireRows(RangeRows(node, ticks))


def _expiring(join: MultiJoin) -> ExpiringJoin:
    """The join that takes its combinations back; it looks tuples up by ends, in its own way."""
    measured = {port for bound in join.graph.stated for port in (bound.left, bound.right)}
    inputs = tuple(
        child if port in measured else _ending(child) for port, child in enumerate(join.inputs)
    )
    own: dict[str, object] = {
        "inputs": inputs,
        "method": join.method_by_ends,
        "orders": join.orders if join.is_backward else (),
        "estimate": join.estimate if join.has_one_plan else ONE_PLAN,
    }
    return ExpiringJoin(**join.common() | own)
