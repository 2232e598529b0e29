"""Cases run in process: their streams registered, their answers as bags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

import windrow
from cases.base import Case
from windrow.physical.specs import Spec
from windrow.run.local.execution import Execution
from windrow.run.local.result import Result


def session_of(case: Case, *, whole: bool = False) -> windrow.Session:
    session = windrow.Session()
    for stream in case.streams:
        tables = stream.tables()
        batches = [batch for table in tables for batch in table.to_batches()]
        data = (
            pa.concat_tables(tables)
            if whole
            else pa.RecordBatchReader.from_batches(stream.schema, batches)
        )
        session.stream(stream.name, data, time="ts", lateness=case.lateness[stream.name])
    for name, table in case.tables.items():
        session.table(name, table)
    return session


def run_by(plan: Callable[[Spec], Spec], session: windrow.Session, sql: str) -> Result:
    """The answer by another plan than the usual one, which `plan` makes from that."""
    physical = session._plan(sql, {})[1]
    return Result(Execution(replace(physical, root=plan(physical.root)), session._data))


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Rows as tuples; a changelog's change type comes first, as the cases have it."""
    if "_change_type" in table.column_names:
        names = [name for name in table.column_names if not name.startswith("_")]
        table = table.select(["_change_type", *names, "_event_time"])
    return Counter(
        tuple("NaN" if value != value else value for value in row)  # noqa: PLR0124
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    )
