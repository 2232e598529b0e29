"""What Spark and DuckDB say of their functions.

`function_catalog.json` is made by scripts/function_catalog.py, and compared with the engines by tests.
"""

from __future__ import annotations

import json
from pathlib import Path

from windrow.plan.functions import FunctionKinds

_FOUND = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def _kinds(engine: str) -> FunctionKinds:
    found = dict(_FOUND[engine])
    return FunctionKinds(found.pop("version"), **{kind: frozenset(found[kind]) for kind in found})


SPARK, DUCKDB = _kinds("spark"), _kinds("duckdb")

PLAIN_IN_SPARK = frozenset(_FOUND["plain_in_spark"])
"""Names of these in DuckDB that are plain functions in Spark."""
