"""What is asked of a Delta table before rows go there, and what is made of what `deltalake` says.

Rows are added in one of two ways:

    plain       files are put beside the table's and named in its log, as they are
    checked     `deltalake` reads them and writes them again: it puts them where the table's partitions
                want them, and holds them against NOT NULL, CHECK constraints and invariants

A table that asks for more than either does is refused, by the name of what it asks for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.errors import BindError, DataError, ResourceError, WindrowError
from windrow.io.protocol import Unavailable
from windrow.operators.columns.arrow_types import spark_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable

_HONORED = {
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "deletionVectors",
    "generatedColumns",  # a table that has such columns is refused by these
    "invariants",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantType",
}
_OF_COLUMNS = {
    "delta.generationExpression": "is generated",
    "delta.identity.start": "is an identity column",
    "delta.columnMapping.physicalName": "is mapped to another name in files",
    "CURRENT_DEFAULT": "has a default",
}
_OF_STORAGE = re.compile(
    r"Generic (?!DeltaTable)\w+ error|object ?store|os error|sending request|timed out",
    re.IGNORECASE,
)
_PASSES_NEVER = re.compile(
    r"permission denied|read-only file system|append-only|unsupported|features required",
    re.IGNORECASE,
)
_INVALID = "failed validation check"


def check_path(path: str) -> None:
    """Refuses a path of this machine that `deltalake` takes for another one.

    Raises:
        BindError: it has a % that would be read as a part of an address.
    """
    if "://" not in path and re.search("%[0-9a-fA-F]{2}", path):
        raise BindError(
            "bad-delta-option",
            f"the path {path!r} cannot be that of a Delta table",
            reason="the package deltalake takes a % with two digits for another character",
            hint="give the folder a name without %",
        )


def check_types(path: str, columns: pa.Schema) -> None:
    """Refuses columns whose type no Delta table has.

    Raises:
        BindError: one of them.
    """
    from deltalake import Schema  # noqa: PLC0415

    for own in columns:
        try:
            Schema.from_arrow(pa.schema([own]))
        except Exception as error:
            (told,) = spark_schema(pa.schema([own])).fields
            raise BindError(
                "no-delta-type",
                f"the column {own.name} {told.type} cannot be kept in {path!r}",
                reason="Delta tables have no such type",
                hint=f"leave {own.name} out, or make it another type with CAST",
            ) from error


def check_table(path: str, table: DeltaTable, columns: Sequence[pa.Field], mode: str) -> None:
    """Refuses a table that has no place for the columns, or asks for what nobody here does.

    Raises:
        BindError: which column, or what it asks for.
    """
    there = {own.name: own.type for own in pa.schema(table.schema().to_arrow())}
    there = {own.name: own.type for own in spark_schema(pa.schema(list(there.items()))).fields}
    for own in spark_schema(pa.schema(columns)).fields:
        if there.get(own.name) != own.type:
            raise BindError(
                "sink-of-other-columns",
                f"the table {path!r} has no column {own.name} {own.type}",
                reason=f"its columns: {', '.join(f'{n} {t}' for n, t in there.items())}",
                hint="give this answer a table of its own, or rename columns with AS",
            )
    for what in _asked(table, mode):
        raise BindError(
            "delta-asks-more",
            f"nothing can be written to the table {path!r}: {what}",
            reason="rows would be added that break what the table promises its readers",
            hint="give this answer a table of its own",
        )


def is_plain(table: DeltaTable) -> bool:
    """Whether files can be added to a table as they are."""
    if table.metadata().partition_columns or any(
        name.startswith("delta.constraints.") for name in table.metadata().configuration
    ):
        return False
    return not any(
        own.get("nullable") is False
        or own.get("containsNull") is False
        or own.get("valueContainsNull") is False
        or "delta.invariants" in own.get("metadata", ())
        for own in _parts(table)
    )


def _asked(table: DeltaTable, mode: str) -> Iterator[str]:
    """What a table asks for that is not done here."""
    for own in _parts(table):
        for key, what in _OF_COLUMNS.items():
            if key in own.get("metadata", ()):
                yield f"its column {own['name']} {what}"
    configuration = table.metadata().configuration
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        yield "its columns are mapped to other names in files"
    if mode == "merge" and configuration.get("delta.appendOnly") == "true":
        yield "rows may only be appended to it"
    protocol = table.protocol()
    for name in {*(protocol.writer_features or ()), *(protocol.reader_features or ())} - _HONORED:
        yield f"it has the feature {name}"


def _parts(table: DeltaTable) -> Iterator[Mapping[str, Any]]:
    """All fields and types of a table's columns, however deep."""
    left = [json.loads(table.schema().to_json())]
    while left:
        own = left.pop()
        if isinstance(own, dict):
            yield own
            left += own.values()
        elif isinstance(own, list):
            left += own


@contextmanager
def on_table(path: str, *, is_opened: bool = False) -> Iterator[None]:
    """What `deltalake` says, said as ours; another writer's commit in between is tried again.

    Args:
        path: of the table.
        is_opened: whether the table could be opened: what is wrong with it then is not that it cannot
            be reached, unless it says so.
    """
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError  # noqa: PLC0415

    try:
        yield
    except WindrowError:
        raise
    except Exception as error:
        said = str(error)
        is_deltas = type(error) is Exception or isinstance(error, DeltaError | OSError | ValueError)
        if not is_deltas:
            raise
        if is_opened and _INVALID in said:
            raise DataError(
                "delta-constraint",
                f"a row of the answer breaks a constraint of the table {path!r}",
                reason=said.strip(),
                hint="leave such rows out with WHERE, or alter the table",
            ) from error
        may_pass = (
            not is_opened
            or isinstance(error, OSError | CommitFailedError | TableNotFoundError)
            or _OF_STORAGE.search(said) is not None
        )
        reason = said.partition("\n   0: ")[
            0
        ].strip()  # what follows are frames of another language
        if may_pass and not _PASSES_NEVER.search(said):
            raise Unavailable(
                "delta-unavailable",
                f"the table {path!r} cannot be reached, or has changed meanwhile",
                reason=reason.partition("\n")[0],
                hint="check the table and where it is stored",
            ) from error
        raise ResourceError(
            "delta-refused",
            f"the table {path!r} refused the rows of the answer",
            reason=reason,
            hint="check the table, or give this answer one of its own",
        ) from error
