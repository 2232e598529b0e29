"""The rows of an answer as users see them, on every runner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.operators.columns.arrow_types import arrow_schema, arrow_type, conform_rows, instants
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.signs import CHANGE_TYPES
from windrow.operators.engine.row_drivers import ChangelogOutput
from windrow.operators.expressions.evaluate import Evaluator
from windrow.physical.query import PhysicalQuery, RowPath
from windrow.schema import CHANGE_TYPE, EVENT_TIME

_SIGNS = np.array(list(CHANGE_TYPES), np.int8)
_KINDS = pa.array(CHANGE_TYPES.values(), pa.string())


def answer_schema(query: PhysicalQuery) -> pa.Schema:
    """The columns of an answer; a changelog adds what changed, and when."""
    schema = arrow_schema(query.root.schema)
    if not query.is_changelog:
        return schema
    schema = schema.append(pa.field(CHANGE_TYPE, pa.string()))
    return schema.append(pa.field(EVENT_TIME, arrow_type(query.time_type)))


def shown(rows: ChangeBatch, schema: pa.Schema, time_type: str) -> pa.RecordBatch:
    """Rows of a changelog, with the columns that say what changed, and when."""
    places = _SIGNS.searchsorted(rows.signs_or_insert())
    kinds = pc.take(_KINDS, pa.array(places))
    times = instants(rows.times, time_type)
    return pa.RecordBatch.from_arrays([*rows.columns.columns, kinds, times], schema=schema)


@dataclass(frozen=True)
class AnswerRows:
    """How results of the last operator become rows of the answer, where somebody else has made them.

    Attributes:
        path: what is still to be done with each row.
        schema: the columns of the answer.
        is_changelog: whether rows say how the answer changes.
        time_type: the type of event time.
        pairs_by: the key by which a delete and an insert are an update; None: none are.
    """

    path: RowPath
    schema: pa.Schema
    is_changelog: bool
    time_type: str
    pairs_by: tuple[str, ...] | None

    @classmethod
    def of(cls, query: PhysicalQuery, path: RowPath) -> AnswerRows:
        """For a query whose answer the path leads up to, where nothing is to be made net."""
        schema = answer_schema(query)
        return cls(path, schema, query.is_changelog, query.time_type, query.pairs_by)

    def rows(self, results: Iterable[ChangeBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of one task's share of a micro-batch, in the order of its results."""
        output = ChangelogOutput(nets=False, pairs_by=self.pairs_by)
        evaluator = Evaluator()
        try:
            for changes in results:
                passed = evaluator.apply_all(self.path.nodes, changes)
                yield from map(self._shown, output.push(passed))
            yield from map(self._shown, output.settle())
        finally:
            evaluator.close()

    def _shown(self, rows: ChangeBatch) -> pa.RecordBatch:
        if self.is_changelog:
            return shown(rows, self.schema, self.time_type)
        return conform_rows(rows.columns, self.schema)
