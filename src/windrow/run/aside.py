"""What a source could not read as rows, as a table to keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.fs

from windrow.io.protocol import Aside

ASIDE = pa.schema(
    [
        ("partition", pa.string()),
        ("offset", pa.string()),
        ("why", pa.string()),
        ("content", pa.binary()),
    ]
)


def aside_table(found: Sequence[Aside]) -> pa.Table:
    """Where each was, why it is no row, and what it holds."""
    told = [{**vars(own), "offset": json.dumps(own.offset)} for own in found]
    return pa.Table.from_pylist(told, ASIDE)


def open_folder(folder: str) -> tuple[pa.fs.FileSystem, str]:
    """The file system of a folder given as a path or a URI, and the folder there, made."""
    if "://" not in folder:
        folder = Path(folder).absolute().as_uri()
    files, base = pa.fs.FileSystem.from_uri(folder)
    files.create_dir(base, recursive=True)
    return files, base
