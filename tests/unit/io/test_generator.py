"""Generated rows: what is said of them is of its kind, or refused in our words."""

from __future__ import annotations

import pytest

import windrow
from windrow.errors import BindError

SCHEMA = "k BIGINT, small TINYINT, ts TIMESTAMP"


def rows(**about: object) -> list[dict]:
    source = windrow.generate(**{"schema": SCHEMA, "live": False} | about).source()
    end = source.latest(source.start())["0"]
    return [row for batch in source.read("0", 0, end) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("schema", 5),
        ("rate", "1000 per second"),
        ("rate", True),
        ("rows", "5"),
        ("rows", -1),
        ("rows", 2.5),
        ("seed", -1),
        ("seed", 1.5),
        ("seed", 1 << 128),
        ("distinct", {"k": 0}),
        ("distinct", {"k": 2.5}),
        ("distinct", {"k": (1 << 63) + 1}),
        ("distinct", ["k"]),
        ("begin", 5),
        ("live", "no"),
    ],
)
def test_an_argument_of_another_kind_is_refused_by_name(argument, value):
    with pytest.raises(BindError) as refused:
        windrow.generate(**{"schema": SCHEMA} | {argument: value})
    assert refused.value.condition == "bad-argument"
    assert refused.value.sentence.startswith(f"the argument {argument} of generate(..) must be ")
    assert f"{argument}=" in refused.value.hint


@pytest.mark.parametrize(
    ("about", "condition", "said"),
    [
        ({"rate": float("nan")}, "bad-rate", "nan rows per second is not a rate"),
        ({"rate": float("inf")}, "bad-rate", "inf rows per second is not a rate"),
        ({"begin": "yesterday"}, "bad-begin", "begin of generate(..) is 'yesterday'"),
        ({"distinct": {"z": 3}}, "unknown-column-of-distinct", "names 'z', which is not a column"),
        ({"distinct": {"small": 129}}, "too-many-values", "type tinyint does not have 129"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(about, condition, said):
    with pytest.raises(BindError) as refused:
        windrow.generate(SCHEMA, **about).source()
    assert refused.value.condition == condition
    assert said in refused.value.sentence


def test_a_small_type_has_as_many_values_as_it_can():
    found = {row["small"] for row in rows(rows=5_000)}
    assert found == set(range(128))
    assert {row["small"] for row in rows(rows=500, distinct={"small": 3})} == {0, 1, 2}


def test_rows_may_be_none_at_all_and_begin_anywhere():
    assert rows(rows=0) == []
    (first,) = rows(rows=1, begin="2020-05-01", seed=(1 << 128) - 1)
    assert first["ts"].isoformat() == "2020-05-01T00:00:00+00:00"
