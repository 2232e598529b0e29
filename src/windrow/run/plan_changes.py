"""When a join that runs is planned again, and what its plans are called."""

from __future__ import annotations

from windrow.physical.estimates import CHANGED
from windrow.physical.specs import WJoin


def is_near(number: float, planned: float) -> bool:
    """Whether a number is still about what a plan was made for."""
    return planned / CHANGED <= number <= planned * CHANGED


def plan_name(spec: WJoin) -> str:
    """A plan in a few words, as options would ask for it."""
    if spec.structures:
        return "/".join(spec.structures)
    name = f"{spec.algorithm}-{spec.method}" if spec.algorithm in {"bew", "few"} else spec.algorithm
    if not spec.orders:
        return name
    orders = (
        f"{spec.aliases[start]} meets {', '.join(spec.aliases[one] for one in order)}"
        for start, order in enumerate(spec.orders)
    )
    return f"{name}: {'; '.join(orders)}"
