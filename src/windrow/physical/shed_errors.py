"""What is wrong with a join that sheds, where both the planner and a runner may find it."""

from __future__ import annotations

from windrow.errors import PlanError
from windrow.physical.specs import WJoin


def too_little_for_buckets(join: WJoin, memory: float, buckets: int) -> PlanError:
    """Each of several buckets would keep less than one tuple for each stream."""
    streams = len(join.inputs)
    most = max(1, int(memory) // streams)
    return PlanError(
        "too-little-for-buckets",
        f"the memory of {int(memory):,} tuples is less than one tuple of each of"
        f" {', '.join(join.aliases)} in each of {buckets} buckets",
        reason="the memory is divided evenly among the buckets of the join",
        hint=f"set buckets = {most} or fewer, or memory to {streams * buckets:,} tuples or more",
    )


def too_little_for_totals(join: WJoin, buckets: int = 1) -> PlanError:
    """Not one tuple of every window is sure to be kept, and totals are to be estimated."""
    where = "" if buckets == 1 else f" in each of {buckets} buckets"
    return PlanError(
        "too-little-for-totals",
        f"the memory keeps less than one tuple of some of {', '.join(join.aliases)}{where}",
        reason="totals are estimated from what is kept of every stream",
        hint="raise memory or shed_least" + ("" if buckets == 1 else ", or set fewer buckets"),
    )
