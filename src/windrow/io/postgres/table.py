"""A table or a query of PostgreSQL's, read whole, in one snapshot.

It is one COPY, which PostgreSQL answers by what was committed as it began. The rows come as CSV, in which
NULL is told from an empty text, and Arrow's reader takes them: types are those that the server says the
columns have, none is guessed. Instants are asked for in UTC, bytes as hexadecimal digits, and arrays as
JSON of texts.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import BindError, DataError
from windrow.io.postgres.copy_text import one_text
from windrow.io.postgres.database import Database, driver, quoted
from windrow.io.postgres.types import Read, read_as
from windrow.io.protocol import FEW_ROWS, Json, Offsets, Source

if TYPE_CHECKING:
    import psycopg

BLOCK_BYTES = 8 << 20
"""Of CSV that Arrow reads at a time; a row must fit in."""

_ALL = "0"  # there is one partition
_DIGITS = np.full(256, 255, np.uint8)
_DIGITS[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


class PostgresTable(Source):
    """The rows of a table or a query."""

    def __init__(self, url: str, relation: str) -> None:
        self._database = Database(url)
        self._relation = relation

    @cached_property
    def _reads(self) -> dict[str, Read]:
        """How each column is read."""
        with self._database.transaction() as connection:
            return dict(_described(connection, self._relation))

    def columns(self) -> pa.Schema:
        """As the server says."""
        return pa.schema([pa.field(name, own.arrow) for name, own in self._reads.items()])

    def start(self) -> Offsets:
        """Nothing was read."""
        return {_ALL: 0}

    def latest(self, since: Offsets, most_rows: int = FEW_ROWS) -> Offsets:  # noqa: ARG002
        """All of it."""
        return {_ALL: 1}

    def has_ended(self, offsets: Offsets) -> bool:
        """Whether it was read."""
        return bool(offsets[_ALL] == 1)

    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """The rows that are there now."""
        reads = self._reads
        shown = ", ".join(_expression(name, own) for name, own in reads.items()) or "1"
        statement = f"COPY (SELECT {shown} FROM {self._relation}) TO STDOUT (FORMAT csv)"
        with self._database.transaction() as connection:
            if not reads:
                raise _no_columns(self._relation)
            with connection.cursor().copy(statement) as copy:
                yield from _parsed(_Csv(iter(copy)), reads)

    def close(self) -> None:
        """Ends the connection."""
        self._database.close()


def relation_of(table: str | None, query: str | None) -> str:
    """What is read, as it stands in FROM.

    Raises:
        BindError: neither or both are given.
    """
    if (table is None) == (query is None):
        raise BindError(
            "table-or-query",
            "postgres reads a table or a query, one of the two",
            hint="postgres(url, table='stores')  or  postgres(url, query='SELECT ..')",
        )
    if query is not None:
        body = query.strip().rstrip(";")
        return f"(\n{body}\n) AS windrow_query"
    return f"{table}"


def _described(connection: psycopg.Connection[Any], relation: str) -> Iterator[tuple[str, Read]]:
    """The columns of a relation with how they are read."""
    psycopg = driver()
    try:
        cursor = connection.execute(f"SELECT * FROM {relation} LIMIT 0")
    except psycopg.ProgrammingError as error:
        if error.sqlstate == "42501":
            raise
        raise BindError(
            "postgres-query",
            "PostgreSQL cannot read this table or query",
            reason=str(error).partition("\n")[0],
            hint="look at the names in it, and try it in psql",
        ) from error
    result = cursor.pgresult
    assert result is not None
    kinds = [(result.ftype(i), result.fmod(i)) for i in range(result.nfields)]
    names = [column.name for column in cursor.description or ()]
    doubled = {name for name in names if names.count(name) > 1}
    if doubled:
        raise BindError(
            "duplicate-column",
            f"the query has more than one column named {min(doubled)!r}",
            hint="name each of them:  .. AS name",
        )
    if not names:
        raise _no_columns(relation)
    told = connection.execute(
        "SELECT format_type(o, m), coalesce(e.typtype, t.typtype) = 'e'"
        " FROM unnest(%s::oid[], %s::int[]) WITH ORDINALITY AS k(o, m, n)"
        " JOIN pg_type t ON t.oid = o LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'"
        " ORDER BY n",
        ([own for own, _ in kinds], [own for _, own in kinds]),
    ).fetchall()
    for name, (spelled, is_enum) in zip(names, told, strict=True):
        yield name, read_as(spelled, name, is_enum=is_enum)


def _expression(name: str, own: Read) -> str:
    """A column as it is asked for."""
    column = quoted(name)
    if own.how == "hex":
        return f"encode({column}, 'hex')"
    if own.how == "array":
        if own.type == "array<timestamp>":
            column = f"{column}::timestamp[]"  # of the time zone that is set: UTC
        return f"to_json({column}::text[])::text"
    if own.type == "timestamp":
        return f"{column} AT TIME ZONE 'UTC'"
    if own.type == "string":
        return f"{column}::text"
    return column


class _Csv(io.RawIOBase):
    """The blocks of a COPY as a file."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._blocks = blocks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At least so many bytes, unless it ends."""
        parts, length = [self._rest], len(self._rest)
        while size < 0 or length < size:
            block = next(self._blocks, None)
            if block is None:
                break
            parts.append(bytes(block))
            length += len(block)
        found = b"".join(parts)
        size = length if size < 0 else size
        self._rest = found[size:]
        return found[:size]


def _parsed(csv: _Csv, reads: dict[str, Read]) -> Iterator[pa.RecordBatch]:
    """The rows of a CSV of PostgreSQL's, block by block."""
    import pyarrow.csv as arrow_csv  # noqa: PLC0415

    head = csv.read(1)
    if not head:
        return
    csv._rest = head + csv._rest
    places = [f"c{n}" for n in range(len(reads))]
    sent = {
        place: pa.string() if own.how != "as it is" else _naive(own.arrow)
        for place, own in zip(places, reads.values(), strict=True)
    }
    try:
        reader = arrow_csv.open_csv(
            pa.PythonFile(csv, mode="r"),
            read_options=arrow_csv.ReadOptions(column_names=places, block_size=BLOCK_BYTES),
            # Of one column, NULL is an empty line.
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=arrow_csv.ConvertOptions(
                column_types=sent,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["t"],
                false_values=["f"],
                timestamp_parsers=[arrow_csv.ISO8601],
            ),
        )
        schema = pa.schema([pa.field(name, own.arrow) for name, own in reads.items()])
        for batch in reader:
            arrays = [
                _value(column, own, name)
                for column, (name, own) in zip(batch.columns, reads.items(), strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            raise _too_long() from error
        raise _not_read(error, list(reads)) from error


def _naive(arrow: pa.DataType) -> pa.DataType:
    return pa.timestamp("us") if pa.types.is_timestamp(arrow) else arrow


def _value(column: pa.Array, own: Read, name: str) -> pa.Array:
    """The values of a column as they are."""
    if own.how == "hex":
        return _bytes(column)
    if own.how == "array":
        if pc.any(pc.starts_with(column, "[[")).as_py():
            raise _not_one_dimension(name)
        try:
            return _lists(column, own.arrow)
        except pa.ArrowInvalid as error:
            raise _not_read(error, [name], f" {name!r}") from error
    if own.type == "timestamp":
        return column.view(pa.int64()).view(own.arrow)
    return column


def _bytes(column: pa.Array) -> pa.Array:
    """Bytes of hexadecimal digits."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, column.offset + len(column) + 1)[column.offset :]
    digits = _DIGITS[np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]] if data else _DIGITS[:0]
    made = pa.py_buffer((digits[::2] * 16 + digits[1::2]).astype(np.uint8).tobytes())
    at = pa.py_buffer(((ends - ends[0]) // 2).astype(np.int32).tobytes())
    found = pa.Array.from_buffers(pa.binary(), len(column), [None, at, made])
    return pc.if_else(column.is_null(), pa.scalar(None, pa.binary()), found)


def _lists(column: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Lists of JSON arrays of texts."""
    import pyarrow.json as arrow_json  # noqa: PLC0415

    if not len(column):
        return pa.array([], arrow)
    lines = pc.binary_join_element_wise('{"v":', pc.fill_null(column, "null"), "}\n", "")
    text = pa.py_buffer(one_text(lines))
    texts = arrow_json.read_json(
        text,
        read_options=arrow_json.ReadOptions(block_size=max(BLOCK_BYTES, text.size)),
        parse_options=arrow_json.ParseOptions(
            explicit_schema=pa.schema([("v", pa.list_(pa.string()))])
        ),
    )["v"].combine_chunks()
    texts = texts.chunk(0) if isinstance(texts, pa.ChunkedArray) else texts
    if arrow.value_type == pa.timestamp("us", "UTC"):
        found = texts.cast(pa.list_(pa.timestamp("us")))
        return found.cast(arrow)
    return texts.cast(arrow)


def _not_read(error: Exception, names: list[str], column: str = "") -> DataError:
    said = str(error).partition("\n")[0]
    for place, name in reversed(list(enumerate(names))):
        said = said.replace(f"column #{place}:", f"column {name!r}:")
    return DataError(
        "postgres-value",
        f"a value of the column{column} cannot be read as its type"
        if column
        else "a value of the table cannot be read as its column's type",
        reason=said,
        hint="infinite times and numbers, years beyond 9999 and NaN of numeric have no counterpart:"
        " filter or cast them in a query",
    )


def _not_one_dimension(name: str) -> DataError:
    return DataError(
        "postgres-value",
        f"an array of the column {name!r} has more than one dimension",
        reason="it is read as an array of plain values",
        hint=f"in a query, take it as a text: array_to_json({quoted(name)})::text AS {quoted(name)};"
        " or unnest it",
    )


def _too_long() -> DataError:
    return DataError(
        "postgres-value",
        "a row of the table is too long to be read",
        reason=f"rows are read in blocks of {BLOCK_BYTES >> 20} MB of text, two of which hold any row",
        hint="leave out its long values, or cut them, in a query",
    )


def _no_columns(relation: str) -> BindError:
    return BindError(
        "no-columns",
        f"{relation} has no columns that could be read",
        hint="name a table or a query with columns",
    )
