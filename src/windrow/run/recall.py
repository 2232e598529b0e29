"""How much of its answer a query that sheds has found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from windrow.operators.base import Counters
from windrow.operators.shedding.recall import THOUSANDTHS
from windrow.physical.nodes.base import PhysicalNode


@dataclass(frozen=True)
class Recall:
    """The share of all combinations of a join that were found, from 0 to 1.

    Attributes:
        expected: as memory and processor were divided; None before anything was found.
        estimated: as the chances of those found tell; None before anything was found.
        is_by_bucket: whether each of several buckets sheds by itself, with its part of memory and
            service rate.

    Examples:
        >>> str(Recall(expected=0.5, estimated=0.4875))
        'recall 48.8% estimated, 50.0% expected'
    """

    expected: float | None = None
    estimated: float | None = None
    is_by_bucket: bool = False

    def as_dict(self) -> dict[str, float | None]:
        """Both by name."""
        return {"expected": self.expected, "estimated": self.estimated}

    def __str__(self) -> str:
        if self.expected is None or self.estimated is None:
            return "recall not known: nothing was found"
        where = ", a part per bucket" if self.is_by_bucket and self.estimated < 1 else ""
        return f"recall {self.estimated:.1%} estimated, {self.expected:.1%} expected{where}"


def recall_of(
    root: PhysicalNode, figures: Iterable[Counters], *, is_by_bucket: bool = False
) -> Recall | None:
    """The recall of a query by the figures of its operators; None where nothing may be shed."""
    if not may_shed(root):
        return None
    total = Counters()
    for counters in figures:
        total.add(counters)
    if not total.shed_estimated:
        return Recall(is_by_bucket=is_by_bucket)
    found = total.shed_found * THOUSANDTHS
    return Recall(
        expected=total.shed_expected / total.shed_estimated,
        estimated=min(1.0, found / total.shed_estimated),
        is_by_bucket=is_by_bucket,
    )


def may_shed(spec: PhysicalNode) -> bool:
    """Whether the answer of a plan may be a part of the whole one."""
    return any(node.shedding is not None and node.shedding.sheds for node in spec.walk())
