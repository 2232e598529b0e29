"""The answer of a query in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from windrow.errors import ResourceError
from windrow.operators.columns.arrow_types import arrow_schema, ticks_of
from windrow.operators.columns.changes import select, take_columns
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.columns.signs import signs_of
from windrow.plan.changelogs import Instant, check_changelog, instant_ticks, more_deletes
from windrow.plan.exprs import deep_calls
from windrow.run.local.checkpoint import Checkpoint
from windrow.run.local.execution import Execution
from windrow.run.local.sources import source_of
from windrow.run.progress import Progress, Recall
from windrow.run.response import Response
from windrow.schema import CHANGE_TYPE, EVENT_TIME, MIN_TICK

if TYPE_CHECKING:
    import pandas as pd


def state_at(changelog: Any, instant: Instant) -> pa.Table:
    """The rows whose inserts outnumber their deletes up to the instant, each as often as that.

    Rows come in the order of their first changes.
    """
    source = source_of("the changelog", changelog)
    last = instant_ticks(instant, check_changelog(source.schema))
    schema = arrow_schema(source.schema)
    batches = [
        _until(batch, last)
        for batch in source.batches(None, 0)
        if isinstance(batch, pa.RecordBatch)
    ]
    changes = pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema)
    names = [name for name in schema.names if name not in {CHANGE_TYPE, EVENT_TIME}]
    rows = select(changes, names)
    if not len(rows):
        return pa.Table.from_batches([rows])
    slots = KeyDirectory().slots_of(rows.columns)
    copies = np.zeros(int(slots.max()) + 1, np.int64)
    np.add.at(copies, slots, signs_of(changes.column(CHANGE_TYPE)))
    if copies.min() < 0:
        raise more_deletes()
    firsts = np.unique(slots, return_index=True)[1]
    kept = np.sort(firsts[copies > 0])
    return pa.Table.from_batches([take_columns(rows, np.repeat(kept, copies[slots[kept]]))])


def _until(changes: pa.RecordBatch, last: int) -> pa.RecordBatch:
    """The changes that have become true at an instant."""
    ticks = ticks_of(changes.column(EVENT_TIME))
    return changes.filter(pa.array((ticks <= last) & (ticks > MIN_TICK)))


class Result:
    """Rows of an answer, computed as they are asked for.

    `next`, loops, `to_arrow`, `to_pandas` and `to_polars` share one position: each gives the rows that
    were not given yet. After the end of the answer, the next loop or `to_..` runs the query again from
    the beginning, over the same data. That is an error if a stream was given as an iterator, which can
    be read only once.

    While no stream has anything new, a loop waits for the next rows. `to_..` ends with what is there,
    if streams are followed (`windrow.files`, `windrow.kafka` ..). `stop` ends the query, from any thread.
    As a context manager a result is stopped on the way out.

    Ctrl-C takes effect between two steps of the query. The result can still be read then: no row is lost
    or doubled. A second Ctrl-C does not wait for the end of the step; after it the result cannot be used.

    Args:
        run: begins the query; called again to give the answer again.
        is_deep: whether its plan has more levels than Python's stack is made for.

    Attributes:
        execution: the run under way, or the last one.

    Examples:
        >>> result = session.sql("SELECT ...")  # doctest: +SKIP
        >>> for batch in result:  # doctest: +SKIP
        ...     print(batch.num_rows, result.progress.watermark)
        >>> session.sql("SELECT ...").to_arrow()  # doctest: +SKIP
    """

    def __init__(self, run: Callable[[], Execution], *, is_deep: bool = False) -> None:
        self._run = run
        self._room = deep_calls if is_deep else nullcontext
        self._rows = 0
        self.execution = self._begun()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self.execution.is_at_end:
            self.execution = self._begun()
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._room():
            batch = self.execution.next()
        if batch is None:
            raise StopIteration
        self._rows += batch.num_rows
        return batch

    def _begun(self) -> Execution:
        self._rows = 0
        with self._room():
            return self._run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.schema, iter(self))
        return reader.__arrow_c_stream__(requested_schema)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the answer; a changelog has `_change_type` and `_event_time`.

        For a query that sheds, its metadata have the recall of the rows given so far.
        """
        schema = self.execution.schema
        recall = self.recall
        if recall is None:
            return schema
        known = {name: own for name, own in recall.as_dict().items() if own is not None}
        told = {f"windrow.recall.{name}": str(own) for name, own in known.items()}
        return schema.with_metadata(told)

    @property
    def recall(self) -> Recall | None:
        """The share of the answer found so far, for a query that sheds; else None."""
        return self.progress.recall

    @property
    def progress(self) -> Progress:
        """How far the query has come: the current run, or the last one."""
        return self.execution.progress

    @property
    def response(self) -> Response | None:
        """For a changelog, how long after they became true its changes were produced so far.

        Examples:
            >>> result.response.average, result.response.maximum  # doctest: +SKIP
        """
        return self.progress.response

    def __repr__(self) -> str:
        columns = ", ".join(f"{field.name}: {field.type}" for field in self.execution.schema)
        return f"<Result ({columns}); {self._stage_of_life}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: columns and how far it has come. No row is computed for it."""
        cells = "".join(
            f"<tr><td>{escape(field.name)}</td><td>{escape(str(field.type))}</td></tr>"
            for field in self.execution.schema
        )
        return (
            f"<table><thead><tr><th>column</th><th>type</th></tr></thead><tbody>{cells}</tbody></table>"
            f"<p>{escape(self._stage_of_life)}. Rows: loop over it, or <code>to_arrow()</code>,"
            " <code>to_pandas()</code>, <code>to_polars()</code>; how: <code>explain()</code></p>"
        )

    @property
    def _stage_of_life(self) -> str:
        told = f"{self._rows:,} row{'' if self._rows == 1 else 's'}"
        if self.execution.is_at_end:
            return f"answered, {told}"
        return f"{told} so far" if self._rows else "no row yet"

    def explain(self) -> str:
        """EXPLAIN of the query as it runs now, which may be by the numbers seen so far."""
        return self.execution.adapting.explain()

    @property
    def late(self) -> dict[str, pa.Table]:
        """Late rows and rows without a time so far, by stream, as they came.

        Empty unless the query runs with `on_late="keep"`.
        """
        return {name: pa.Table.from_batches(rows) for name, rows in self.execution.late.items()}

    def to_arrow(self) -> pa.Table:
        """The rest of the answer as an Arrow table; all of it if no row was asked for before.

        After the end it gives the whole answer again. Streams that are followed end with what is there.

        Raises:
            DataError: it is asked again, and a stream was given as an iterator, which can be read once.

        Examples:
            >>> import windrow
            >>> w = windrow.Session()
            >>> w.stream("s", pa.table({"k": [1, 2], "at": [0, 5]}), time="at")
            >>> result = w.sql("SELECT k FROM s")
            >>> result.to_arrow() == result.to_arrow()
            True
        """
        batches: list[pa.RecordBatch] = []
        rest = iter(self)
        self.execution.end_here()
        try:
            batches.extend(rest)  # in one step of C, so that no batch is on its way in an interrupt
        except BaseException:
            self.execution.give_back(batches)
            raise
        return pa.Table.from_batches(batches, self.schema)

    def to_pandas(self) -> pd.DataFrame:
        """What `to_arrow` gives, as a pandas DataFrame; its `attrs` have the recall if the query sheds."""
        table = self.to_arrow()
        frame = table.to_pandas()
        if self.recall is not None:
            frame.attrs["recall"] = self.recall.as_dict()
        return frame

    def to_polars(self) -> Any:
        """What `to_arrow` gives, as a polars DataFrame.

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

        Rows that this result has already given are not given again.
        """
        return self.execution.checkpoint()

    def stop(self) -> None:
        """Stops the query, from any thread: a loop over the result ends even if all streams block.

        The iterators of its streams are closed, each as soon as it returns from what it is doing.
        """
        self.execution.stop()
