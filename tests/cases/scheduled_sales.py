"""Sales drawn for the queries of the scheduling experiments, and what their outputs say in the end."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from random import Random
from typing import Any

import numpy as np
from sessions import session

from windrow_papers.experiments.sched.queries import Costs, Setting, WorkloadQuery, favorites
from windrow_papers.experiments.sched.sales import Sales
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.kernels.scheduling import machine as m

WINDOWS = (5, 0, 2, 11)
COSTS = (Costs(1, 1, 1), Costs(0, 0, 0), Costs(5, 2, 1))
"""Free, and so dear that tuples wait."""


def draw_sales(random: Random, query: WorkloadQuery) -> tuple[Sales, Setting]:
    """A few sales with ties, in order of time, and what the query is run with."""
    count = 1 + random.randrange(12)
    times = sorted(random.randrange(15) for _ in range(count))
    draws = {
        "stream": lambda: random.randrange(query.streams),
        "store": lambda: random.choice([0, 90]),
        "item": lambda: random.randrange(3),
        "price": lambda: random.choice([900, 100, 800]),
        "quantity": lambda: 1 + random.randrange(2),
    }
    columns = {
        name: np.array([draw() for _ in range(count)], np.int64) for name, draw in draws.items()
    }
    windows_s = tuple(random.choice(WINDOWS) / SECOND for _ in range(2))
    # The answer of a join is held in the order in which rows leave: that is of one window.
    shared = (windows_s[0], windows_s[0] if query.root == m.ANSWER else windows_s[1])
    sales = Sales(time=np.array(times, np.int64), **columns)
    return sales, Setting(shared, selectivity=0.5, costs=random.choice(COSTS))


def outputs_of(machine: m.Machine) -> list[tuple[int, ...]]:
    """The outputs as (kind, key, value, other, true at), in the order of production."""
    made = machine.outputs[: machine.numbers[m.OUTPUTS], : m.MADE_AT]
    return [tuple(line) for line in made.tolist()]


def net_changes(query: WorkloadQuery, outputs: list[tuple[int, ...]]) -> Counter[Any]:
    """What outputs say comes and leaves, net per instant."""
    changes: Counter[Any] = Counter()
    rows: Counter[Any] = Counter()
    values: dict[int, Any] = {}
    before: Counter[Any] = Counter()
    assert [line[m.TRUE_AT] for line in outputs] == sorted(line[m.TRUE_AT] for line in outputs)
    for instant, made in groupby(outputs, key=lambda line: line[m.TRUE_AT]):
        for kind, key, value, other, _ in made:
            if kind in (m.CAME, m.LEFT):
                row = (key, value, other) if query.root == m.ANSWER else (key,)
                rows[row] += 1 if kind == m.CAME else -1
            elif kind in (m.CHANGED, m.EMPTIED):
                values[key] = value if kind == m.CHANGED else None
        after = +rows + Counter(_aggregated(query, values))
        changes.update({("insert", row, instant): n for row, n in (after - before).items()})
        changes.update({("delete", row, instant): n for row, n in (before - after).items()})
        before = after
    return changes


def _aggregated(query: WorkloadQuery, values: dict[int, Any]) -> list[tuple[Any, ...]]:
    if query.name == "Q3":
        return [(key, value) for key, value in values.items() if value is not None]
    return [(value,) for value in values.values()]


def asked_of_windrow(query: WorkloadQuery, sales: Sales, setting: Setting) -> Counter[Any]:
    """Windrow's own changelog of the same SQL over the same rows."""
    w = session(
        sales.tables(),
        time="ts",
        tables={
            f"favorite_{column}s": {column: favorites(query, sales, setting)}
            for column in ("item", "store")
        },
    )
    answer = w.sql(query.text(setting)).to_arrow()
    names = [name for name in answer.column_names if not name.startswith("_")]
    return Counter(
        (row["_change_type"], tuple(row[name] for name in names), row["_event_time"])
        for row in answer.to_pylist()
    )
