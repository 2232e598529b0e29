"""EXPLAIN of each query in `cases`, compared with the text accepted before.

`make golden-accept` writes the present texts as the accepted ones; the diff is then reviewed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from golden.catalog import CATALOG

from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.optimize.planner import optimize
from windrow.physical.explain.explanation import explain
from windrow.physical.options import Options
from windrow.sql.compile import compile_query

CASES = sorted((Path(__file__).parent / "cases").glob("*.sql"))


def explained(path: Path) -> str:
    logical = compile_query(path.read_text(), CATALOG, DuckdbTypes())
    return explain(logical, optimize(logical, Options()))


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_plan_reads_as_accepted(path):
    text = explained(path)
    accepted = path.with_suffix(".plan")
    if os.environ.get("WINDROW_ACCEPT_GOLDEN") == "1":
        accepted.write_text(text)
    assert accepted.exists(), "no accepted plan yet: make golden-accept"
    assert text == accepted.read_text()


def test_every_accepted_plan_has_its_query():
    plans = {path.stem for path in (Path(__file__).parent / "cases").glob("*.plan")}
    assert plans == {path.stem for path in CASES}


def test_the_cases_cover_every_form():
    forms = ("binary", "path", "graph", "clique", "uniform clique")
    texts = "\n".join(path.with_suffix(".plan").read_text() for path in CASES)
    assert all(f"form        {form}" in texts for form in forms)


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_no_plan_shows_a_name_that_no_user_wrote(path):
    assert "$" not in path.with_suffix(".plan").read_text()
