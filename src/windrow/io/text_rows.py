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
from windrow.io.json_lines import plain_type, typed
from windrow.operators.columns.arrow_types import arrow_schema, spark_schema

LEAST_BLOCK_BYTES = 1 << 20
"""What is read of a text file at a time."""

MOST_BAD_ROWS = 1_000
"""In a block, which then is not what its schema says."""

_NEWLINE, _RETURN = 10, 13
_BLANK = tuple(b" \t\r\n")
_BOM = b"\xef\xbb\xbf"


def row_ends(block: bytes, quote: int | None, delimiter: int = 0) -> NDArray[np.int64]:
    """Where rows end in a block that begins with one: behind each newline not between quotes.

    As Arrow reads CSV, a quote opens where a value begins, and is a letter where one goes on (5" pipe);
    between quotes one is written as two.
    """
    found = np.frombuffer(block, np.uint8)
    if quote is None or quote.to_bytes() not in block:
        return np.flatnonzero(found == _NEWLINE) + 1
    marks = np.flatnonzero((found == quote) | (found == _NEWLINE))
    is_quote = found[marks] == quote
    is_inside = (np.cumsum(is_quote, dtype=np.uint8) & 1).view(bool)  # where no quote is a letter
    opens = marks[is_quote & is_inside]
    begins = np.zeros(256, bool)  # by the byte before: whether a value does
    begins[[delimiter, _NEWLINE, _RETURN]] = True
    goes_on = begins.copy()
    goes_on[quote] = True  # the second of two
    if not goes_on[found[opens - 1]][opens > 0].all():
        is_inside = _inside(found, marks, is_quote, begins)
    ends: NDArray[np.int64] = marks[~is_quote & ~is_inside] + 1
    return ends


def _inside(
    found: NDArray[np.uint8],
    marks: NDArray[np.int64],
    is_quote: NDArray[np.bool_],
    begins: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Which marks stand between quotes, where some quotes are letters.

    Runs of quotes of even length change nothing. Another run where a value begins turns over whether what
    follows is inside; one elsewhere closes what is open, or is letters: behind it nothing is open.

        a,"x ""y"" z",5" pipe       "x   opens    ""   nothing    z"   closes    5"   letters
    """
    quotes = np.flatnonzero(is_quote)
    places = marks[quotes]
    firsts = np.flatnonzero(np.diff(places, prepend=-2) > 1)
    firsts = firsts[np.diff(firsts, append=len(places)) % 2 == 1]
    runs = places[firsts]
    turns = begins[found[runs - 1]] | (runs == 0)
    turned = np.zeros(len(marks), np.int64)
    ended = np.zeros(len(marks), np.int64)
    turned[quotes[firsts]] = turns
    turned = np.cumsum(turned)
    ends = quotes[firsts[~turns]]
    ended[ends] = turned[ends]
    inside: NDArray[np.bool_] = (turned - np.maximum.accumulate(ended)) % 2 == 1
    return inside


class TextRows(ABC):
    """What lines mean.

    Args:
        keeps_bad: whether what is no row is kept aside; else it is an error.
    """

    has_header = False
    quote: int | None = None
    delimiter = 0
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
        ends = self.ends(block)
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

    def ends(self, block: bytes) -> NDArray[np.int64]:
        """Where rows end in a block that begins with one."""
        return row_ends(block, self.quote, self.delimiter)

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
        self.delimiter = ord(delimiter)
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
            ends = self.ends(block)
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
        # Of a row of one column, NULL is an empty line.
        has_empty_lines = len(names) == 1
        if not (block if has_empty_lines else block.strip()):
            return pa.table({name: pa.array([], types.get(name, pa.string())) for name in names})
        return pacsv.read_csv(
            io.BytesIO(self._ended(block)),
            read_options=pacsv.ReadOptions(
                column_names=names,
                encoding="utf-8" if self.is_whole else self._encoding,
                block_size=max(LEAST_BLOCK_BYTES, min(len(block) + 2, 64 << 20)),
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=b'"' in block,
                ignore_empty_lines=not has_empty_lines,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=types,
                include_columns=list(types) or None,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _ended(self, block: bytes) -> bytes:
        """The block, with a newline behind a last value that is empty.

        Arrow takes such a one, where a file ends without a newline, for quoted if the one before it is.
        """
        if not block.endswith(self._delimiter.encode()):
            return block
        ended = block + b"\n"
        ends = self.ends(ended)
        return ended if len(ends) and ends[-1] == len(ended) else block


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
        wanted = [pa.field(f.name, plain_type(f.type)) for f in columns]
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
        for batch in found.to_batches():
            arrays = [typed(batch.column(f.name), f.type) for f in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=columns)


def _lines(block: bytes) -> int:
    """How many lines hold something."""
    found = np.frombuffer(block, np.uint8)
    begins = np.append(0, np.flatnonzero(found == _NEWLINE) + 1)
    begins = begins[begins < len(found)]
    if not np.isin(found[begins], _BLANK).any():  # as in most files: nothing else is looked at
        return len(begins)
    return int(np.count_nonzero(np.add.reduceat(~np.isin(found, _BLANK), begins)))
