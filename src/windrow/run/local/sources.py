"""What a stream may be made of in process, read batch by batch in canonical Arrow types.

A **table** (Arrow, pandas, polars, anything with a length and the Arrow stream interface) is
bounded and known whole: it is read in event-time order, in slices, so that nothing in it is late
and the state stays small. A **stream** (a reader, or any iterable of batches) is read as it comes:
a batch is a micro-batch, and what breaks its promise of lateness is late. It may give NOTHING_NOW
in place of a batch, which says that there is none at the moment and that it is to be asked again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.errors import BindError, DataError, WindrowError
from windrow.operators.columns.arrow_types import (
    arrow_schema,
    conform,
    spark_schema,
    spark_type,
    ticks_of,
)

SLICE_ROWS = 262_144
"""Rows of a table that make one micro-batch: large enough that the work per batch, and per key, is
lost in the work per row, small enough that a batch is some megabytes."""


class Silence(Enum):
    """What a stream gives when it has no batch now, and has not ended."""

    NOTHING_NOW = "nothing now"


NOTHING_NOW: Final = Silence.NOTHING_NOW
"""Given by an iterator in place of a batch: there is none now, and the others go on meanwhile.

Examples:
    >>> def sensor():
    ...     while True:
    ...         yield poll() or windrow.NOTHING_NOW  # doctest: +SKIP
"""


class BatchReader(ABC):
    """Data registered under a name.

    Attributes:
        schema: the columns, with Spark types.
        may_block: whether asking for the next batch may take as long as it likes.
        is_cut_by_arrival: whether a batch is what has come by chance until it was looked for, so that
            two may as well be one.
        is_bounded: whether all of it is there, so that a query over it is a batch run.
        is_spent: whether it could be read once, and has been.
    """

    may_block = False
    is_cut_by_arrival = False
    is_bounded = False
    is_spent = False

    def __init__(self, name: str, schema: pa.Schema) -> None:
        self._name = name
        self._shape = _Shape(name, schema)
        self.schema = self._shape.schema

    def reorders(self, time: str | None) -> bool:  # noqa: ARG002
        """Whether rows are read in another order than that in which they were given."""
        return False

    def for_query(self) -> BatchReader:
        """The same data for one query, where queries cannot share what is open."""
        return self

    def end_here(self) -> None:  # noqa: B027  # most end by themselves
        """Has a stream that is followed end where there is nothing more now."""

    @abstractmethod
    def batches(self, time: str | None, skip: int) -> Iterator[pa.RecordBatch | Silence]:
        """The rows in batches of canonical types, without the first `skip` rows.

        `time` is the event-time column; None where rows have no time of their own.

        Raises:
            DataError: there are fewer rows than are to be skipped.
        """


class TableSource(BatchReader):
    """Rows that are all in memory."""

    is_bounded = True

    def __init__(self, name: str, table: pa.Table) -> None:
        super().__init__(name, table.schema)
        self._table = table
        self.derived: dict[tuple[str, str], Any] = {}  # what has been counted in it, for planning

    def reorders(self, time: str | None) -> bool:
        """Whether the rows are not in event-time order."""
        return time is not None and not _is_in_order(self._ticks(time))

    def batches(self, time: str | None, skip: int) -> Iterator[pa.RecordBatch | Silence]:
        """Slices in event-time order; rows without a time come first."""
        if skip > self.rows:
            raise too_few_rows(self._name, self.rows, skip)
        order = None if time is None else self._order(time)
        if order is None:
            for start in range(skip, len(self._table), SLICE_ROWS):
                yield self._shape.fit(self._table.slice(start, SLICE_ROWS))
            return
        table = pa.Table.from_batches(
            [self._shape.fit(pa.Table.from_batches([part])) for part in self._table.to_batches()]
        )
        for start in range(skip, len(table), SLICE_ROWS):
            rows = pa.array(order[start : start + SLICE_ROWS])
            yield self._shape.fit(table.take(rows))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self._table)

    def sample(self, name: str, most: int, stretches: int) -> pa.Array:
        """At most so many values of a column, of canonical type, from even stretches of the rows."""
        column = self._table.select([name])
        if len(column) > most:
            length = most // stretches
            starts = np.linspace(0, len(column) - length, stretches).astype(int)
            column = pa.concat_tables([column.slice(int(start), length) for start in starts])
        return self._fit(column)

    def span(self, time: str) -> tuple[int, int, int]:
        """How many rows have a time, the least time and the greatest, in ticks."""
        column = self._table.column(time)
        ends = pc.min_max(column)
        both = pa.table({time: pa.array([ends["min"], ends["max"]], column.type)})
        least, greatest = ticks_of(self._fit(both)).tolist()
        return len(column) - column.null_count, least, greatest

    def _fit(self, column: pa.Table) -> pa.Array:
        """A table of one column as one array of canonical type."""
        return _Shape(self._name, column.schema).fit(column).column(0)

    def _order(self, time: str) -> NDArray[np.int64] | None:
        """The row numbers in event-time order; None where that is the order they are in."""
        ticks = self._ticks(time)
        return None if _is_in_order(ticks) else np.argsort(ticks, kind="stable")

    def _ticks(self, time: str) -> NDArray[np.int64]:
        return ticks_of(self._fit(self._table.select([time])))


def _is_in_order(ticks: NDArray[np.int64]) -> bool:
    return bool(np.all(ticks[:-1] <= ticks[1:]))


class BatchSource(BatchReader):
    """Batches that come one by one, in an order of their own.

    An iterator or reader can be read once; what can be iterated again (a list of batches) is read
    anew by every query.

    Args:
        name: the stream.
        data: the batches.
        schema: their columns; None to take them from the first batch, which is then read at once.
    """

    def __init__(self, name: str, data: Iterable[Any], schema: pa.Schema | None = None) -> None:
        self._data = data
        self._once = isinstance(data, Iterator)
        self.may_block = not isinstance(data, list | tuple)
        self._held: list[Any] = []
        if schema is None:
            opening = self._opening(name)
            self._held = [opening] if self._once else []
            schema = opening.schema
        super().__init__(name, schema)

    def batches(self, time: str | None, skip: int) -> Iterator[pa.RecordBatch | Silence]:
        """The batches in the order they come, whatever their time; an iterator is closed at the end."""
        del time
        if self.is_spent:
            raise already_read(self._name)
        self.is_spent = self._once
        items = (
            item
            if item is NOTHING_NOW or isinstance(item, pa.RecordBatch)
            else _as_table(self._name, item)
            for item in chain(self._held, self._data)
        )
        try:
            for rows in _after(self._name, items, skip):
                yield rows if isinstance(rows, Silence) else self._shape.fit(rows)
        finally:
            if self._once and hasattr(self._data, "close"):
                self._data.close()

    def _opening(self, name: str) -> pa.Table:
        """The first batch, which says what columns there are."""
        try:
            opened = iter(self._data)
            if not self.may_block:  # a list can be looked through; an iterator would be used up
                opened = (item for item in opened if item is not NOTHING_NOW)
            first = next(opened, None)
        except WindrowError:
            raise
        except Exception as error:
            raise source_failed(name, error) from error
        if first is None or first is NOTHING_NOW:
            raise BindError(
                "no-schema",
                f"the stream {name} has no batch to take its columns from",
                reason="" if first is None else "it answers that there is nothing now",
                hint="name them with schema=..., or give a pyarrow.RecordBatchReader, which has a"
                " schema even when it is empty",
            )
        return _as_table(name, first)


def source_of(name: str, data: Any, schema: pa.Schema | None = None) -> BatchReader:
    """The data as a source.

    Args:
        name: the name it is registered under, for messages.
        data: an Arrow table, batch or reader; a pandas or polars DataFrame; or any iterable of
            these.
        schema: the columns of an iterable, where no batch is to be read before a query asks.

    Raises:
        BindError: it is none of these, or its columns cannot be used.

    Examples:
        >>> source_of("a", pa.table({"k": [1]})).schema.ddl()
        '`k` bigint'
    """
    found = _with_own_columns(name, data)
    if found is not None:
        if schema is not None:
            raise BindError(
                "needless-schema",
                f"{name} is {type(data).__name__}, which has columns of its own",
                reason="schema= says what the batches of an iterable look like",
                hint="leave it out, or cast the data before you register it",
            )
        return found
    if schema is not None and not isinstance(schema, pa.Schema):
        raise BindError(
            "not-a-schema",
            f"the schema of {name} is a {type(schema).__name__}, not a schema of Arrow's",
            hint='for instance  pa.schema([("item", pa.string()), ("at", pa.int64())])',
        )
    gives_values = isinstance(data, str | bytes | dict) or hasattr(data, "to_frame")
    if isinstance(data, Iterable) and not gives_values:
        return BatchSource(name, data, schema)
    raise _not_rows(name, data)


def _with_own_columns(name: str, data: Any) -> BatchReader | None:
    """The source of data that knows its columns; None where only its batches know them."""
    if isinstance(data, pa.RecordBatchReader):
        return BatchSource(name, data, data.schema)
    table = _table_or_none(name, data)
    if table is not None:
        return TableSource(name, table)
    if hasattr(data, "__arrow_c_stream__"):
        with _read_by_arrow(name, data):
            reader = pa.RecordBatchReader.from_stream(data)
            return BatchSource(name, reader, reader.schema)
    return None


def whole(name: str, source: BatchReader) -> TableSource:
    """A table of which all rows are in memory: an iterator is read to its end."""
    if isinstance(source, TableSource):
        return source
    batches = [batch for batch in source.batches(None, 0) if batch is not NOTHING_NOW]
    return TableSource(name, pa.Table.from_batches(batches, arrow_schema(source.schema)))


def source_failed(stream: str, error: BaseException) -> WindrowError:
    """The error of an iterator as the query's user sees it; our own errors name the stream."""
    if isinstance(error, WindrowError):
        return error
    failure = DataError(
        "source-failed",
        f"the stream {stream} failed: {type(error).__name__}: {error}",
        reason="the iterator it was registered with raised this error",
        hint="the error itself, with its place, is the cause of this one",
    )
    failure.__cause__ = error
    return failure


def too_few_rows(name: str, rows: int, skipped: int) -> DataError:
    """The error of a query that goes on with a stream which is shorter than it was."""
    return DataError(
        "too-few-rows",
        f"the stream {name} ends after {rows:,} rows, and the checkpoint was made after {skipped:,}",
        reason="a query that is resumed skips the rows that were read before",
        hint=f"register {name} from its beginning, with the rows that it had",
    )


def _after(
    name: str, items: Iterable[pa.Table | pa.RecordBatch | Silence], skip: int
) -> Iterator[pa.Table | pa.RecordBatch | Silence]:
    """The batches without the first so many rows, however those were cut before."""
    passed = 0
    for item in items:
        if isinstance(item, Silence) or passed >= skip:
            yield item
            continue
        before, passed = passed, passed + item.num_rows
        if passed > skip:
            yield item.slice(skip - before)
    if passed < skip:
        raise too_few_rows(name, passed, skip)


def already_read(name: str) -> DataError:
    """The error of a query over an iterator that an earlier query has read."""
    return DataError(
        "stream-already-read",
        f"the stream {name} was given as an iterator, and a query has read it",
        hint="register it again with a new iterator, or give a table or a list of batches",
    )


class _Shape:
    """The columns a source was registered with; brings every batch to their canonical types."""

    def __init__(self, name: str, schema: pa.Schema) -> None:
        doubled = {column for column in schema.names if schema.names.count(column) > 1}
        if doubled:
            raise BindError(
                "duplicate-column",
                f"{name} has more than one column named {min(doubled)!r}",
                hint="rename one of them before you register it",
            )
        self.name = name
        self.schema = spark_schema(schema)
        self.arrow = arrow_schema(self.schema)

    def fit(self, rows: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
        """The rows as one batch of the registered columns.

        Raises:
            DataError: a column is missing, new, or of another type.
        """
        if isinstance(rows, pa.RecordBatch):
            if rows.schema.equals(self.arrow, check_metadata=True):
                return rows
            rows = pa.Table.from_batches([rows])
        new = [name for name in rows.schema.names if name not in self.schema.names]
        if new:
            raise self._differs(f"has a column {new[0]!r} that it did not have before")
        arrays = []
        for field, target in zip(self.schema.fields, self.arrow, strict=True):
            if field.name not in rows.schema.names:
                raise self._differs(f"has no column {field.name!r}")
            column = rows.column(field.name)
            found = spark_type(column.type, field.name)
            if found != field.type:
                raise self._differs(
                    f"has the column {field.name!r} as {found}, registered as {field.type}"
                )
            title = f"{self.name}.{field.name}"
            chunks = [conform(chunk, target.type, title) for chunk in column.chunks]
            chunks = chunks or [pa.array([], target.type)]
            arrays.append(chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks))
        return pa.RecordBatch.from_arrays(arrays, schema=self.arrow)

    def _differs(self, how: str) -> DataError:
        return DataError(
            "schema-change",
            f"a batch of {self.name} {how}",
            reason="every batch of a stream has the columns it was registered with",
            hint="cast or select the columns before you hand the batches over",
        )


def _table_or_none(name: str, data: Any) -> pa.Table | None:
    """The data as an Arrow table if all of it is in memory; pandas and polars are not imported."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    with _read_by_arrow(name, data):
        if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
            return pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None)
        if hasattr(data, "__arrow_c_stream__") and hasattr(data, "__len__"):
            return pa.table(data)
    return None


@contextmanager
def _read_by_arrow(name: str, data: Any) -> Iterator[None]:
    """Tells what Arrow finds wrong with data that it reads."""
    try:
        yield
    except (pa.ArrowException, TypeError, ValueError) as error:
        if not hasattr(data, "columns"):  # one column, or none
            raise _not_rows(name, data) from error
        raise BindError(
            "unreadable-columns",
            f"{name} cannot be read: a column of the {type(data).__name__} has no Arrow type",
            reason=str(error).partition("\n")[0],
            hint="give every column values of one type",
        ) from error


def _as_table(name: str, batch: Any) -> pa.Table:
    table = _table_or_none(name, batch)
    if table is None:
        raise _not_rows(name, batch)
    return table


def _not_rows(name: str, data: Any) -> BindError:
    hint = "give an Arrow table or reader, a pandas or polars DataFrame, or an iterable of these"
    if hasattr(data, "collect"):
        hint = f"call .collect() on it first; or {hint}"
    elif hasattr(data, "to_frame"):
        hint = f"call .to_frame() on it, with a column for the time; or {hint}"
    return BindError(
        "not-rows", f"{name} cannot be read: {type(data).__name__} holds no rows", hint=hint
    )
