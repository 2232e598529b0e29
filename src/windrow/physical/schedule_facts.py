"""What EXPLAIN says of the scheduling of a query."""

from __future__ import annotations

from windrow.physical.facts import Fact
from windrow.physical.options import ITA, NTA
from windrow.physical.query import PhysicalQuery, Runner

TIME_COMES_WITH_ROWS = "no bound while an input brings no rows (ita), for these tell the time; else"


def schedule_facts(query: PhysicalQuery) -> list[Fact]:
    """The scheduling, and why so; nothing where no row is ever taken back.

    Nor on Spark, where stages go by the watermark, unless the plan is one of negative tuples.
    """
    schedule = query.schedule
    if not schedule.why or (query.runner is not Runner.process and schedule.name != NTA):
        return []
    rejected = [f"rejected {other}" for other in schedule.rejected]
    return [("scheduling", [f"{schedule.name} ({schedule.why})", *rejected])]


def as_scheduled(facts: list[Fact], query: PhysicalQuery) -> list[Fact]:
    """The facts of an operator, none of which is a bound that does not hold."""
    if query.schedule.name != ITA or query.runner is not Runner.process:
        return facts
    return [
        (label, [TIME_COMES_WITH_ROWS, *lines] if label == "state" else lines)
        for label, lines in facts
    ]
