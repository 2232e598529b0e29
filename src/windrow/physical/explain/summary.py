"""The first lines of EXPLAIN: at most a dozen that a person can act on.

    answer      changelog: rows come and go
    runs        in process: window join of a, b, then sliding aggregate count(*)
    keeps       a <= rate(a) x (10m + lateness 5s + distance) + one batch
    emits       each combination in the batch of its last tuple; adds no delay
    memory      as much as the windows need (not limited)
    cost        0.8% of a core, at 1,010 per second; one core takes about 130,000 rows per second
    attention   lateness is 0 for b: a row that comes out of order there is late

A stateful node is in it by its `brief` (runs), and by those of its facts that are called "state" (keeps)
and "emits"; by its estimate, where it `is_priced`; and with a warning where it cannot be spread.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.physical.explain.cost_facts import total_cost
from windrow.physical.explain.facts import Fact, show_promises
from windrow.physical.explain.query_facts import StageFacts, memory_line
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.query import PhysicalQuery, Runner

MOST_KEPT, MOST_WAITS, MOST_ATTENTION = 4, 2, 2
"""Lines of each, so that all together are a dozen at most."""

Explained = Sequence[tuple[PhysicalNode, list[Fact]]]
"""Nodes from the top down, each with its facts."""


def summary_facts(
    physical: PhysicalQuery, nodes: Explained, stages: Sequence[StageFacts]
) -> list[Fact]:
    """What will run, what it keeps, what it waits for, what it costs, and what is in the way."""
    stateful = [(node, facts) for node, facts in reversed(nodes) if node.is_stateful]
    kept = [line for _, facts in stateful for line in _of(facts, "state")]
    waits = [line for _, facts in stateful for line in _of(facts, "emits")]
    answer = "changelog: rows come and go" if physical.is_changelog else "append: each row once"
    facts = [
        ("answer", [answer]),
        ("runs", [_runs(physical, [node for node, _ in stateful])]),
        ("keeps", _first(kept, MOST_KEPT) or ["nothing: each row is answered on its own"]),
        ("emits", _first(waits, MOST_WAITS) or ["each row in its batch"]),
        ("memory", [memory_line(physical.options)]),
        ("cost", _cost(physical)),
        ("attention", _first(_attention(physical, stages), MOST_ATTENTION)),
    ]
    return [fact for fact in facts if fact[1]]


def _cost(physical: PhysicalQuery) -> list[str]:
    """What it costs, or what to give to know it; nothing where nobody can."""
    is_priced = any(node.is_priced for node in physical.root.walk())
    return [total_cost(physical.root, physical.time_type)] if is_priced else []


def _runs(physical: PhysicalQuery, stateful: Sequence[PhysicalNode]) -> str:
    if not stateful:
        return f"{physical.runner.value}, row by row"
    steps = ", then ".join(node.brief for node in stateful)
    return f"{physical.runner.value}: {steps}"


def _attention(physical: PhysicalQuery, stages: Sequence[StageFacts]) -> list[str]:
    """What may be in the way of who asks: on Spark one task for all; late rows unannounced."""
    lines = []
    if physical.runner is not Runner.process:
        lines += [
            f"one task does all the work of {stage.title}: {stage.warning}"
            for stage in stages
            if stage.warning
        ]
    if physical.root.has_state:
        strict = [scan for scan in physical.root.scans if _has_no_slack(show_promises(scan))]
        names = ", ".join(dict.fromkeys(scan.alias for scan in strict))
        if strict:
            lines.append(f"lateness is 0 for {names}: a row that comes out of order there is late")
    return lines


def _has_no_slack(promise: str) -> bool:
    return promise in {"lateness 0", "lateness 0s"}


def _of(facts: Sequence[Fact], label: str) -> list[str]:
    return [line for name, lines in facts if name == label for line in lines]


def _first(lines: list[str], most: int) -> list[str]:
    """The first lines; the last of these says how many more there are, if there are."""
    if len(lines) <= most:
        return lines
    rest = len(lines) - most + 1
    return [*lines[: most - 1], f"and {rest} more: see below"]
