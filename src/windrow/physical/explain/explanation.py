"""EXPLAIN as stable text, and as data with a version: the same query gives the same.

First the summary, at most a dozen lines that a person can act on; then the whole: what the answer
is and what is promised of the streams; the logical plan, as the user wrote it; the physical one, each
node with its facts; and the stages on Spark. No ids, no timings, no paths.

The summary:

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

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Self

from windrow.errors import PlanError
from windrow.physical.estimates import (
    MOST_CORES,
    Estimate,
    TotalCost,
    has_stated_rates,
    is_over_a_core,
    show_cores,
)
from windrow.physical.explain.facts import Fact, show_promises
from windrow.physical.explain.query_facts import (
    StageFacts,
    as_scheduled,
    choice_facts,
    cost_line,
    has_cost,
    memory_line,
    query_facts,
    stage_facts,
    stage_lines,
)
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.query import PhysicalQuery, Runner
from windrow.plan.nodes.query import Query
from windrow.plan.texts import ColumnTexts
from windrow.plan.units import show_ticks

VERSION = 1
"""Of the structure that `Explanation.data` has; it grows when a name in it is changed or goes."""

FORMATS = ("text", "json")

LABEL_WIDTH = 12

EMIT = "Emit"
"""What stands above all nodes of a plan."""

_BREAK = re.compile(r"\s*\n\s*")


class Explanation(str):
    """The text of EXPLAIN, which is also data.

    Attributes:
        data: the same as JSON has it: `version`, `summary`, `query`, `logical`, `physical`, `stages`.
    """

    __slots__ = ("data",)
    data: dict[str, Any]

    def __new__(cls, text: str, data: dict[str, Any]) -> Self:
        """The text, with its data."""
        own = super().__new__(cls, text)
        own.data = data
        return own

    def __reduce__(self) -> tuple[type[Explanation], tuple[str, dict[str, Any]]]:
        return Explanation, (str(self), self.data)

    def to_json(self) -> str:
        """The data as JSON."""
        return json.dumps(self.data, indent=1)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        summary, rest = (escape(part) for part in self.split("\n\n", 1))
        return (
            f"<pre>{summary}</pre><details><summary>all of it</summary><pre>{rest}</pre></details>"
        )


def check_format(asked: object) -> None:
    """Refuses a format that EXPLAIN does not have."""
    if asked not in FORMATS:
        raise PlanError(
            "unknown-format",
            f"EXPLAIN has no format {asked!r}",
            hint=f"one of {', '.join(FORMATS)}",
        )


def explain(logical: Query, physical: PhysicalQuery) -> Explanation:
    """EXPLAIN of a query, its text ending in a newline."""
    show = ColumnTexts(items for node in physical.root.walk() if (items := node.computed_columns))
    nodes = [(depth, node, _facts(node, physical, show)) for depth, node in _walk(physical.root, 1)]
    stages = stage_facts(physical, show)
    summary = summary_facts(physical, [(node, facts) for _, node, facts in nodes], stages)
    query = query_facts(physical)
    emit = f"{EMIT} {'changelog' if physical.is_changelog else 'append'}"
    lines = [f"01) {emit}"]
    for number, (depth, node, facts) in enumerate(nodes, 2):
        lines.append(f"{number:02}) {'  ' * depth}{node.title}")
        lines += _fact_lines(facts, "    " + "  " * depth + "  ")
    sections = (
        ("summary", list(_fact_lines(summary, "  "))),
        ("query", list(_fact_lines(query, "  "))),
        ("logical", logical.lines()),
        ("physical", lines),
        ("stages", stage_lines(physical, stages)),
    )
    text = "\n\n".join("\n".join((title, *map(_one_line, own))) for title, own in sections)
    data = {
        "version": VERSION,
        "runner": physical.runner.value,
        "is_changelog": physical.is_changelog,
        "summary": _labeled(summary),
        "query": _labeled(query),
        "logical": logical.titles(),
        "physical": [_emit_data(emit, physical.root), *(_node_data(*one) for one in nodes)],
        "stages": [_stage_data(stage) for stage in stages],
    }
    return Explanation(f"{text}\n", data)


def _facts(node: PhysicalNode, physical: PhysicalQuery, show: ColumnTexts) -> list[Fact]:
    own = as_scheduled(node, node.facts(physical.options, show), physical)
    return [*own, *choice_facts(node, physical)]


def _node_data(depth: int, node: PhysicalNode, facts: Sequence[Fact]) -> dict[str, Any]:
    return {
        "depth": depth,
        "node": type(node).__name__,
        "title": _one_line(node.title),
        "columns": _columns(node),
        "is_stateful": node.is_stateful,
        "delay": node.delay,
        "facts": _labeled(facts),
        "estimate": None if node.estimate is None else _estimate_data(node.estimate),
    }


def _emit_data(title: str, root: PhysicalNode) -> dict[str, Any]:
    """The first line of the plan: what comes out of it."""
    return {
        "depth": 0,
        "node": EMIT,
        "title": title,
        "columns": _columns(root),
        "is_stateful": False,
        "delay": root.delay,
        "facts": [],
        "estimate": None,
    }


def _columns(node: PhysicalNode) -> list[dict[str, str]]:
    return [{"name": one.name, "type": one.type} for one in node.schema.fields]


def _estimate_data(estimate: Estimate) -> dict[str, Any]:
    """By names of its own, for programs read them: no field's name is one of these by itself."""
    return {
        "known": [
            {"name": name, "value": figure.value, "source": figure.source}
            for name, figure in estimate.known
        ],
        "missing": list(estimate.missing),
        "reason": estimate.reason,
        "output": estimate.output,
        "plans": [
            {"name": plan.name, "seconds": plan.seconds, "note": plan.note}
            for plan in estimate.plans
        ],
        "weights": estimate.weights,
        "is_decisive": estimate.is_decisive,
    }


def _stage_data(stage: StageFacts) -> dict[str, Any]:
    return {
        "title": stage.title,
        "partitioned": stage.partitioned,
        "notes": list(stage.notes),
        "warning": stage.warning,
        "shared": [{"title": title, "why": why} for title, why in stage.shared],
    }


def _labeled(facts: Sequence[Fact]) -> list[dict[str, Any]]:
    return [{"label": label, "lines": list(map(_one_line, lines))} for label, lines in facts]


def _walk(node: PhysicalNode, depth: int) -> Iterator[tuple[int, PhysicalNode]]:
    yield depth, node
    for child in node.inputs:
        yield from _walk(child, depth + 1)


def _fact_lines(facts: Sequence[Fact], indent: str) -> Iterator[str]:
    for label, lines in facts:
        for i, line in enumerate(lines):
            yield f"{indent}{label if i == 0 else '':<{LABEL_WIDTH}}{line}"


def _one_line(text: str) -> str:
    """The text without the line breaks that a user may write inside an expression."""
    return _BREAK.sub(" ", text)


MOST_LINES = 12
"""Of the summary. What is kept has those that are left, `LEAST_KEPT` of them at least."""

LEAST_KEPT, MOST_KEPT, MOST_WAITS, MOST_ATTENTION = 2, 4, 2, 3

Explained = Sequence[tuple[PhysicalNode, list[Fact]]]
"""Nodes from the top down, each with its facts."""


def summary_facts(
    physical: PhysicalQuery, nodes: Explained, stages: Sequence[StageFacts]
) -> list[Fact]:
    """What will run, what it keeps, what it waits for, what it costs, and what is in the way."""
    by_node = {id(node): facts for node, facts in nodes}
    upwards = [by_node[id(node)] for node in _upwards(physical.root)]
    kept = _limits_first([line for facts in upwards for line in _whole(_of(facts, "state"))])
    answer = "changelog: rows come and go" if physical.is_changelog else "append: each row once"
    before: list[Fact] = [("answer", [answer]), ("runs", [_runs(physical)])]
    after: list[Fact] = [
        ("emits", _emits(physical.root, by_node) or ["each row in its batch"]),
        ("memory", [memory_line(physical.options)] if physical.root.has_state else []),
        ("cost", _cost(physical)),
        ("attention", _first(_attention(physical, stages), MOST_ATTENTION)),
    ]
    left = MOST_LINES - sum(len(lines) for _, lines in [*before, *after])
    most = min(MOST_KEPT, max(LEAST_KEPT, left))
    keeps = _first(kept, most) or ["nothing: each row is answered on its own"]
    return [fact for fact in [*before, ("keeps", keeps), *after] if fact[1]]


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


def _cost(physical: PhysicalQuery) -> list[str]:
    """What it costs, or what to give to know it; nothing where no node has a cost model."""
    return [cost_line(physical)] if has_cost(physical) else []


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
    return [*below, node.brief] if node.is_stateful else below


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


def _whole(lines: Sequence[str]) -> list[str]:
    """The lines as sentences: one that ends with a colon goes on in the next."""
    found: list[str] = []
    for line in lines:
        if found and found[-1].endswith(":"):
            found[-1] += f" {line}"
        else:
            found.append(line)
    return found


def _limits_first(lines: list[str]) -> list[str]:
    """What limits the rows held, before what is said of them beside that."""
    return sorted(lines, key=lambda line: "<=" not in line)


def _first(lines: list[str], most: int) -> list[str]:
    """The first lines; the last of these says how many more there are, if there are."""
    if len(lines) <= most:
        return lines
    rest = len(lines) - most + 1
    return [*lines[: most - 1], f"and {rest} more: see below"]
