"""Columns as people write them in Spark: `item STRING, price DECIMAL(10,2)`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from windrow.errors import BindError
from windrow.operators.columns.arrow_types import arrow_type, spark_type
from windrow.schema import Field, Schema

_COLUMN = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>\w+))\s*:?\s+(?P<type>\S.*?)\s*", re.DOTALL
)


def parse_ddl(text: str) -> Schema:
    """The columns of a text.

    Raises:
        BindError: it is no list of columns.

    Examples:
        >>> parse_ddl("item STRING, price DECIMAL(10,2)").ddl()
        '`item` string, `price` decimal(10,2)'
    """
    return Schema(tuple(_field(text, part.strip()) for part in _split(text)))


def _field(text: str, part: str) -> Field:
    match = _COLUMN.fullmatch(part)
    if match is None:
        raise _bad_schema(text, part, "a column is a name, then a type")
    try:
        spelled = spark_type(arrow_type(match["type"]))
    except BindError as error:
        raise _bad_schema(text, part, error.sentence) from error
    return Field(match["plain"] or match["quoted"].replace("``", "`"), spelled)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand outside (..), <..> and `..`."""
    depth = start = 0
    is_quoted = False
    for place, character in enumerate(text):
        if character == "`":  # two within a name turn it over twice
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif character in "(<":
            depth += 1
        elif character in ")>":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _bad_schema(text: str, part: str, problem: str) -> BindError:
    return BindError(
        "bad-schema",
        f"{part!r} in the schema {text!r} is not a column",
        reason=problem,
        hint='columns are written "name TYPE, name TYPE", as in Spark',
    )
