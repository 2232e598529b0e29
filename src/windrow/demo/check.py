"""Two answers compared as bags: the same rows, each as often."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Verdict:
    """What a comparison found: rows that agree, rows missing, rows that should not be there."""

    rows: int
    missing: int = 0
    unexpected: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether both bags are the same."""
        return not (self.missing or self.unexpected)


def compare(actual: pa.Table, expected: pa.Table) -> Verdict:
    """Compares exactly, to the last bit of every float."""
    actual = actual.select(expected.column_names).cast(expected.schema)
    keys = [(name, "ascending") for name in expected.column_names]
    # Sorting is quick and nearly always ends it; only a difference is worth counting row by row.
    if actual.sort_by(keys).combine_chunks() == expected.sort_by(keys).combine_chunks():
        return Verdict(expected.num_rows)
    found, wanted = _bag(actual), _bag(expected)
    return Verdict(
        rows=(found & wanted).total(),
        missing=(wanted - found).total(),
        unexpected=(found - wanted).total(),
    )


def _bag(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))
