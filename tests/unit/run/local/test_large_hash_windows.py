"""Hash windows that no near cache holds, whose blocks are read ahead: the answer of any other way."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sessions import session

from windrow.kernels.structures.buckets import _FAR

TUPLES, KEYS, WINDOW = 60_000, 30_000, 25_000
NUMBERS_PER_TUPLE = 3.2
"""Of the blocks: 32 numbers for ten tuples."""


def answer(tables: dict[str, pa.Table], **options: str) -> list[tuple[int, int]]:
    w = session(
        {
            name: [table.slice(start, 20_000) for start in range(0, TUPLES, 20_000)]
            for name, table in tables.items()
        },
        time="ts",
    )
    query = f"SELECT a.n AS i, b.n AS j FROM a, b WHERE a.k = b.k WINDOW = {WINDOW}"
    found = w.sql(query, **options).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


@pytest.mark.parametrize("structure", ["hash/hash", "hash/btree"])
def test_what_is_read_ahead_changes_no_answer(structure):
    assert WINDOW * NUMBERS_PER_TUPLE > _FAR
    random = np.random.default_rng(29)
    tables = {
        name: pa.table(
            {"ts": np.arange(TUPLES), "n": np.arange(TUPLES), "k": random.integers(0, KEYS, TUPLES)}
        )
        for name in "ab"
    }
    found = answer(tables, structure=structure)
    assert len(found) > TUPLES
    assert found == answer(tables, algorithm="bew")
