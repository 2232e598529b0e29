"""Column lists as people write them in Spark: `item STRING, price DECIMAL(10,2), ts TIMESTAMP`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from windrow.cli.errors import JobError
from windrow.errors import BindError
from windrow.operators.columns.arrow_types import arrow_type, spark_type
from windrow.schema import Field, Schema

_COLUMN = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>\w+))\s*:?\s+(?P<type>\S.*?)\s*", re.DOTALL
)


def parse_ddl(text: str) -> Schema:
    """The columns of a DDL text, their types in Windrow's spelling."""
    return Schema(tuple(_field(text, part.strip()) for part in _split(text)))


def _field(text: str, part: str) -> Field:
    match = _COLUMN.fullmatch(part)
    if match is None:
        raise JobError.bad_schema(text, part, "a column is a name, then a type")
    try:
        spelled = spark_type(arrow_type(match["type"]))
    except BindError as error:
        raise JobError.bad_schema(text, part, error.sentence) from error
    return Field(match["plain"] or match["quoted"].replace("``", "`"), spelled)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand outside (..) and <..>."""
    depth = start = 0
    for place, character in enumerate(text):
        if character in "(<":
            depth += 1
        elif character in ")>":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]
