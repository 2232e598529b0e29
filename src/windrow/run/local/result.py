"""The answer of a query in process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from windrow.errors import ResourceError
from windrow.plan.deep_calls import deep_calls
from windrow.run.local.checkpoint import Checkpoint
from windrow.run.local.execution import Execution
from windrow.run.progress import Progress
from windrow.run.recall import Recall
from windrow.run.response import Response

if TYPE_CHECKING:
    import pandas as pd


class Result:
    """Rows of an answer, computed as they are asked for; one pass.

    While no stream has anything new, asking for the next rows waits; `stop`, from any thread, ends
    it. As a context manager a result is stopped on the way out.

    Examples:
        >>> result = session.sql("SELECT ...")  # doctest: +SKIP
        >>> for batch in result:  # doctest: +SKIP
        ...     print(batch.num_rows, result.progress.watermark)
        >>> session.sql("SELECT ...").to_arrow()  # doctest: +SKIP
    """

    def __init__(self, execution: Execution, *, is_deep: bool = False) -> None:
        self._execution = execution
        self._room = deep_calls if is_deep else nullcontext

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._room():
            batch = self._execution.next()
        if batch is None:
            raise StopIteration
        return batch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.schema, self)
        return reader.__arrow_c_stream__(requested_schema)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the answer; a changelog has `_change_type` and `_event_time`.

        Of a query that sheds, its metadata tell the recall of what has been handed out.
        """
        schema = self._execution.answer.schema
        recall = self.recall
        if recall is None:
            return schema
        known = {name: own for name, own in recall.as_dict().items() if own is not None}
        told = {f"windrow.recall.{name}": str(own) for name, own in known.items()}
        return schema.with_metadata(told)

    @property
    def recall(self) -> Recall | None:
        """Of a query that sheds, the share of the answer found so far; None where nothing is shed."""
        return self.progress.recall

    @property
    def progress(self) -> Progress:
        """How far the query has come."""
        return self._execution.progress

    @property
    def response(self) -> Response | None:
        """Of a changelog, how long after they became true its changes have been produced so far.

        Examples:
            >>> result.response.average, result.response.maximum  # doctest: +SKIP
        """
        return self.progress.response

    def explain(self) -> str:
        """EXPLAIN of the query as it runs now: by the numbers seen so far, once they count."""
        return self._execution.adapting.explain()

    @property
    def late(self) -> dict[str, pa.Table]:
        """Late rows and rows without a time so far, by stream, as they came.

        Empty unless the query runs with `on_late="keep"`.
        """
        return {name: pa.Table.from_batches(rows) for name, rows in self._execution.late.items()}

    def to_arrow(self) -> pa.Table:
        """The rest of the answer as an Arrow table."""
        batches = list(self)
        return pa.Table.from_batches(batches, self.schema)

    def to_pandas(self) -> pd.DataFrame:
        """The rest of the answer as a pandas DataFrame; `attrs` tell the recall if it sheds."""
        table = self.to_arrow()
        frame = table.to_pandas()
        if self.recall is not None:
            frame.attrs["recall"] = self.recall.as_dict()
        return frame

    def to_polars(self) -> Any:
        """The rest of the answer as a polars DataFrame.

        Raises:
            ResourceError: polars is not installed.
        """
        try:
            polars = import_module("polars")
        except ImportError as error:
            raise ResourceError(
                "polars-missing", "polars is not installed", hint="pip install polars"
            ) from error
        return polars.from_arrow(self.to_arrow())

    def checkpoint(self) -> Checkpoint:
        """Where the query stands: pickle it, and go on later with `sql(..., resume=checkpoint)`.

        Rows of the answer that this result has handed out are not given again.
        """
        return self._execution.checkpoint()

    def stop(self) -> None:
        """Stops the query, from any thread: a loop over the result ends, though all streams block.

        Iterators that the streams were made of are closed, each as soon as it returns from what it
        is doing.
        """
        self._execution.stop()
