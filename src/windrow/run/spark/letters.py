"""Rows as they arrived, carried beside the columns of a query where late ones are to be kept.

A stream may feed a query under several aliases, each with a WHERE of its own. A late row is kept
once: by the first alias whose WHERE lets it pass, and the later ones carry NULL in its place.

    row          1      2      3      4
    alias p      letter letter        letter
    alias q             NULL   letter NULL
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windrow.physical.specs import FilterRows, ProjectRows, ScanStream, Spec, Stateful, inputs
from windrow.plan.exprs import quote_spark
from windrow.run.spark.stages import LETTER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Way = tuple[ScanStream, *tuple[Spec, ...]]
"""The specs that a row climbs from a stream to a stage, the scan first."""

_ROW = "__row"
_PASSES = "__passes"


def ways(root: Spec) -> list[Way]:
    """One way per scan that feeds a stage, from the bottom of the plan up."""
    found: list[Way] = []
    for child in inputs(root):
        found += ways(child)
        way = _way(child) if isinstance(root, Stateful) else None
        if way is not None:
            found.append(way)
    return found


def _way(spec: Spec) -> Way | None:
    if isinstance(spec, ScanStream):
        return (spec,)
    if isinstance(spec, Stateful):
        return None
    below = _way(inputs(spec)[0])
    return None if below is None else (*below, spec)


def with_letters(frame: DataFrame, earlier: Sequence[Way]) -> DataFrame:
    """A stream's rows with their letters, NULL for rows that pass one of the earlier ways."""
    if not earlier:
        return frame.selectExpr("*", f"struct(*) AS {LETTER}")
    rows = frame.selectExpr(f"struct(*) AS {_ROW}", f"struct(*) AS {LETTER}")
    for way in earlier:
        rows = _without_passing(rows, way)
    return rows.selectExpr(f"{_ROW}.*", LETTER)


def _without_passing(rows: DataFrame, way: Way) -> DataFrame:
    """The same rows, without the letters of those that pass all filters on the way."""
    scan, *specs = way
    columns = [
        f"{_ROW}.{quote_spark(source)} AS {quote_spark(name)}"
        for source, name in zip(scan.columns, scan.schema.names, strict=True)
    ]
    rows = rows.selectExpr(*columns, _ROW, LETTER, f"true AS {_PASSES}")
    for spec in specs:
        # What a filter below has removed must not be evaluated: it might be an error.
        own = [quote_spark(name) for name in spec.schema.names]
        passes = _PASSES
        if isinstance(spec, ProjectRows):
            own = [
                f"IF({_PASSES}, {item.expr.spark}, NULL) AS {quote_spark(item.name)}"
                for item in spec.items
            ]
        if isinstance(spec, FilterRows):
            tests = " AND ".join(f"coalesce({p.spark}, false)" for p in spec.predicates)
            passes = f"IF({_PASSES}, {tests}, false) AS {_PASSES}"
        rows = rows.selectExpr(*own, _ROW, LETTER, passes)
    return rows.selectExpr(_ROW, f"IF({_PASSES}, NULL, {LETTER}) AS {LETTER}")
