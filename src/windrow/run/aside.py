"""What a source could not read as rows, as a table to keep."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

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
