"""Files of a format, cut and read: Parquet by rows, lines of text by bytes.

    Parquet          a place in a file is a row's number       row groups before it are not touched
    CSV, JSON        a place is a byte, where a line begins    one block after the other is looked at
    compressed       0 or 1: the file is read as a whole

`cut` says where the next rows of a file end; `read` gives those between two places, and reads no more
than it must: the block that was cut last, or the row group that was read last, is still held.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from windrow.errors import DataError
from windrow.io.data_files import conformed, first_line, unreadable
from windrow.io.text_rows import LEAST_BLOCK_BYTES, TextRows

BATCH_ROWS = 131_072
"""Rows of a file that are read at a time, where it is read as a whole."""

BATCH_BYTES = 64 << 20
"""Bytes of files that are read at a time, where nobody says otherwise."""

ROW_BYTES = 64
"""What a row of text is taken to have, where nobody has looked."""


@dataclass(frozen=True)
class DataFile:
    """A file to read.

    Attributes:
        name: in its folder, as offsets have it.
        size: bytes.
        time_ns: when it was modified last.
        path: on its file system.
        shift: places in it are so much further in the file at the path, where it was merged with others.
        rows: how many a Parquet file has, where that is known already.
        header: bytes of its first line, where it is known that this has names.
        values: of columns that its folders' names say (`day=2026-01-01`).
    """

    name: str
    size: int
    time_ns: int
    path: str = ""
    shift: int = 0
    rows: int | None = None
    header: int = 0
    values: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int, int, int]:
        """What tells it from others, and from itself as it was."""
        return self.path, self.size, self.time_ns, self.shift


class Format(ABC):
    """Files of one format on a file system."""

    def __init__(self, system: pafs.FileSystem) -> None:
        self._system = system

    @abstractmethod
    def length(self, file: DataFile) -> int:
        """The place where a file ends."""

    @abstractmethod
    def cut(self, file: DataFile, start: int, most_rows: int, most_bytes: int) -> tuple[int, int]:
        """Where a batch that begins at `start` ends, and about how many rows it has."""

    @abstractmethod
    def read(
        self, file: DataFile, start: int, end: int, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """The rows between two places."""

    @abstractmethod
    def columns(self, file: DataFile) -> pa.Schema:
        """The columns that a file has by itself."""

    def whole(self, file: DataFile, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        """All rows of a file, some at a time."""
        start, length = 0, self.length(file)
        while start < length:
            end, _ = self.cut(file, start, BATCH_ROWS, BATCH_BYTES)
            yield from self.read(file, start, end, columns)
            start = end

    def take_aside(self) -> list[tuple[int, str, bytes]]:
        """What could not be read as rows since the last call: where it began, what is wrong, its content."""
        return []

    def close(self) -> None:  # noqa: B027  # not all hold something
        """Lets go of what is held."""


class ParquetFiles(Format):
    """Parquet files."""

    def __init__(self, system: pafs.FileSystem) -> None:
        super().__init__(system)
        self._opened: tuple[tuple[str, int, int, int], pq.ParquetFile] | None = None
        self._group: tuple[tuple[str, int, int, int], int, pa.Table] | None = None

    def length(self, file: DataFile) -> int:
        """Its rows."""
        return int(self._open(file).metadata.num_rows) if file.rows is None else file.rows

    def cut(self, file: DataFile, start: int, most_rows: int, most_bytes: int) -> tuple[int, int]:
        """At most `most_rows` rows, fewer if they are large."""
        length = self.length(file)
        per_row = max(1, file.size // max(1, length))
        rows = max(1, min(most_rows, most_bytes // per_row, length - start))
        return min(start + rows, length), min(rows, length - start)

    def columns(self, file: DataFile) -> pa.Schema:
        """Those that its footer names."""
        found = self._open(file).schema_arrow
        try:
            found.names  # noqa: B018  # which may be in another encoding
        except UnicodeDecodeError as error:
            raise unreadable(file.path, first_line(error)) from error
        return found

    def read(
        self, file: DataFile, start: int, end: int, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """From the row groups that hold them."""
        opened = self._open(file)
        there = set(opened.schema_arrow.names)
        own = [name for name in columns.names if name in there]
        start, end, first = start + file.shift, end + file.shift, 0
        for group in range(opened.metadata.num_row_groups):
            last = first + opened.metadata.row_group(group).num_rows
            if first < end and start < last:
                rows = self._rows(file, opened, group, own)
                part = rows.slice(max(start - first, 0), min(end, last) - max(start, first))
                for batch in part.combine_chunks().to_batches():
                    yield shaped(batch, file, columns)
            first = last

    def close(self) -> None:
        """Closes the file."""
        self._opened = self._group = None

    def _rows(
        self, file: DataFile, opened: pq.ParquetFile, group: int, names: list[str]
    ) -> pa.Table:
        key = file.key
        if self._group is None or self._group[:2] != (key, group):
            self._group = None  # two would be twice the memory
            try:
                rows = opened.read_row_group(group, columns=names)
            except (pa.ArrowException, ValueError) as error:
                raise unreadable(file.path, first_line(error)) from error
            self._group = (key, group, rows)
        return self._group[2]

    def _open(self, file: DataFile) -> pq.ParquetFile:
        key = file.key
        if self._opened is None or self._opened[0] != key:
            try:
                opened = pq.ParquetFile(self._system.open_input_file(file.path))
            except (pa.ArrowException, ValueError) as error:
                raise unreadable(file.path, first_line(error)) from error
            self._opened = (key, opened)
        return self._opened[1]


class TextFiles(Format):
    """Files of lines: CSV and JSON lines.

    Args:
        system: where they are.
        rows: what the lines mean.
    """

    def __init__(self, system: pafs.FileSystem, rows: TextRows) -> None:
        super().__init__(system)
        self._rows = rows
        self._block: tuple[tuple[str, int, int, int], int, bytes] | None = None

    def length(self, file: DataFile) -> int:
        """Its bytes; of a file that is not cut, 1."""
        return 1 if self._is_whole(file) else file.size

    def cut(self, file: DataFile, start: int, most_rows: int, most_bytes: int) -> tuple[int, int]:
        """Where a row ends; at the end of a file, whether a line ends there or not."""
        if self._is_whole(file):
            return 1, max(1, min(most_rows, file.size // ROW_BYTES))
        wanted = max(LEAST_BLOCK_BYTES, min(most_rows * ROW_BYTES, most_bytes))
        start = max(start, file.header)
        header = int(start == 0 and self._rows.has_header)
        most = most_rows + header
        while True:
            block = self._held(file, start, min(start + wanted, file.size))
            ends = self._rows.ends(block)
            if start + len(block) >= file.size and (not len(ends) or ends[-1] < len(block)):
                ends = np.append(ends, len(block))
            is_enough = len(ends) >= most or (len(block) >= most_bytes and len(ends) > header)
            if is_enough or start + len(block) >= file.size:
                break
            wanted *= 2
        ends = ends[:most]
        fitting = ends[ends <= most_bytes]
        if len(fitting) <= header:  # a row beyond the limit is read for itself
            fitting = ends[: header + 1]
        return start + int(fitting[-1]), max(len(fitting) - header, 1)

    def columns(self, file: DataFile) -> pa.Schema:
        """What the first lines look like."""
        if self._is_whole(file):
            return self._rows.inferred(file.path, self._unpacked(file))
        end, _ = self.cut(file, 0, BATCH_ROWS, LEAST_BLOCK_BYTES)
        return self._rows.inferred(file.path, self._held(file, 0, end))

    def read(
        self, file: DataFile, start: int, end: int, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Parsed as one block."""
        if self._is_whole(file):
            block, first = self._unpacked(file), b""
        else:
            start = max(start, file.header)
            block = self._held(file, start, end)
            first = b"" if start == 0 or not self._rows.has_header else self._header(file)
        inside = pa.schema([own for own in columns if own.name not in file.values])
        for batch in self._rows.parsed(file.path, first, block, inside, start):
            yield shaped(batch, file, columns)

    def take_aside(self) -> list[tuple[int, str, bytes]]:
        """The rows that are none, where they are kept."""
        found, self._rows.aside = self._rows.aside, []
        return found

    def close(self) -> None:
        """Forgets the block."""
        self._block = None

    def _is_whole(self, file: DataFile) -> bool:
        return self._rows.is_whole or _codec(file.path) is not None

    def _header(self, file: DataFile) -> bytes:
        with self._system.open_input_file(file.path) as opened:
            block = b""
            while True:
                more = opened.read(LEAST_BLOCK_BYTES)
                block += more
                ends = self._rows.ends(block)
                if len(ends) or not more:
                    return bytes(block[: int(ends[0])] if len(ends) else block)

    def _held(self, file: DataFile, start: int, end: int) -> bytes:
        """The bytes between two places, of which those are not read again that are held."""
        key = file.key
        block = b""
        if self._block is not None and self._block[0] == key:
            at, held = self._block[1:]
            if at <= start <= at + len(held):
                block = held[start - at :]
        if start + len(block) < end:
            with self._system.open_input_file(file.path) as opened:
                opened.seek(start + file.shift + len(block))
                block += opened.read(end - start - len(block))
        self._block = (key, start, block)
        return bytes(block[: end - start])

    def _unpacked(self, file: DataFile) -> bytes:
        try:
            codec = _codec(file.path)
            with self._system.open_input_stream(file.path, compression=codec) as opened:
                found: bytes = opened.read()
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise unreadable(file.path, first_line(error)) from error
        return found


def _codec(path: str) -> str | None:
    """How Arrow calls the compression that a name ends with."""
    ends = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
    return next((codec for end, codec in ends.items() if path.endswith(end)), None)


READABLE = (".gz", ".bz2", ".zst", ".lz4")
"""The compressions that are read, by the ends of names."""


def shaped(batch: pa.RecordBatch, file: DataFile, columns: pa.Schema) -> pa.RecordBatch:
    """The columns in their order and types; those that the names of folders say are added."""
    arrays = []
    there = set(batch.schema.names)
    try:
        for own in columns:
            if own.name in file.values:
                text = pa.scalar(file.values[own.name], pa.string())
                arrays.append(conformed(pa.repeat(text, batch.num_rows), own.type))
            elif own.name in there:
                arrays.append(conformed(batch.column(own.name), own.type))
            else:
                raise unreadable(file.path, f"it has no column {own.name!r}")
    except (pa.ArrowException, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise unreadable(file.path, first_line(error)) from error
    return pa.RecordBatch.from_arrays(arrays, schema=columns)
