"""Types of columns: those that PostgreSQL has for an answer's, and those that a table of it is read as.

Spark           PostgreSQL, as it is made          a table that is there may have as well
tinyint         smallint                           integer, bigint, numeric
bigint          bigint                             numeric
float           real                               double precision
decimal(p,s)    numeric(p,s)                       numeric, or one with more digits
string          text                               varchar without a length
timestamp       timestamptz
timestamp_ntz   timestamp
array<t>        t[]
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from windrow.errors import BindError
from windrow.operators.columns.arrow_types import arrow_type, spark_type

_NAMES = {
    "void": "text",
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
    "interval day to second": "interval",
    "time(6)": "time without time zone",
}
_ALSO = {
    "smallint": ("integer", "bigint", "numeric"),
    "integer": ("bigint", "numeric"),
    "bigint": ("numeric",),
    "real": ("double precision",),
    "text": ("character varying",),
}
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
MOST_DIGITS = 38


def postgres_type(arrow: pa.DataType, column: str) -> str:
    """The type, as PostgreSQL spells it, of a column with an answer's values.

    Raises:
        BindError: it has none.

    Examples:
        >>> postgres_type(pa.list_(pa.decimal128(10, 2)), "prices")
        'numeric(10,2)[]'
    """
    if pa.types.is_decimal(arrow):
        return f"numeric({arrow.precision},{arrow.scale})"
    if pa.types.is_list(arrow) and not pa.types.is_nested(arrow.value_type):
        return f"{postgres_type(arrow.value_type, column)}[]"
    spark = spark_type(arrow, column)
    if spark in _NAMES:
        return _NAMES[spark]
    raise BindError(
        "unsupported-type",
        f"the column {column!r} is {spark}, which PostgreSQL has no type for",
        hint=f"write to_json({column}) AS {column} in the query, or leave it out",
    )


def fits(wanted: str, found: str) -> bool:
    """Whether a column takes all values of another type, and keeps them as they are.

    Examples:
        >>> fits("numeric(10,2)", "numeric(12,2)"), fits("bigint", "integer")
        (True, False)
    """
    if wanted == found:
        return True
    if wanted.endswith("[]") or found.endswith("[]"):
        return wanted[-2:] == found[-2:] == "[]" and fits(wanted[:-2], found[:-2])
    own, other = _NUMERIC.fullmatch(wanted), _NUMERIC.fullmatch(found)
    if own is None:
        return found in _ALSO.get(wanted, ())
    if found == "numeric":
        return True
    if other is None:
        return False
    (digits, scale), (more, finer) = (tuple(map(int, m.groups())) for m in (own, other))
    return finer >= scale and more - finer >= digits - scale


@dataclass(frozen=True)
class Read:
    """How a column of PostgreSQL's is read.

    Attributes:
        type: the Spark type of its values.
        how: what is done with its text: "as it is", "hex", or "array".
    """

    type: str
    how: str = "as it is"

    @property
    def arrow(self) -> pa.DataType:
        """The type of its values in Arrow."""
        return arrow_type(self.type)


_READ = {
    "boolean": "boolean",
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "real": "float",
    "double precision": "double",
    "bytea": "binary",
    "date": "date",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp_ntz",
    "oid": "bigint",
}
_AS_TEXT = ("text", "character varying", "character", "bpchar", "name", "uuid", "json", "jsonb",
            '"char"', "citext")  # fmt: skip
_LENGTH = re.compile(r"\((\d+)\)")


def read_as(found: str, column: str, *, is_enum: bool = False) -> Read:
    """How a column is read, by its type as PostgreSQL spells it.

    Raises:
        BindError: values of it would not be exact, or have no type here.

    Examples:
        >>> read_as("timestamp(3) with time zone", "at").type
        'timestamp'
    """
    if found.endswith("[]"):
        inner = read_as(found[:-2], column, is_enum=is_enum)
        if inner.how == "hex":
            raise _not_read(found, column)
        return Read(f"array<{inner.type}>", "array")
    plain = _LENGTH.sub("", found)
    if plain in _AS_TEXT or is_enum:
        return Read("string")
    if plain in _READ:
        return Read(_READ[plain], "hex" if plain == "bytea" else "as it is")
    digits = _NUMERIC.fullmatch(found)
    if digits is not None:
        precision, scale = map(int, digits.groups())
        precision, scale = max(precision - min(scale, 0), scale), max(scale, 0)
        if precision <= MOST_DIGITS:
            return Read(f"decimal({precision},{scale})")
    if found.startswith("numeric"):
        raise BindError(
            "unsupported-type",
            f"the column {column!r} is {found}, and decimals have at most {MOST_DIGITS} digits",
            reason="numeric without a precision may hold any number of digits" * (not digits),
            hint=f"say how many in a query: query='SELECT CAST({column} AS numeric(20, 4)) AS"
            f" {column}, .. FROM ..'",
        )
    raise _not_read(found, column)


def _not_read(found: str, column: str) -> BindError:
    return BindError(
        "unsupported-type",
        f"the column {column!r} is {found}, which Windrow does not read",
        hint=f"cast it in a query: query='SELECT {column}::text AS {column}, .. FROM ..'",
    )
