"""Words and equality of keys, against Python's own values."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import UnsupportedError
from windrow.operators.columns import key_columns
from windrow.operators.columns.key_columns import equal_values, key_words, mixed_words

whole = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)
real = st.floats() | st.sampled_from([0.0, -0.0, math.nan, math.inf])
text = st.text(max_size=20) | st.sampled_from(["", "a", "aaaaaaaa", "aaaaaaaaa"])
moment = st.datetimes()
small_decimal = st.decimals(-999, 999, places=2)
wide_decimal = st.integers(-(10**30), 10**30).map(lambda n: Decimal(n).scaleb(-2))

COLUMNS = {
    "boolean": (pa.bool_(), st.booleans()),
    "tinyint": (pa.int8(), st.integers(-128, 127)),
    "bigint": (pa.int64(), whole),
    "unsigned": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "double": (pa.float64(), real),
    "float": (pa.float32(), st.floats(width=32)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us"), moment),
    "decimal": (pa.decimal128(18, 2), small_decimal),
    "wide decimal": (pa.decimal128(38, 2), wide_decimal),
    "huge decimal": (pa.decimal256(60, 2), wide_decimal),
    "string": (pa.string(), text),
    "large string": (pa.large_string(), text),
    "string view": (pa.string_view(), text),
    "binary": (pa.binary(), st.binary(max_size=20)),
    "fixed binary": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), text),
    "list": (pa.list_(pa.float64()), st.lists(real | st.none(), max_size=3)),
    "fixed list": (pa.list_(pa.int64(), 2), st.lists(whole, min_size=2, max_size=2)),
    "list of lists": (
        pa.list_(pa.list_(pa.string())),
        st.lists(st.lists(text, max_size=2) | st.none(), max_size=2),
    ),
    "struct": (
        pa.struct([("x", pa.int64()), ("y", pa.string())]),
        st.fixed_dictionaries({"x": st.integers(0, 2) | st.none(), "y": text | st.none()}),
    ),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3).flatmap(
            lambda entries: st.permutations(list(entries.items()))
        ),
    ),
}
EXACT = {
    "boolean", "tinyint", "bigint", "unsigned", "double", "float", "date", "timestamp", "decimal",
}  # fmt: skip


@st.composite
def columns(draw, kind: str, rows: int) -> pa.Array:
    """A column of some kind, cut out of a longer one, with NULLs and repeated values."""
    type_, values = COLUMNS[kind]
    before, after = draw(st.integers(0, 9)), draw(st.integers(0, 2))
    pool = draw(st.lists(values | st.none(), min_size=1, max_size=4))
    size = before + rows + after
    picks = draw(st.lists(st.integers(0, len(pool) - 1), min_size=size, max_size=size))
    return pa.array([pool[pick] for pick in picks], type_).slice(before, rows)


def canonical(value: object) -> object:
    """Equal exactly when Windrow says that two values are."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return tuple((name, canonical(item)) for name, item in value.items())
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):  # a map's entries
            return tuple(sorted((k, canonical(v)) for k, v in value))
        return tuple(canonical(item) for item in value)
    return value


@pytest.mark.law
@pytest.mark.parametrize("kind", COLUMNS)
def test_words_and_equality_agree_with_python_values(kind):
    @settings(max_examples=share_of(30), deadline=None, derandomize=True)
    @given(st.data())
    def check(data):
        rows = data.draw(st.integers(0, 12))
        left, right = data.draw(columns(kind, rows)), data.draw(columns(kind, rows))
        left_values = [canonical(value) for value in left.to_pylist()]
        right_values = [canonical(value) for value in right.to_pylist()]
        same = [a == b for a, b in zip(left_values, right_values, strict=True)]
        assert equal_values(left, right).tolist() == same

        left_words = key_words([left], nulls_match=False)
        right_words = key_words([right], nulls_match=False)
        assert left_words.exact == (kind in EXACT)
        if left_words.valid is not None:
            assert left_words.valid.tolist() == [value is not None for value in left_values]
        # Different values have different words too: a 64-bit hash does not collide here.
        for a, a_word in zip(left_values, left_words.words, strict=True):
            for b, b_word in zip(right_values, right_words.words, strict=True):
                if a is not None and b is not None:
                    assert (a_word == b_word) == (a == b)

    check()


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(st.data())
def test_composite_keys_agree_with_tuples_of_values(data):
    kinds = data.draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=2, max_size=3))
    rows = data.draw(st.integers(1, 10))
    parts = [data.draw(columns(kind, rows)) for kind in kinds]
    keys = key_words(parts, nulls_match=True)
    assert keys.valid is None
    assert not keys.exact
    values = list(zip(*[[canonical(v) for v in part.to_pylist()] for part in parts], strict=True))
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            assert (keys.words[i] == keys.words[j]) == (a == b)


def test_null_keys_that_match_each_other_are_not_exact():
    keys = key_words([pa.array([1, None, 3])], nulls_match=True)
    assert keys.valid is None
    assert not keys.exact
    assert key_words([pa.array([1, 2, 3])], nulls_match=True).exact


def test_null_keys_that_never_match_are_not_valid():
    keys = key_words([pa.array([1, None, 3]), pa.array(["a", "b", None])], nulls_match=False)
    assert keys.valid is not None
    assert keys.valid.tolist() == [True, False, False]


def test_words_are_the_same_in_every_process_and_for_ever():
    # Rows are routed by these words between machines and releases: they must not change.
    expected = {
        "text": 5878924108916043853,
        "pair": 2220877797665531845,
        "mixed": 10451216379200822465,
    }
    program = """
import numpy as np, pyarrow as pa
from windrow.operators.columns.key_columns import key_words, mixed_words
word = lambda *columns: int(key_words(columns, nulls_match=False).words[0])
print({
    "text": word(pa.array(["dddddddddddddd"])),
    "pair": word(pa.array(["a"]), pa.array([1])),
    "mixed": int(mixed_words(np.array([1], np.uint64))[0]),
})
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == str(expected)


def test_mixing_spreads_consecutive_keys_evenly():
    words = key_words([pa.array(range(100_000))], nulls_match=False).words
    counts = np.bincount((mixed_words(words) % np.uint64(4)).astype(int), minlength=4)
    assert counts.max() < 26_000


def test_maps_are_compared_by_entry_even_when_all_key_words_tie(monkeypatch):
    def tied(data, offsets):
        return np.zeros(len(offsets) - 1, np.uint64)

    monkeypatch.setattr(key_columns.kernels, "hashed_bytes", tied)
    kind = pa.map_(pa.string(), pa.int64())
    left = pa.array([[("a", 1), ("b", 2)], [("a", 1), ("b", 2)], [("a", 1)]], kind)
    right = pa.array([[("b", 2), ("a", 1)], [("b", 1), ("a", 2)], [("a", 1)]], kind)
    assert equal_values(left, right).tolist() == [True, False, True]


def test_a_key_type_without_equality_is_refused_by_name():
    union = pa.UnionArray.from_dense(
        pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]
    )
    with pytest.raises(UnsupportedError) as caught:
        key_words([union], nulls_match=False)
    assert str(caught.value) == (
        "UnsupportedError[key-type]: a column of type dense_union<0: int64=0> cannot be a key\n"
        "  its values have no equality that Windrow knows\n"
        "  hint: compare a number, a text, a time, or a struct, list or map of those"
    )


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_what_lies_below_a_null_is_not_computed_with(kind):
    width = kind.bit_width // 8
    signaling = {4: 0x7F800001, 8: 0x7FF0000000000001}[width]  # a NaN that tells of any arithmetic
    bits = np.array([signaling, 0], f"<u{width}")
    column = pa.Array.from_buffers(kind, 2, [pa.py_buffer(b"\x02"), pa.py_buffer(bits)])
    assert column.to_pylist() == [None, 0.0]
    assert (
        key_words([column], nulls_match=True).words[1]
        == key_words([pa.array([0.0], kind)], nulls_match=True).words[0]
    )
