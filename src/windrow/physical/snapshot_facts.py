"""What EXPLAIN says of a join of which some input takes rows back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windrow.physical.algorithm_facts import algorithm_facts
from windrow.physical.bounds_text import plus, stated_windows
from windrow.physical.lifetimes import alive_bound, lifetime, state_bound
from windrow.physical.options import Options
from windrow.physical.partitioning import show_class
from windrow.physical.probe_facts import probes, tests

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.nodes.window_join import WJoin

Fact = tuple[str, list[str]]


def snapshot_facts(spec: WJoin, options: Options, show: Callable[[str], str]) -> list[Fact]:
    """The facts of the join, in the order they are read; some may be empty."""
    time_type = spec.time_type
    below = max(child.delay for child in spec.inputs)
    watermark = plus("the watermark", -below, time_type)
    keys = ", ".join(show_class(key, show) for key in spec.classes)
    algorithm, _, why = algorithm_facts(spec, options, keys)
    inputs = [
        (child, alias, child.alive_ticks)
        for child, alias in zip(spec.inputs, spec.aliases, strict=True)
    ]
    return [
        algorithm,
        (
            "how",
            [
                "rows join while all of them are alive; one that is taken back is alive until then",
                *_negatives(spec),
            ],
        ),
        why,
        ("rows", [f"{alias}: {lifetime(child, alive)}" for child, alias, alive in inputs]),
        ("times", stated_windows(spec.graph, time_type)),
        (
            "retention",
            [f"drop a row when {watermark} has come to its end, or to what takes it back"],
        ),
        ("state", [_state(spec, child, alias, alive, below) for child, alias, alive in inputs]),
        ("probes", probes(spec)),
        ("tests", tests(spec)),
        ("emits", [_emission(spec, watermark)]),
    ]


def _state(spec: WJoin, rows: PhysicalNode, alias: str, alive: int | None, below: int) -> str:
    """The most rows of an input that are held after a batch."""
    if alive is None:
        return f"{alias} <= its rows alive, and those that the watermark has not come to"
    bound = alive_bound if spec.expires else state_bound
    return bound(spec, rows, alias, alive, below)


def _negatives(spec: WJoin) -> list[str]:
    """How the windows of the inputs are expired, where the join does it."""
    if not spec.expires:
        return []
    return [
        "negative tuples: a row that ends joins those still alive, and takes back what it was"
        " part of; the windows are the join's own rows"
    ]


def _emission(spec: WJoin, watermark: str) -> str:
    if spec.expires:
        return (
            f"the combinations that come or go below {watermark}, in the order of time;"
            " adds no delay"
        )
    return "each combination with its last row, and what takes it back; adds no delay"
