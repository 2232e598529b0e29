"""Key directories against a plain dict, with good hashes and with bad ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.columns import key_directory
from windrow.operators.columns.key_columns import KeyWords, key_words
from windrow.operators.columns.key_directory import KeyDirectory, as_shown

NAN = float("nan")


def weak_words(columns, *, nulls_match):
    """Two words for all keys: whatever is told apart is told apart by value."""
    good = key_words(columns, nulls_match=nulls_match)
    return KeyWords(good.words & np.uint64(1), good.valid, exact=False)


@pytest.fixture(params=["good hash", "weak hash"])
def hashing(request, monkeypatch):
    if request.param == "weak hash":
        monkeypatch.setattr(key_directory, "key_words", weak_words)


@pytest.mark.usefixtures("hashing")
def test_equal_keys_share_a_slot_and_others_do_not():
    directory = KeyDirectory()
    names = pa.array(["a", None, "b", "a", None, "c"])
    numbers = pa.array([1, 1, 1, 1, 1, None])
    assert directory.slots_of([names, numbers]).tolist() == [0, 1, 2, 0, 1, 3]
    assert directory.slots_of([pa.array(["c", "d", None]), pa.array([None, 1, 1])]).tolist() == [
        3,
        4,
        1,
    ]
    assert len(directory) == directory.slot_count == 5
    shown = [column.to_pylist() for column in directory.keys_of(np.array([3, 1]))]
    assert shown == [["c", None], [None, 1]]


@pytest.mark.usefixtures("hashing")
def test_floats_are_one_key_where_they_are_equal_and_zero_is_shown_without_a_sign():
    directory = KeyDirectory()
    column = pa.array([-0.0, 0.0, NAN, None, -NAN, 1.5])
    zero, other_zero, nan, null, other_nan, number = directory.slots_of([column]).tolist()
    assert (zero, nan) == (other_zero, other_nan)
    assert {zero, nan, null, number} == {0, 1, 2, 3}
    assert str(directory.keys_of(np.array([zero]))[0][0].as_py()) == "0.0"


def test_a_value_whose_word_is_that_of_null_is_another_key():
    null_word = key_words([pa.array([None], pa.int64())], nulls_match=True).words.view(np.int64)
    directory = KeyDirectory()
    assert directory.slots_of([pa.array([None], pa.int64())]).tolist() == [0]
    assert directory.slots_of([pa.array(null_word)]).tolist() == [1]


@pytest.mark.usefixtures("hashing")
def test_slots_given_up_are_used_again_the_least_first():
    directory = KeyDirectory()
    directory.slots_of([pa.array(list("abcde"))])
    directory.release(np.array([3, 1]))
    assert len(directory) == 3
    assert directory.slots_in_use().tolist() == [0, 2, 4]
    assert directory.slots_of([pa.array(["b", "x", "y", "e"])]).tolist() == [1, 3, 5, 4]


def test_slots_at_the_end_are_forgotten():
    directory = KeyDirectory()
    directory.slots_of([pa.array(range(1_000))])
    before = directory.nbytes
    directory.release(np.arange(3, 1_000))
    assert directory.slot_count == 3
    assert directory.nbytes < before / 50
    assert directory.slots_of([pa.array([2, 7, 0])]).tolist() == [2, 3, 0]


def test_a_directory_stays_small_while_keys_pass_through():
    directory = KeyDirectory()
    for start in range(0, 50_000, 500):
        slots = directory.slots_of([pa.array(range(start, start + 500))])
        directory.release(slots)
    assert len(directory) == 0
    assert directory.nbytes < 20_000


OPERATIONS = st.lists(
    st.one_of(
        st.lists(st.one_of(st.none(), st.sampled_from("abcdefgh")), max_size=6),
        st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=4),
    ),
    max_size=12,
)


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(OPERATIONS, st.booleans())
def test_any_history_agrees_with_a_dict_and_survives_a_restart(operations, weak):
    with pytest.MonkeyPatch.context() as patch:
        if weak:
            patch.setattr(key_directory, "key_words", weak_words)
        directory, known = KeyDirectory(), {}
        for operation in operations:
            if isinstance(operation, set):
                gone = [known.pop(key) for key in sorted(operation) if key in known]
                directory.release(np.array(gone, np.int64))
            else:
                _look_up(directory, known, operation)
            in_use = directory.slots_in_use()
            assert in_use.tolist() == sorted(known.values())
            if known:
                directory = KeyDirectory(in_use, directory.keys_of(in_use))


def _look_up(directory, known, keys):
    """Known keys have their slot; the new ones share out the least slots that are free."""
    new = {key for key in keys if key not in known}
    free = [slot for slot in range(100) if slot not in known.values()]
    slots = directory.slots_of([pa.array(keys, pa.string())]).tolist()
    known |= {key: slot for key, slot in zip(keys, slots, strict=True) if key in new}
    assert slots == [known[key] for key in keys]
    assert sorted(known[key] for key in new) == free[: len(new)]


def test_negative_zero_is_shown_as_zero_inside_nested_values():
    kind = pa.struct([("x", pa.float32()), ("y", pa.list_(pa.float64()))])
    values = [{"x": -0.0, "y": [-0.0, None]}, None, {"x": None, "y": None}]
    shown = as_shown(pa.array([*values, values[0]], kind).slice(1)).to_pylist()
    assert shown[:2] == [None, {"x": None, "y": None}]
    assert repr(shown[2]) == "{'x': 0.0, 'y': [0.0, None]}"


@pytest.mark.usefixtures("hashing")
def test_finding_keys_adds_none():
    directory = KeyDirectory()
    assert directory.find([pa.array(["a", None])]).tolist() == [-1, -1]
    a, b, null = directory.slots_of([pa.array(["a", "b", None])]).tolist()
    found = directory.find([pa.array(["c", "b", None, "a", "b"])])
    assert found.tolist() == [-1, b, null, a, b]
    assert len(directory) == 3
