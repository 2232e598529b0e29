"""The summary of EXPLAIN: a dozen lines at most that a person can act on.

    answer      changelog: rows come and go
    runs        in process: window join of a, b, then sliding aggregate count(*)
    keeps       a <= rate(a) x (10m + lateness 5s + distance) + one batch
    emits       each combination in the batch of its last tuple; adds no delay
    memory      as much as the windows need (not limited)
    cost        0.8% of a core for the window joins, at 1,010 per second; one core keeps up with about
                11,000 per second in the same mix
    attention   lateness is 0 for b: any out-of-order row there is late

A node is in it by the lines of its facts that are called "state" (keeps), and "emits" unless one above it
has such a fact; where it is stateful, by its `brief` (runs); by its estimate, where it `is_priced`; by its
`warnings`; and where it cannot be spread. In "state" a line that ends with a colon goes on in the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windrow.physical.estimates import (
    MOST_CORES,
    TotalCost,
    has_stated_rates,
    is_over_a_core,
    show_cores,
    show_count,
    show_rate,
)
from windrow.physical.explain.facts import Fact, HeldRows, said, show_promises
from windrow.physical.explain.query_facts import StageFacts, cost_line, has_cost, memory_line
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.query import PhysicalQuery, Runner
from windrow.plan.exprs import Expr
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.query import Query
from windrow.plan.statistics import ASSUMED, HINT, SEEN, Figure
from windrow.plan.units import show_ticks

MOST_LINES = 12
"""Of the summary. What is kept has those that are left, `LEAST_KEPT` of them at least."""

LEAST_KEPT, MOST_KEPT, MOST_WAITS, MOST_ATTENTION = 2, 4, 2, 3

AT_MOST = "at most"
"""Where a number is from that counts rows which a filter may take out."""


@dataclass(frozen=True)
class StatedRates:
    """The rates of the streams below a plan as the user wrote it; a `Rates`."""

    plan: Node

    def of_stream(self, stream: str) -> Figure | None:
        """As stated."""
        known = (own.statistics.rate for own in self.plan.streams if own.name == stream)
        return next(known, None)

    def rate(self, node: Any) -> Figure | None:
        """As the node says; None where it rests on a number that nobody knows."""
        found: Figure | None = node.rate(self)
        return None if found is None or ASSUMED in found.source else found

    def passing_rate(self, node: Any, predicates: tuple[Expr, ...]) -> Figure | None:  # noqa: ARG002
        """That of all rows: how many of them pass, nobody has said."""
        found = self.rate(node)
        return found and Figure(found.value, AT_MOST)


Explained = Sequence[tuple[PhysicalNode, list[Fact]]]
"""Nodes from the top down, each with its facts."""

Kept = tuple[str, bool]
"""What is kept, and whether it limits how many rows are."""


def summary_facts(
    logical: Query, physical: PhysicalQuery, nodes: Explained, stages: Sequence[StageFacts]
) -> list[Fact]:
    """What will run, what it keeps, what it waits for, what it costs, and what is in the way."""
    by_node = {id(node): facts for node, facts in nodes}
    rates = StatedRates(logical.root)
    kept = [
        line
        for node in _upwards(physical.root)
        for line in _whole(_of(by_node[id(node)], "state"), node, rates)
    ]
    answer = "changelog: rows come and go" if physical.is_changelog else "append: each row once"
    before = said(("answer", answer), ("runs", _runs(physical)))
    after = said(
        ("emits", _emits(physical.root, by_node) or "each row in its batch"),
        ("memory", memory_line(physical.options) if physical.root.has_state else ""),
        ("cost", cost_line(physical) if has_cost(physical) else ""),
        ("attention", _first(_attention(physical, stages), MOST_ATTENTION)),
    )
    left = MOST_LINES - sum(len(lines) for _, lines in [*before, *after])
    most = min(MOST_KEPT, max(LEAST_KEPT, left))
    # What limits the rows held stands before what is said of them beside that.
    lines = [line for line, _ in sorted(kept, key=lambda one: not one[1])]
    keeps = _first(lines, most) or "nothing: each row is answered on its own"
    return said(*before, ("keeps", keeps), *after)


def _upwards(node: PhysicalNode) -> Iterator[PhysicalNode]:
    """Nodes from the streams up, those of the first input first."""
    for child in node.inputs:
        yield from _upwards(child)
    yield node


def _emits(root: PhysicalNode, by_node: Mapping[int, list[Fact]]) -> list[str]:
    """What each row of the answer waits for: by the last nodes that say it, and in all.

    What the nodes below these wait for, their own lines are about: an aggregate's changes come when the
    watermark has passed, however early a join below gives its combinations.
    """
    last = list(_last_with(root, "emits", by_node))
    lines = dict.fromkeys(line for node in last for line in _of(by_node[id(node)], "emits"))
    found = _first(list(lines), MOST_WAITS)
    delay = show_ticks(root.delay, root.time_type)
    if root.delay and not any(delay in line for line in found):
        found = [
            *found[: MOST_WAITS - 1],
            f"in all, rows may trail the watermark by {delay}",
        ]
    return found


def _last_with(
    node: PhysicalNode, label: str, by_node: Mapping[int, list[Fact]]
) -> Iterator[PhysicalNode]:
    """The last node on every way to the answer that has such a fact."""
    if _of(by_node[id(node)], label):
        yield node
        return
    for child in node.inputs:
        yield from _last_with(child, label, by_node)


def _runs(physical: PhysicalQuery) -> str:
    steps = _steps(physical.root)
    if not steps:
        return f"{physical.runner.value}, row by row"
    return f"{physical.runner.value}: {', then '.join(steps)}"


def _steps(node: PhysicalNode) -> list[str]:
    """The stateful nodes up to one, in the order of work; branches of a plan stand side by side."""
    branches = [steps for child in node.inputs if (steps := _steps(child))]
    below = branches[0] if len(branches) == 1 else []
    if len(branches) > 1:
        texts = [", then ".join(steps) for steps in branches]
        below = [" beside ".join(f"({t})" if ", then " in t else t for t in texts)]
    return [*below, node.brief] if node.is_stateful and node.brief else below


def _attention(physical: PhysicalQuery, stages: Sequence[StageFacts]) -> list[str]:
    """What may be in the user's way, the worst first."""
    lines = [line for node in physical.root.walk() for line in node.warnings]
    cost = TotalCost.of(physical)
    cores = cost.cores if cost is not None and has_stated_rates(physical.root) else None
    if cores is not None and is_over_a_core(cores):
        about = "" if cores > MOST_CORES else "about "
        needed = f"at the stated rates this needs {about}{show_cores(cores)}"
        lines.append(
            f"{needed} and runs on one: it will fall behind"
            if physical.runner is Runner.process
            else f"{needed}: with fewer it will fall behind"
        )
    if physical.runner is not Runner.process:
        lines += [
            f"one task does all the work of {stage.title}: {stage.warning}"
            for stage in stages
            if stage.warning
        ]
    if physical.root.has_state:
        strict = [
            scan
            for scan in physical.root.scans
            if show_promises(scan) in {"lateness 0", "lateness 0s"}
        ]
        names = ", ".join(dict.fromkeys(scan.alias for scan in strict))
        if strict:
            lines.append(f"lateness is 0 for {names}: any out-of-order row there is late")
    return lines


def _of(facts: Sequence[Fact], label: str) -> list[str]:
    return [line for name, lines in facts if name == label for line in lines]


def _whole(lines: Sequence[str], node: PhysicalNode, rates: StatedRates) -> list[Kept]:
    """The lines as sentences, one that ends with a colon with the next; and whether each is a limit.

    Where it is stated how many rows come, their number stands for what limits them.
    """
    found: list[Kept] = []
    for line in lines:
        if isinstance(line, HeldRows):
            found.append((_in_rows(line, node, rates) or line, True))
        elif found and found[-1][0].endswith(":"):
            found[-1] = (f"{found[-1][0]} {line}", found[-1][1])
        else:
            found.append((line, "<=" in line))
    return found


def _in_rows(held: HeldRows, node: PhysicalNode, rates: StatedRates) -> str:
    """About how many rows are held; "" where that is not known, or a limit of their number stands beside."""
    rate = _known_rate(held, node) or rates.rate(held.rows)
    if rate is None or node.is_limited or held.rows.matches or not held.ticks:
        return ""
    rows = rate.value * held.ticks
    about = f"{'at most ' if AT_MOST in rate.source else ''}about {show_count(rows)}"
    if rows < 1:
        about = "few if any"
    what = held.name if " of " in held.name else f"rows of {held.name}"
    how = f"{held.length} at {show_rate(rate.value, node.time_type)}"
    return f"{about} {what} ({how}){held.beside}"


def _known_rate(held: HeldRows, node: PhysicalNode) -> Figure | None:
    """What a join was planned for, if that was stated, or seen as rows came."""
    known = dict(node.estimate.known) if node.estimate is not None else {}
    rate = known.get(f"rate({held.name})")
    if rate is None or ASSUMED in rate.source:
        return None
    return rate if rate.source.startswith((HINT, SEEN)) else None


def _first(lines: list[str], most: int) -> list[str]:
    """The first lines; the last of these says how many more there are, if there are."""
    if len(lines) <= most:
        return lines
    rest = len(lines) - most + 1
    return [*lines[: most - 1], f"and {rest} more: see below"]
