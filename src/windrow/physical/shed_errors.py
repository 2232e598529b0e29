"""What is wrong with a join that sheds, where both the planner and a runner may find it."""

from __future__ import annotations

from windrow.errors import PlanError
from windrow.physical.specs import WJoin


def too_little_for_totals(join: WJoin, buckets: int = 1) -> PlanError:
    """Not one tuple of every window is sure to be kept, and totals are to be estimated."""
    where = "" if buckets == 1 else f" in each of {buckets} buckets"
    return PlanError(
        "too-little-for-totals",
        f"the memory keeps less than one tuple of some of {', '.join(join.aliases)}{where}",
        reason="totals are estimated from what is kept of every stream",
        hint="raise memory or shed_least" + ("" if buckets == 1 else ", or set fewer buckets"),
    )
