"""Cases run in process: their streams registered, their answers as bags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

import windrow
from cases.base import Case
from windrow.optimize.negative_tuples import with_negative_tuples
from windrow.physical.specs import Spec
from windrow.run.local.checkpoint import Checkpoint
from windrow.run.local.execution import Execution
from windrow.run.local.result import Result


def session_of(case: Case, *, whole: bool = False, hints: Any = None) -> windrow.Session:
    session = windrow.Session()
    for stream in case.streams:
        tables = stream.tables()
        batches = [batch for table in tables for batch in table.to_batches()]
        data = (
            pa.concat_tables(tables)
            if whole
            else pa.RecordBatchReader.from_batches(stream.schema, batches)
        )
        lateness = case.lateness[stream.name]
        session.stream(stream.name, data, time="ts", lateness=lateness, **(hints or {}))
    for name, table in case.tables.items():
        session.table(name, table)
    return session


Plan = Callable[[Spec], Spec]
"""Another plan, made from the usual one."""


def as_usual(root: Spec) -> Spec:
    """The plan as it was made."""
    return root


PLANS: tuple[Plan, ...] = (as_usual, with_negative_tuples)
"""Plans by which a changelog has the same answer."""


def run_by(
    plan: Plan, session: windrow.Session, sql: str, resume: Checkpoint | None = None
) -> Result:
    """The answer by a plan."""
    physical = session._plan(sql, {})[1]
    planned = replace(physical, root=plan(physical.root))
    return Result(Execution(planned, session._data, resume=resume))


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Rows as tuples; a changelog's change type comes first, as the cases have it."""
    if "_change_type" in table.column_names:
        names = [name for name in table.column_names if not name.startswith("_")]
        table = table.select(["_change_type", *names, "_event_time"])
    return Counter(
        tuple("NaN" if value != value else value for value in row)  # noqa: PLR0124
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    )
