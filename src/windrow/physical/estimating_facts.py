"""What EXPLAIN says of an aggregate over a join that sheds, beyond what it says of every one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.physical.explain.facts import Fact
    from windrow.physical.nodes.sliding_aggregate import SlidingAggregate


def estimating_facts(spec: SlidingAggregate) -> list[Fact]:
    """What its answers are, and how they come about; none for one that is exact."""
    if not spec.estimated_from:
        return []
    return [
        (
            "estimates",
            [
                "each with its 95% interval, from _low to _high: the join below sheds",
                "where nothing was shed they are exact, and both ends are the value",
            ],
        ),
        (
            "how",
            [
                "a combination found weighs 1 / its chance (Horvitz and Thompson)",
                "variance: squares of the sums over combinations that share a tuple, by each of the"
                f" {2**spec.estimated_from - 1} sets of streams; Student's quantile",
            ],
        ),
    ]
