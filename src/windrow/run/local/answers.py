"""Change batches as the user sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from windrow.operators.arrow_types import arrow_schema, arrow_type
from windrow.operators.changes import ChangeBatch
from windrow.operators.instants import instants
from windrow.operators.updates import CHANGE_TYPES
from windrow.physical.query import PhysicalQuery
from windrow.schema import CHANGE_TYPE, EVENT_TIME

_SIGNS = np.array(list(CHANGE_TYPES), np.int8)


@dataclass(frozen=True)
class Answer:
    """What the rows of a query's answer look like."""

    query: PhysicalQuery

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the answer; a changelog adds what changed, and when."""
        schema = arrow_schema(self.query.root.schema)
        if not self.query.is_changelog:
            return schema
        schema = schema.append(pa.field(CHANGE_TYPE, pa.string()))
        return schema.append(pa.field(EVENT_TIME, arrow_type(self.query.time_type)))

    def show(self, rows: ChangeBatch) -> pa.RecordBatch:
        """The rows with the names and columns that the user asked for."""
        if not self.query.is_changelog:
            return rows.columns
        places = np.searchsorted(_SIGNS, rows.signs_or_insert())
        kinds = pa.array(list(CHANGE_TYPES.values())).take(pa.array(places))
        times = instants(rows.times, self.query.time_type)
        return pa.RecordBatch.from_arrays([*rows.columns.columns, kinds, times], schema=self.schema)
