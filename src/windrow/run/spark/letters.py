"""Rows as they arrived, carried beside the columns of a query where late ones are to be kept.

A stream may feed a query under several aliases, each with a WHERE of its own. A late row is kept
once: by the first alias whose WHERE lets it pass, and the later ones carry NULL in its place.

    row          1      2      3      4
    alias p      letter letter        letter
    alias q             NULL   letter NULL

A join with a table may give a row several times on its way to a stage. Its letter then has a name of
its own (Spark numbers no rows of a stream), and the task that packs the copies leaves it with the
first of them: the table is broadcast, so that copies come one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import UnsupportedError
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.filter_rows import FilterRows
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.physical.nodes.table_join_rows import TableJoinRows
from windrow.plan.exprs import quote_spark
from windrow.run.spark.stages import LETTER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Way = tuple[ScanStream, *tuple[PhysicalNode, ...]]
"""The specs that a row climbs from a stream to a stage, the scan first."""

NAME = "__name"
"""The field of a letter that tells copies of one row from equal rows."""

_ROW = "__row"
_PASSES = "__passes"


def ways(root: PhysicalNode) -> list[Way]:
    """One way per scan that feeds a stage, from the bottom of the plan up."""
    found: list[Way] = []
    for child in root.inputs:
        found += ways(child)
        way = _way(child) if root.is_stateful else None
        if way is not None:
            found.append(way)
    return found


def _way(spec: PhysicalNode) -> Way | None:
    if isinstance(spec, ScanStream):
        return (spec,)
    if spec.is_stateful:
        return None
    below = _way(spec.inputs[0])
    return None if below is None else (*below, spec)


def multiplied(root: PhysicalNode) -> set[str]:
    """The streams whose rows may reach a stage several times."""
    return {
        way[0].stream
        for way in ways(root)
        if any(isinstance(spec, TableJoinRows) and spec.may_multiply for spec in way)
    }


def with_letters(frame: DataFrame, earlier: Sequence[Way], *, is_named: bool) -> DataFrame:
    """A stream's rows with their letters, NULL for rows that pass one of the earlier ways."""
    name = f", uuid() AS {NAME}" if is_named else ""
    letter = f"struct(*{name}) AS {LETTER}"
    if not earlier:
        return frame.selectExpr("*", letter)
    rows = frame.selectExpr(f"struct(*) AS {_ROW}", letter)
    for way in earlier:
        if any(isinstance(spec, TableJoinRows) for spec in way):
            raise _of_two_aliases(way[0])
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


class FirstCopies:
    """Leaves the letter of a row with its first copy, in the rows of one task."""

    def __init__(self) -> None:
        self._last: str | None = None

    def of(self, letters: pa.Array) -> pa.Array:
        """The letters of the next rows, NULL for copies of rows that had theirs."""
        names = pc.struct_field(letters, [NAME])
        before = pa.concat_arrays([pa.array([self._last], names.type), names[:-1]])
        self._last = names[-1].as_py()
        is_first = pc.not_equal(names, before).fill_null(True)
        return pc.if_else(is_first, letters, pa.scalar(None, letters.type))


def _of_two_aliases(scan: ScanStream) -> UnsupportedError:
    return UnsupportedError(
        "unsupported-letters",
        f"late rows of {scan.stream} are to be kept, and it stands in FROM twice, as {scan.alias}"
        " joined with a table",
        reason="on Spark, a late row is kept by the first alias that lets it pass, which a table"
        " decides only where the rows are",
        hint="register the stream a second time under another name, or set on_late to 'count'",
    )
