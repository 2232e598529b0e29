"""Files, in and out: Parquet, CSV or JSON lines on any file system that pyarrow or fsspec knows.

windrow.files("data/sales/", format="csv", schema="item STRING, price DOUBLE, ts TIMESTAMP")
windrow.files("out/", partition_by=["day"])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow.fs as pafs

from windrow.errors import BindError
from windrow.io.ddl import parse_ddl
from windrow.io.file_formats import BATCH_BYTES, Format, ParquetFiles, TextFiles
from windrow.io.files_sink import FilesSink
from windrow.io.files_source import FilesSource
from windrow.io.options import bad_option, check_options
from windrow.io.protocol import Connector, Sink, Source
from windrow.io.text_rows import CsvRows, JsonRows


@dataclass(frozen=True)
class Files(Connector):
    """Files of one format: a source that reads files as they come, a sink whose parts appear by epochs.

    Args:
        path: a file, a folder or a pattern, on this machine or at an address such as `s3://..`; a text
            or a path of pathlib's.
        format: "parquet", "csv" or "json" (an object in each line).
        schema: the columns, as in `"item STRING, ts TIMESTAMP"`; those of the first file if left out.
        order: in which order files are read: by "name", or by "time" of modification and then name.
        batch_rows: rows that are read at a time, at most.
        batch_bytes: bytes that are read at a time, at most, unless one row has more.
        delimiter: between the values of CSV.
        header: whether the first line of CSV has the names of the columns.
        encoding: of CSV.
        bad_rows: "error", or "aside": lines that are no rows are kept aside, and counted.
        partition_by: columns whose values name the folders of parts, `day=2026-01-01`.
        compact_bytes: small parts are merged into parts of about this size; None leaves them.
        storage: options of fsspec for an address.
    """

    name: ClassVar[str] = "files"

    path: str
    format: Literal["parquet", "csv", "json"] = "parquet"
    schema: str | None = None
    order: Literal["name", "time"] = "name"
    batch_rows: int | None = None
    batch_bytes: int = BATCH_BYTES
    delimiter: str = ","
    header: bool = True
    encoding: str = "utf-8"
    bad_rows: Literal["error", "aside"] = "error"
    partition_by: Sequence[str] = ()
    compact_bytes: int | None = None
    storage: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses options that do not fit.

        Raises:
            BindError: there is one.
        """
        check_options(self)
        self._check()

    def source(self) -> Source:
        """Their rows.

        Raises:
            BindError: nothing names their columns.
        """
        if not self.header and self.format == "csv" and self.schema is None:
            raise _bad_option("schema", None, "the columns in their order: no header names them")
        return FilesSource(self)

    def sink(self) -> Sink:
        """What writes parts."""
        return FilesSink(self)

    def formats(self, system: pafs.FileSystem) -> Format:
        """What reads such files."""
        if self.format == "parquet":
            return ParquetFiles(system)
        keeps_bad = self.bad_rows == "aside"
        if self.format == "json":
            return TextFiles(system, JsonRows(keeps_bad=keeps_bad))
        names = None if self.header else list(parse_ddl(str(self.schema)).names)
        rows = CsvRows(self.delimiter, names, self.encoding, keeps_bad=keeps_bad)
        return TextFiles(system, rows)

    def _check(self) -> None:
        if not self.path or "\0" in self.path:
            raise _bad_option("path", self.path, "a file, a folder or a pattern")
        for name in ("batch_rows", "batch_bytes", "compact_bytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise _bad_option(name, value, "a whole number from 1 on")
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n\0':
            wanted = "one character of ASCII, such as ; and not a quote"
            raise _bad_option("delimiter", self.delimiter, wanted)
        if not _is_encoding(self.encoding):
            raise _bad_option("encoding", self.encoding, "one that Python knows")
        if self.schema is not None:
            parse_ddl(self.schema)


def _is_encoding(name: str) -> bool:
    """Whether Python knows an encoding of texts of any length."""
    try:
        return 'a,"b"\n'.encode(name).decode(name) == 'a,"b"\n'
    except (LookupError, ValueError):
        return False


def _bad_option(name: str, value: object, wanted: str) -> BindError:
    """As `check_options` says it: BindError[bad-files-option]."""
    return bad_option("files", name, value, wanted)
