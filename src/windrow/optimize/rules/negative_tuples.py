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

from windrow.physical.algorithms import DEFAULT, HASH, NESTED_LOOP
from windrow.physical.estimates import ONE_PLAN
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.expire_rows import ExpireRows
from windrow.physical.nodes.expiring_join import ExpiringJoin
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.range_rows import RangeRows


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
    is_own_way = join.algorithm == DEFAULT
    measured = {port for bound in join.graph.stated for port in (bound.left, bound.right)}
    inputs = tuple(
        child if port in measured else _ending(child) for port, child in enumerate(join.inputs)
    )
    own: dict[str, object] = {
        "inputs": inputs,
        "method": join.method if is_own_way else (HASH if join.classes else NESTED_LOOP),
        "orders": join.orders if is_own_way else (),
        "estimate": join.estimate if join.has_one_plan else ONE_PLAN,
    }
    return ExpiringJoin(**join.common() | own)
