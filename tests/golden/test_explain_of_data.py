"""EXPLAIN whose numbers come from data: the samples of tables, and the micro-batches so far.

Accepted with `make golden-accept`, as the plans of `cases`.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.optimize.planner import optimize
from windrow.physical.explain.explanation import explain
from windrow.physical.options import Options
from windrow.plan.catalog import stream_info
from windrow.run.local.execution import Execution
from windrow.run.local.sources import source_of
from windrow.run.local.stream_statistics import TableStatistics
from windrow.sql.compile import compile_query

FOLDER = Path(__file__).parent / "cases_of_data"

KEYED = (
    "SELECT a.x, b.x AS y, c.x AS z FROM a, b, c "
    "WHERE a.k = b.k AND b.k = c.k AND (a.x + b.x) % 5 = 0 AND c.x < 500 WINDOW = 400"
)
BAND = "SELECT a.x, b.x AS y FROM a, b WHERE abs(a.x - b.x) <= 2 WINDOW = 5000"
OUTER = "SELECT a.x, b.x AS y FROM a LEFT JOIN b ON a.k = b.k WINDOW = 40"


def rows(number, start=0, every=10):
    """Rows at even times: keys and values go round by steps that have no common factor."""
    at = start + np.arange(number) * every
    return pa.table({"k": at * 7 % 97, "x": at * 31 % 1_009, "at": at})


class Planner:
    """Plans as a session does, without the costs that were measured on the machine at hand."""

    def __init__(self, query) -> None:
        self.rates: dict[str, float] = {}
        self._query = query

    def again(self, measured):
        return optimize(self._query, Options(), measured=measured, is_running=True)

    def explain(self, query):
        return explain(self._query, query)


def compiled(sql, data):
    sources = {name: source_of(name, own) for name, own in data.items()}
    catalog = {
        name: stream_info(name, s.schema, "at", is_bounded=s.is_bounded)
        for name, s in sources.items()
    }
    return compile_query(sql, catalog, DuckdbTypes()), catalog, sources


def of_tables(sql):
    """The plan before the query runs, by samples of tables of which one is large."""
    tables = {"a": rows(150_000), "b": rows(3_000, every=500), "c": rows(800, every=1_875)}
    query, catalog, sources = compiled(sql, tables)
    return explain(query, optimize(query, Options(), measured=TableStatistics(catalog, sources)))


def of_batches(sql):
    """The plan of a query that runs, after eight micro-batches of each stream."""
    batches = {
        name: [rows(size, start, every) for start in range(0, 8 * size * every, size * every)]
        for name, size, every in (("a", 60, 10), ("b", 30, 20), ("c", 20, 30))
    }
    query, _, sources = compiled(sql, batches)
    execution = Execution(optimize(query, Options()), sources, planner=Planner(query))
    while execution.next() is not None:
        pass
    return execution.adapting.explain()


CASES = {
    "tables_keyed": lambda: of_tables(KEYED),
    "tables_band": lambda: of_tables(BAND),
    "tables_outer": lambda: of_tables(OUTER),
    "batches_keyed": lambda: of_batches(KEYED),
    "batches_band": lambda: of_batches(BAND),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plan_with_numbers_of_the_data_reads_as_accepted(name):
    text, accepted = CASES[name](), FOLDER / f"{name}.plan"
    if os.environ.get("WINDROW_ACCEPT_GOLDEN") == "1":
        accepted.write_text(text)
    assert text == accepted.read_text()


def test_every_accepted_plan_has_its_case():
    assert {path.stem for path in FOLDER.glob("*.plan")} == set(CASES)
