"""The plan of a changelog in which rows go by negative tuples, not by their ends.

The 2004 paper's second approach. Whatever takes rows back works on signs alone: an aggregate keeps
its accumulators, DISTINCT and set operations a count per value, and no row a second time.

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

from collections.abc import Callable
from dataclasses import replace

from windrow.physical.algorithms import DEFAULT, HASH, NESTED_LOOP
from windrow.physical.estimates import ONE_PLAN
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.expire_rows import ExpireRows
from windrow.physical.nodes.expiring_join import ExpiringJoin
from windrow.physical.nodes.filter_rows import FilterRows
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.range_rows import RangeRows
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.physical.nodes.table_join_rows import TableJoinRows
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.nodes.union_rows import UnionRows

Rewrite = Callable[[PhysicalNode], PhysicalNode]


def with_negative_tuples(root: PhysicalNode) -> PhysicalNode:
    """The plan of a changelog in which no row ends by itself where rows are taken back.

    Its changes are those of the plan given, and come at the same watermarks.
    """
    return _signed(root)


def _signed(spec: PhysicalNode) -> PhysicalNode:
    """The rows of a spec with signs alone."""
    if isinstance(spec, RangeRows):
        return _expired(spec.input, spec.ticks)
    if isinstance(spec, FilterRows | ProjectRows | TableJoinRows | UnionRows):
        return _over(spec, _signed)
    if isinstance(spec, SetOp) and spec.hands_on:
        return _signed(spec.inputs[0])  # what makes the negatives finds late rows as well
    rewritten = _ending(spec)
    return ExpireRows(rewritten) if rewritten.has_ends else rewritten


def _ending(spec: PhysicalNode) -> PhysicalNode:
    """The rows of a spec with ends where they have some, made by negative tuples below."""
    if isinstance(spec, FilterRows | ProjectRows | TableJoinRows | UnionRows):
        return _over(spec, _ending)
    if isinstance(spec, SlidingAggregate) and not spec.estimated_from:
        return replace(spec, input=_signed(spec.input))
    if isinstance(spec, SetOp) and not spec.hands_on:
        return replace(spec, inputs=tuple(map(_signed, spec.inputs)))
    return _expiring(spec) if isinstance(spec, MultiJoin) and _can_expire(spec) else spec


def _expired(spec: PhysicalNode, ticks: int) -> PhysicalNode:
    """The rows of a spec, each with a negative so many ticks and one later: over its scans."""
    if isinstance(spec, FilterRows | ProjectRows | TableJoinRows | UnionRows):
        return _over(spec, lambda below: _expired(below, ticks))
    if isinstance(spec, RangeRows):
        return _expired(spec.input, min(ticks, spec.ticks))
    return ExpireRows(RangeRows(spec, ticks))


def _over(
    spec: FilterRows | ProjectRows | TableJoinRows | UnionRows, rewrite: Rewrite
) -> PhysicalNode:
    """What works row by row, over rewritten rows; a table below it stays."""
    if isinstance(spec, UnionRows):
        return replace(spec, inputs=tuple(map(rewrite, spec.inputs)))
    return replace(spec, input=rewrite(spec.input))


def _can_expire(join: MultiJoin) -> bool:
    """Whether a join keeps each row as long as it is alive, and no longer."""
    if isinstance(join, SnapshotJoin):
        return True
    is_plain = isinstance(join, TimeJoin) and join.has_plans and not isinstance(join, SheddingJoin)
    return is_plain and all(child.alive_ticks is not None for child in join.inputs)


def _expiring(join: MultiJoin) -> ExpiringJoin:
    """The join that takes its combinations back; it looks tuples up by ends, in its own way."""
    is_own_way = join.algorithm == DEFAULT
    measured = {port for bound in join.graph.stated for port in (bound.left, bound.right)}
    inputs = tuple(
        child if port in measured else _ending(child) for port, child in enumerate(join.inputs)
    )
    own: dict[str, object] = {
        "inputs": inputs,
        "method": join.method if is_own_way else (HASH if join.classes else NESTED_LOOP),
        "orders": join.orders if is_own_way else (),
        "estimate": join.estimate if isinstance(join, SnapshotJoin) else ONE_PLAN,
    }
    return ExpiringJoin(**join.common() | own)
