"""Folders that say values of columns, `day=2026-01-01/`: rows by them, and what they are called.

A value is as its text, with what a path cannot have written as %2F; NULL is __HIVE_DEFAULT_PARTITION__.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from windrow.errors import BindError, DataError
from windrow.io.file_listing import NO_VALUE
from windrow.io.file_systems import is_local

MOST_NAME_BYTES = 255
"""Of the name of a folder, as most file systems have it."""

MOST_PATH_BYTES = 1_024
"""Of a path on an object store, as S3 and Google's have it."""

FILE_NAME_BYTES = 80
"""Of the name of a part, one that is merged too."""

_TEXTS = (
    pa.types.is_string,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
)
"""Types whose values come back from their texts."""


def check_partitions(names: Sequence[str], columns: pa.Schema, *, has_more: bool) -> None:
    """Refuses columns that cannot be said by folders.

    Args:
        names: of the columns.
        columns: those of the answer.
        has_more: whether parts have other columns beside these.

    Raises:
        BindError: there is one, or all of them are in folders.
    """
    for number, name in enumerate(names):
        if name not in columns.names:
            raise BindError(
                "unknown-partition",
                f"partition_by names {name!r}, which the answer does not have",
                hint=f"its columns: {', '.join(columns.names)}",
            )
        if name in names[:number]:
            raise BindError(
                "bad-partition",
                f"partition_by names {name!r} twice",
                hint="name each column once in partition_by",
            )
        arrow = columns.field(name).type
        if not any(is_text(arrow) for is_text in _TEXTS):
            raise BindError(
                "bad-partition",
                f"partition_by names {name!r}, which is {arrow}",
                reason="folder names hold values as text",
                hint="cast it to STRING, or take it out of partition_by",
            )
    if len(names) == len(columns) and not has_more:
        raise BindError(
            "bad-partition",
            "partition_by names all columns of the answer",
            reason="a part has to hold at least one column",
            hint="name fewer columns in partition_by",
        )


def by_folder(
    table: pa.Table, names: Sequence[str]
) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
    """The rows by the folders that they belong to, in their order, without what the folders say."""
    if not names:
        yield {}, table
        return
    codes = np.zeros(table.num_rows, np.int64)
    for name in names:
        text = table[name].cast(pa.string()).combine_chunks().dictionary_encode("encode")
        codes = codes * len(text.dictionary) + text.indices.to_numpy(zero_copy_only=False)
    found, firsts, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    sizes = np.bincount(inverse, minlength=len(found))
    rows = table.drop_columns(names).take(order)
    at = 0
    for first, size in zip(firsts, sizes, strict=True):
        row = table.slice(int(first), 1)
        values = {name: row[name].cast(pa.string())[0].as_py() for name in names}
        yield values, rows.slice(at, int(size))
        at += int(size)


def folders_of(values: Mapping[str, str | None]) -> str:
    """The folders of values, with a slash behind each."""
    return "".join(f"{own}/" for own in _names(values))


def check_lengths(system: pafs.FileSystem, root: str, values: Mapping[str, str | None]) -> None:
    """Refuses values whose folders no file system could have.

    Raises:
        DataError: there is one.
    """
    if not values:
        return
    most_name, most_path = MOST_NAME_BYTES, MOST_PATH_BYTES
    if is_local(system):
        most_name = os.pathconf(root, "PC_NAME_MAX")
        most_path = os.pathconf(root, "PC_PATH_MAX") - 1
    for (column, value), name in zip(values.items(), _names(values), strict=True):
        if len(name.encode()) > most_name:
            raise _too_long(column, value, f"the name of a folder has {most_name:,} bytes at most")
    if len(f"{root}/{folders_of(values)}".encode()) + FILE_NAME_BYTES > most_path:
        column = max(values, key=lambda own: len(values[own] or ""))
        raise _too_long(column, values[column], f"a path has {most_path:,} bytes at most")


def _names(values: Mapping[str, str | None]) -> list[str]:
    return [
        f"{quote(name, safe=' ')}={NO_VALUE if value is None else quote(value, safe=' ')}"
        for name, value in values.items()
    ]


def _too_long(column: str, value: str | None, why: str) -> DataError:
    text = value or ""
    shown = repr(text if len(text) <= 40 else text[:40] + "..")
    return DataError(
        "long-partition",
        f"the value {shown} of the column {column!r} is too long for the name of a folder",
        reason=f"it has {len(text):,} characters; {why}, in which each byte of a non-ASCII letter"
        " takes three",
        hint="take the column out of partition_by, or cut it: substring(column, 1, 50)",
    )
