"""What EXPLAIN says of the scheduling of a query."""

from __future__ import annotations

from windrow.physical.algorithms import DEFAULT
from windrow.physical.estimates import CHANGED
from windrow.physical.explain.facts import Fact
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
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


def choice_facts(node: PhysicalNode, query: PhysicalQuery) -> list[Fact]:
    """Who chooses the plan of a window join; nothing in process, where the plan shown is it."""
    if query.runner is Runner.process or not isinstance(node, MultiJoin) or not node.has_plans:
        return []
    if not query.options.leaves_plans:
        is_asked = query.options.asked_algorithm or query.options.order or node.shedding is None
        by = "by the options given" if is_asked else "by the rates known as the query starts"
        return [("chosen", [f"for all buckets, {by}; the state is that of any plan"])]
    anew = f"anew once a rate, or the rows at once, are {CHANGED:g} times as many or as few"
    if query.runner is Runner.spark_batch:
        how = [
            "in the worker, for each bucket by its first rows: their rates, and samples of their keys",
            anew,
        ]
        return [("chosen", [*how, _expected(node)])]
    return [
        (
            "chosen",
            [
                "in the worker, for each bucket as a micro-batch begins: by the rates of the rows held"
                " and come, and samples of their keys",
                anew,
                _expected(node),
                f"workers add to the costs of all plans but {DEFAULT} that rows held are laid out in"
                " every micro-batch",
                "the state is the same for every plan",
            ],
        )
    ]


def _expected(node: MultiJoin) -> str:
    estimate = node.estimate
    if estimate is not None and estimate.plans:
        return f"expected by hints, and run until rates are known: {estimate.plans[0].name}"
    return f"expected, and run until rates are known: {DEFAULT}-{node.method}"
