"""EXPLAIN as stable text, and as data with a version: the same query gives the same.

First the summary, at most a dozen lines that a person can act on; then the whole: what the answer
is and what is promised of the streams; the logical plan, as the user wrote it; the physical one, each
node with its facts; and the stages on Spark. No ids, no timings, no paths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Self

from windrow.errors import PlanError
from windrow.physical.estimates import Estimate, TotalCost, as_cores, clock_of, ticks_per_second
from windrow.physical.explain.facts import Fact, HeldRows
from windrow.physical.explain.query_facts import (
    ASSUMED_BUCKETS,
    StageFacts,
    as_scheduled,
    choice_facts,
    query_facts,
    read_ahead_streams,
    stage_facts,
    stage_lines,
    thread_facts,
)
from windrow.physical.explain.summary import summary_facts
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.query import PhysicalQuery
from windrow.plan.nodes.query import Query, by_depth
from windrow.plan.texts import ColumnTexts

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
        data: the same as JSON has it, by the names that `docs/reference/explain.md` tells.
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
    nodes = [(depth, node, _facts(node, physical, show)) for depth, node in by_depth(physical.root)]
    stages = stage_facts(physical, show)
    summary = summary_facts(logical, physical, [(node, facts) for _, node, facts in nodes], stages)
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
    clock = clock_of(physical.root, physical.time_type)
    data = {
        "version": VERSION,
        "runner": physical.runner.value,
        "is_changelog": physical.is_changelog,
        "time": _time_data(clock),
        "cost": _cost_data(TotalCost.of(physical)),
        "summary": _labeled(summary),
        "query": _labeled(query),
        "logical": logical.titles(),
        "physical": [
            _line_data(0, EMIT, emit, physical.root),
            *(_node_data(*one, clock) for one in nodes),
        ],
        "buckets": {
            "count": physical.options.buckets or ASSUMED_BUCKETS,
            "is_assumed": not physical.options.buckets,
        },
        "read_ahead": read_ahead_streams(physical.root),
        "stages": [_stage_data(stage) for stage in stages],
    }
    return Explanation(f"{text}\n", data)


def _facts(node: PhysicalNode, physical: PhysicalQuery, show: ColumnTexts) -> list[Fact]:
    own = as_scheduled(node, node.facts(physical.options, show), physical)
    return [*own, *choice_facts(node, physical), *thread_facts(node, physical, show)]


def _time_data(clock: str) -> dict[str, Any]:
    """What a tick of event time is."""
    return {"type": clock, "ticks_per_second": ticks_per_second(clock)}


def _cost_data(cost: TotalCost | None) -> dict[str, Any] | None:
    """The cost of all window joins; None where it is not known."""
    if cost is None:
        return None
    told = ("cores", "rows_per_second", "most_rows_per_second", "is_paced")
    return {name: getattr(cost, name) for name in told}


def _node_data(depth: int, node: PhysicalNode, facts: Sequence[Fact], clock: str) -> dict[str, Any]:
    return _line_data(depth, type(node).__name__, _one_line(node.title), node) | {
        "is_stateful": node.is_stateful,
        "retention": _retention_data(facts, clock),
        "facts": _labeled(facts),
        "estimate": None if node.estimate is None else _estimate_data(node.estimate, clock),
    }


def _line_data(depth: int, name: str, title: str, rows: PhysicalNode) -> dict[str, Any]:
    """A line of the plan from which these rows come; of what emits the answer it says no more."""
    return {
        "depth": depth,
        "node": name,
        "title": title,
        "columns": [{"name": one.name, "type": one.type} for one in rows.schema.fields],
        "is_stateful": False,
        "delay": rows.delay,
        "retention": [],
        "facts": [],
        "estimate": None,
    }


def _retention_data(facts: Sequence[Fact], clock: str) -> list[dict[str, Any]]:
    """How far behind the watermark rows may still be needed, of inputs whose rows are held for a time."""
    per_second = ticks_per_second(clock)
    return [
        {
            "name": line.name,
            "ticks": line.retention,
            "seconds": line.retention / per_second if per_second else None,
        }
        for _, lines in facts
        for line in lines
        if isinstance(line, HeldRows)
    ]


def _estimate_data(estimate: Estimate, clock: str) -> dict[str, Any]:
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
            {
                "name": plan.name,
                "seconds": plan.seconds,
                "cores": as_cores(plan.seconds, clock),
                "note": plan.note,
            }
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


def _fact_lines(facts: Sequence[Fact], indent: str) -> Iterator[str]:
    for label, lines in facts:
        for i, line in enumerate(lines):
            yield f"{indent}{label if i == 0 else '':<{LABEL_WIDTH}}{line}"


def _one_line(text: str) -> str:
    """The text without the line breaks that a user may write inside an expression."""
    return _BREAK.sub(" ", text)
