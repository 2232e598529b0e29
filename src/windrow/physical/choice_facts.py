"""What EXPLAIN says of a query on Spark: where, and by what, the plan of a window join is chosen."""

from __future__ import annotations

from windrow.physical.algorithms import DEFAULT
from windrow.physical.estimates import CHANGED
from windrow.physical.facts import Fact
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.query import PhysicalQuery, Runner


def choice_facts(spec: PhysicalNode, query: PhysicalQuery) -> list[Fact]:
    """Who chooses the plan of a window join; nothing in process, where the plan shown is it."""
    if query.runner is Runner.process or not isinstance(spec, MultiJoin) or not spec.has_plans:
        return []
    if not query.options.leaves_plans:
        is_asked = query.options.asked_algorithm or query.options.order or spec.shedding is None
        by = "by the options given" if is_asked else "by the rates known as the query starts"
        return [("chosen", [f"for all buckets, {by}; the state is that of any plan"])]
    anew = f"anew once a rate, or the rows at once, are {CHANGED:g} times as many or as few"
    if query.runner is Runner.spark_batch:
        how = [
            "in the worker, for each bucket by its first rows: their rates, and samples of their keys",
            anew,
        ]
        return [("chosen", [*how, _expected(spec)])]
    return [
        (
            "chosen",
            [
                "in the worker, for each bucket as a micro-batch begins: by the rates of the rows held"
                " and come, and samples of their keys",
                anew,
                _expected(spec),
                f"workers add to the costs of all plans but {DEFAULT} that rows held are laid out in"
                " every micro-batch",
                "the state is the same for every plan",
            ],
        )
    ]


def _expected(spec: MultiJoin) -> str:
    estimate = spec.estimate
    if estimate is not None and estimate.plans:
        return f"expected by hints, and run until rates are known: {estimate.plans[0].name}"
    return f"expected, and run until rates are known: {DEFAULT}-{spec.method}"
