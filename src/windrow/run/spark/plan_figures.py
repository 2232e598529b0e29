"""By which plans the buckets of each stage ran, as the figures of a run count them."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.physical.explain.plan_names import plan_name
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.query import PhysicalQuery
from windrow.run.spark.stages import stateful_specs

STEPS_BY = "steps by "
"""Before the name of a plan: the figure that counts the micro-batches of buckets that ran by it."""


class PlanFigures:
    """Adds up the figures of plans.

    Args:
        query: the query that runs.

    Attributes:
        shown: per window join, how it runs: as planned, until a worker has chosen.
        steps: per window join whose plan workers choose, how often each plan ran.
        changes: how often a worker went on with a bucket by another plan.
    """

    def __init__(self, query: PhysicalQuery) -> None:
        named = zip(operator_names(query), stateful_specs(query.root), strict=True)
        self.shown = {name: plan_name(spec) for name, spec in named if isinstance(spec, MultiJoin)}
        self.steps: dict[str, dict[str, int]] = {}
        self.changes = 0

    def add(self, stage: str, figures: Mapping[str, int]) -> None:
        """Takes what a stage reports."""
        self.changes += figures.get("plan_changes", 0)
        ran = {
            name.removeprefix(STEPS_BY): steps
            for name, steps in figures.items()
            if name.startswith(STEPS_BY) and steps
        }
        if not ran:
            return
        total = self.steps.setdefault(stage, {})
        for plan, steps in ran.items():
            total[plan] = total.get(plan, 0) + steps
        often = sorted(ran, key=lambda plan: -ran[plan])
        self.shown[stage] = (
            often[0] if len(ran) == 1 else ", ".join(f"{plan} ({ran[plan]})" for plan in often)
        )


def operator_names(query: PhysicalQuery) -> list[str]:
    """The operators' names from the bottom up; equal names are numbered."""
    names: list[str] = []
    for spec in stateful_specs(query.root):
        name = spec.title
        taken = sum(other.split(" #")[0] == name for other in names)
        names.append(f"{name} #{taken + 1}" if taken else name)
    return names
