"""Tables in process: read whole when they are registered, filtered once per query."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from windrow.operators.arrow_types import arrow_schema
from windrow.operators.changes import ChangeBatch
from windrow.operators.evaluate import Evaluator
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.filter_rows import FilterRows
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.scan_table import ScanTable
from windrow.run.local.sources import NOTHING_NOW, Source, TableSource


def whole(name: str, source: Source) -> TableSource:
    """A table of which all rows are in memory: an iterator is read to its end."""
    if isinstance(source, TableSource):
        return source
    batches = [batch for batch in source.batches(None, 0) if batch is not NOTHING_NOW]
    return TableSource(name, pa.Table.from_batches(batches, arrow_schema(source.schema)))


def table_rows(
    spec: PhysicalNode, sources: Mapping[str, Source], evaluator: Evaluator
) -> ChangeBatch:
    """The rows that a join with a table reads of it, as a batch: they may have no columns.

    Raises:
        DataError: a condition on the table cannot be computed for one of its rows.
    """
    if isinstance(spec, ScanTable):
        batches = [b for b in sources[spec.table].batches(None, 0) if b is not NOTHING_NOW]
        table = pa.Table.from_batches(batches, arrow_schema(sources[spec.table].schema))
        arrays = [table.column(name).combine_chunks() for name in spec.columns]
        columns = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(spec.schema))
        return ChangeBatch(columns, np.zeros(len(table), np.int64))
    assert isinstance(spec, FilterRows | ProjectRows)
    return evaluator.apply(spec, table_rows(spec.input, sources, evaluator))
