"""By what the rows of an operator are spread over threads in process, or why one thread has them all.

It is the partitioning of a stage on Spark, where that sends each row to one bucket: what it would copy
to several, each of them had to hold and to go through as well. Every operator has a partitioning of its
own, for between two of them all rows are in one place:

    scan -> route -> [ join, bucket 0 | join, bucket 1 ] -> project -> route -> [ .. | .. ] -> answer

How many buckets there are follows from the option `threads` when a query begins, and from its checkpoint
when it goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.physical.partitioning.buckets import HashKeys, HashShares, Partitioning, Single

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.options import Options

COPIED = "rows would be in several buckets: without an equality of all inputs they meet by time or by place"
BOUND = "with memory one bound holds for the whole state"
LIMITED = "what may be shed is drawn from all rows together"


def spread_over(node: PhysicalNode, buckets: int) -> Partitioning:
    """How the rows of an operator are spread over at most so many buckets in process."""
    if node.is_limited or node.sheds or node.estimates:
        return Single(LIMITED)
    found = node.partitioning(buckets)
    if isinstance(found, Single | HashKeys):
        return found
    if isinstance(found, HashShares) and max(found.copies) == 1:
        return found
    return Single(COPIED)


def asked_spread(node: PhysicalNode, options: Options) -> Partitioning | None:
    """The same as the options ask for it; None where they ask for one thread."""
    if options.threads is None or options.threads == 1 or not node.is_stateful:
        return None
    if options.most_threads == 1:
        return Single(LIMITED if options.limits_joins else BOUND)
    return spread_over(node, options.threads)
