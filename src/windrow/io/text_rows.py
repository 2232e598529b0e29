"""Rows of text, parsed by Arrow: CSV, and JSON with an object in each line.

A block is bytes that end where a row ends. What is no row is an error that says where it is, or is kept
aside: the block is halved until the bad rows stand alone, so that all others are parsed as ever.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.json as pajson
from numpy.typing import NDArray

from windrow.errors import DataError
from windrow.io.data_files import EMPTY, ZONED, first_line, unreadable
from windrow.operators.columns.arrow_types import arrow_schema, spark_schema

LEAST_BLOCK_BYTES = 1 << 20
"""What is read of a text file at a time."""

MOST_BAD_ROWS = 1_000
"""In a block, which then is not what its schema says."""

_NEWLINE = 10
_BOM = b"\xef\xbb\xbf"


def row_ends(block: bytes, quote: int | None) -> NDArray[np.int64]:
    """Where rows end in a block: behind each newline that does not stand between quotes."""
    found = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(found == _NEWLINE)
    if quote is not None and len(ends) and quote.to_bytes() in block:
        # A quote within quotes is written twice: outside of them, their number is even.
        ends = ends[np.cumsum(found == quote)[ends] % 2 == 0]
    return ends + 1


class TextRows(ABC):
    """What lines mean.

    Args:
        keeps_bad: whether what is no row is kept aside; else it is an error.
    """

    has_header = False
    quote: int | None = None
    is_whole = False

    def __init__(self, *, keeps_bad: bool = False) -> None:
        self._keeps_bad = keeps_bad
        self.aside: list[tuple[int, str, bytes]] = []

    def inferred(self, path: str, block: bytes) -> pa.Schema:
        """The columns that a block seems to have."""
        try:
            return arrow_schema(spark_schema(self._infer(block)))
        except (pa.ArrowException, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise unreadable(path, first_line(error)) from error

    def parsed(
        self, path: str, header: bytes, block: bytes, columns: pa.Schema, at: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a block.

        Args:
            path: of the file, for messages.
            header: its first line, where the block does not begin with it.
            block: its rows.
            columns: what to take of them.
            at: where in the file it begins.
        """
        try:
            names, block, at = self._begin(header, block, at)
            if names is not None:
                self._check(path, names, columns)
            yield from self._parse(names, block, columns)
        except (pa.ArrowException, ValueError) as error:
            if isinstance(error, DataError):
                raise
            if EMPTY.search(str(error)):
                return
            if not self._keeps_bad:
                raise unreadable(path, f"{first_line(error)}, from byte {at:,} on") from error
            yield from self._good(path, names, block, columns, at)

    def _good(
        self, path: str, names: list[str] | None, block: bytes, columns: pa.Schema, at: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows that can be parsed; the others are kept aside."""
        ends = row_ends(block, self.quote)
        if not len(ends) or ends[-1] != len(block):
            ends = np.append(ends, len(block))
        begins = np.concatenate([[0], ends[:-1]])
        bad = 0
        waiting = [(0, len(ends))]
        while waiting:
            first, last = waiting.pop()
            part = block[int(begins[first]) : int(ends[last - 1])]
            try:
                rows = list(self._parse(names, part, columns))
            except (pa.ArrowException, ValueError) as error:
                if EMPTY.search(str(error)):
                    continue
                if last - first > 1:
                    middle = (first + last) // 2
                    waiting += [(middle, last), (first, middle)]
                    continue
                bad += 1
                if bad > MOST_BAD_ROWS:
                    raise unreadable(
                        path, f"more than {MOST_BAD_ROWS:,} rows are none: {first_line(error)}"
                    ) from error
                place = at + int(begins[first])
                self.aside.append((place, first_line(error), part.rstrip(b"\r\n")))
            else:
                yield from rows

    def _begin(self, header: bytes, block: bytes, at: int) -> tuple[list[str] | None, bytes, int]:
        """The names of the columns where lines do not have them, and the block behind them."""
        del header
        return None, block.removeprefix(_BOM) if at == 0 else block, at

    def _check(self, path: str, names: list[str], columns: pa.Schema) -> None:
        for name in columns.names:
            if name not in names:
                raise unreadable(path, f"it has no column {name!r}")

    @abstractmethod
    def _infer(self, block: bytes) -> pa.Schema:
        """The columns of a block."""

    @abstractmethod
    def _parse(
        self, names: list[str] | None, block: bytes, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a block without a header, or Arrow's error."""


class CsvRows(TextRows):
    """Lines of CSV.

    Args:
        delimiter: between values.
        header: the names in the first line of each file; or those that are stated, by place.
        encoding: of the text.
        keeps_bad: whether what is no row is kept aside.
    """

    quote = ord('"')

    def __init__(
        self, delimiter: str, header: list[str] | None, encoding: str, *, keeps_bad: bool
    ) -> None:
        super().__init__(keeps_bad=keeps_bad)
        self._delimiter = delimiter
        self._stated = header
        self._encoding = encoding
        self.has_header = header is None
        # Of an encoding in which a newline is no byte of its own, no part can be read.
        self.is_whole = '\n"'.encode(encoding) != b'\n"'

    def _infer(self, block: bytes) -> pa.Schema:
        names, block, _ = self._begin(b"", block, 0)
        found = self._table(names or [], block, {}).schema
        return pa.schema([f.with_type(pa.string()) if f.type == pa.null() else f for f in found])

    def _begin(self, header: bytes, block: bytes, at: int) -> tuple[list[str] | None, bytes, int]:
        if at == 0 or self.is_whole:
            block = block.removeprefix(_BOM)
        if self.is_whole:
            block = block.decode(self._encoding).encode()
        if self._stated is not None:
            return self._stated, block, at
        if not header:
            ends = row_ends(block, self.quote)
            end = int(ends[0]) if len(ends) else len(block)
            header, block, at = block[:end], block[end:], at + end
        text = header.removeprefix(_BOM).decode("utf-8" if self.is_whole else self._encoding)
        return next(csv.reader([text], delimiter=self._delimiter), []), block, at

    def _parse(
        self, names: list[str] | None, block: bytes, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        # Instants are read as texts at first: Arrow would refuse those without a zone.
        types = {f.name: pa.string() if f.type == ZONED else f.type for f in columns}
        yield from self._table(names or [], block, types).to_batches()

    def _table(self, names: list[str], block: bytes, types: dict[str, pa.DataType]) -> pa.Table:
        if not block.strip():
            return pa.table({name: pa.array([], types.get(name, pa.string())) for name in names})
        return pacsv.read_csv(
            io.BytesIO(block),
            read_options=pacsv.ReadOptions(
                column_names=names,
                encoding="utf-8" if self.is_whole else self._encoding,
                block_size=max(LEAST_BLOCK_BYTES, min(len(block) + 1, 64 << 20)),
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=b'"' in block
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=types,
                include_columns=list(types) or None,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


class JsonRows(TextRows):
    """Lines of JSON, an object each."""

    def _infer(self, block: bytes) -> pa.Schema:
        found = pajson.read_json(io.BytesIO(block.removeprefix(_BOM))).schema
        # The reader takes times with a zone to UTC, and does not tell them from those without one.
        types = {
            f.name: ZONED
            if pa.types.is_timestamp(f.type)
            else pa.string()
            if f.type == pa.null()
            else f.type
            for f in found
        }
        return pa.schema(types.items())

    def _parse(
        self, names: list[str] | None, block: bytes, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        del names
        lines = _lines(block)
        if not lines:
            return
        wanted = [
            pa.field(f.name, pa.string() if pa.types.is_temporal(f.type) else f.type)
            for f in columns
        ]
        found = pajson.read_json(
            io.BytesIO(block),
            read_options=pajson.ReadOptions(block_size=max(LEAST_BLOCK_BYTES, len(block) // 4)),
            parse_options=pajson.ParseOptions(
                explicit_schema=pa.schema(wanted), unexpected_field_behavior="ignore"
            ),
        )
        if found.num_rows != lines:
            # Arrow reads objects that go on in the next line; a cut between the two would not.
            raise ValueError(f"{lines:,} lines hold {found.num_rows:,} objects, and not one each")
        yield from found.to_batches()


def _lines(block: bytes) -> int:
    """How many lines hold something."""
    found = np.frombuffer(block, np.uint8)
    is_blank = (found == _NEWLINE) | (found == 13) | (found == 32) | (found == 9)
    newlines = np.flatnonzero(found == _NEWLINE)
    if not len(found):
        return 0
    begins = np.concatenate([[0], newlines + 1])
    begins = begins[begins < len(found)]
    return int(np.count_nonzero(np.add.reduceat(~is_blank, begins)))
