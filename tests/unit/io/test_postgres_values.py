"""What goes to PostgreSQL as text, and what has none."""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow
from windrow.io.options import listed_names
from windrow.io.postgres.copy_text import copy_text

YEARS = [
    (pa.timestamp("us"), [-62_135_596_800_000_001, 253_402_300_800_000_000, 2**62, 2**63 - 1]),
    (pa.timestamp("us", "UTC"), [-(2**63), 253_402_300_800_000_000, 10**18]),
    (pa.list_(pa.timestamp("us")), [[2**62], [0, -(2**62)]]),
    (pa.date32(), [-719_163, 2_932_897, 13_800_000, 2**31 - 1]),
]


@pytest.mark.parametrize(("kind", "values"), YEARS)
def test_a_time_that_has_no_text_is_an_error_of_the_data(kind, values):
    for value in values:
        own = pa.array([value], storage_of(kind)).cast(kind)
        rows = pa.RecordBatch.from_arrays([own], schema=pa.schema([("at", kind)]))
        with pytest.raises(windrow.DataError, match="the column 'at' is not within") as caught:
            list(copy_text(rows))
        assert caught.value.condition == "postgres-value"


def storage_of(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(storage_of(kind.value_type))
    return pa.int32() if pa.types.is_date(kind) else pa.int64()


@pytest.mark.parametrize("given", ["store", "", ["a", 1], {"a": 1}, 7, b"a"])
def test_an_option_that_is_no_list_of_names_is_refused(given):
    with pytest.raises(windrow.BindError, match="list of column names") as caught:
        listed_names("postgres", "keys", given)
    assert caught.value.condition == "not-a-list"
    assert "keys=[" in caught.value.hint


def test_a_list_of_names_has_each_name_once():
    assert listed_names("postgres", "keys", ("b", "a", "b")) == ("b", "a")
    assert listed_names("postgres", "keys", []) == ()
