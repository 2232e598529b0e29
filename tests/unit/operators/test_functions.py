"""Functions of the user's: called, checked, and blamed by name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from windrow.errors import BindError, DataError
from windrow.operators.expressions.functions import call_function, user_function
from windrow.plan.functions import UserFunction


def function(body, returns="boolean", *, is_vectorized=True) -> UserFunction:
    return UserFunction("own", body, ("int",), returns, is_vectorized)


NUMBERS = pa.array([1, None, 3], pa.int32())


def test_a_vectorized_function_sees_whole_arrays():
    answer = call_function(function(lambda x: pc.greater(x, 2)), [NUMBERS], 3)
    assert answer.to_pylist() == [False, None, True]


def test_a_scalar_function_sees_values_and_none_for_null():
    own = function(lambda x: x is None, is_vectorized=False)
    assert call_function(own, [NUMBERS], 3).to_pylist() == [False, True, False]


@pytest.mark.parametrize(
    "answer",
    [
        np.array([True, False, True]),
        pa.chunked_array([[True], [False, True]]),
        pa.array([True, False, True]).dictionary_encode(),
    ],
)
def test_other_forms_of_the_same_values_are_taken(answer):
    taken = call_function(function(lambda _: answer), [NUMBERS], 3)
    assert taken.type == pa.bool_()
    assert taken.to_pylist() == [True, False, True]


def test_an_array_of_nulls_is_of_any_type():
    taken = call_function(function(lambda x: pa.nulls(len(x)), "string"), [NUMBERS], 3)
    assert taken.type == pa.string()


def test_no_rows_call_nothing():
    assert len(call_function(function(lambda _: 1 / 0), [NUMBERS[:0]], 0)) == 0


def fails(_):
    message = "no such city"
    raise KeyError(message)


@pytest.mark.parametrize(
    ("own", "condition", "sentence"),
    [
        (function(fails), "function-failed", "the function own raised KeyError: 'no such city'"),
        (
            function(fails, is_vectorized=False),
            "function-failed",
            "the function own raised KeyError: 'no such city'",
        ),
        (
            function(lambda x: pc.greater(x[:2], 2)),
            "function-length",
            "the function own gave 2 values for 3 rows",
        ),
        (
            function(lambda x: x),
            "function-type",
            "the function own gave an array of int32, not boolean",
        ),
        (
            function(lambda _: True),
            "function-type",
            "the function own gave a bool, not an Arrow or numpy array",
        ),
        (
            function(lambda _: "yes", is_vectorized=False),
            "function-type",
            "the function own gave values of str, not boolean",
        ),
    ],
)
def test_what_goes_wrong_is_told_by_the_functions_name(own, condition, sentence):
    with pytest.raises(DataError) as caught:
        call_function(own, [NUMBERS], 3)
    assert caught.value.condition == condition
    assert caught.value.sentence == sentence


def test_the_place_in_the_users_file_is_named():
    with pytest.raises(DataError) as caught:
        call_function(function(fails), [NUMBERS], 3)
    assert "test_functions.py" in caught.value.reason


def test_types_are_spelled_in_one_way():
    own = user_function("own", len, ["integer", "DECIMAL(5, 2)"], "long", vectorized=True)
    assert own == UserFunction("own", len, ("int", "decimal(5,2)"), "bigint")


@pytest.mark.parametrize(("arguments", "returns"), [(["integr"], "boolean"), (None, "yes")])
def test_what_is_no_type_is_refused(arguments, returns):
    with pytest.raises(BindError) as caught:
        user_function("own", len, arguments, returns, vectorized=True)
    assert caught.value.condition == "unsupported-type"
