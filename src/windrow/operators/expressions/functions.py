"""The user's functions, called on arrays; whatever goes wrong in one is told by its name."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.errors import BindError, DataError
from windrow.operators.columns.arrow_types import VALUE_TYPES, arrow_type, conform, spark_type
from windrow.plan.functions import UserFunction


def user_function(
    name: str,
    body: Callable[..., Any],
    arguments: Sequence[str] | None,
    returns: str | None,
    *,
    vectorized: bool,
    partial_order: bool = False,
) -> UserFunction:
    """A function as the user registers it, its types checked and spelled in one way."""
    types = None if arguments is None else tuple(_spelled(name, type_) for type_ in arguments)
    value = returns
    if value is None:
        value = "tinyint" if partial_order else "boolean"
    return UserFunction(name, body, types, _spelled(name, value), vectorized, partial_order)


def _spelled(function: str, type_: str) -> str:
    try:
        return spark_type(arrow_type(type_))
    except BindError as error:
        raise BindError(
            "unsupported-type",
            f"{type_!r} is not a type that the function {function} can take or give",
            hint=f"one of {', '.join(VALUE_TYPES)}",
        ) from error


def call_function(function: UserFunction, arguments: Sequence[pa.Array], rows: int) -> pa.Array:
    """The function's value for each row, in its declared type.

    `rows` says how many values there are to be: without arguments nothing else does.

    Raises:
        DataError: the function raised, or gave too few or too many values, or other ones.
    """
    target = arrow_type(function.returns)
    if not rows:
        return pa.array([], target)
    try:
        if function.is_vectorized:
            answer = function.body(*arguments)
        else:
            # Arguments come as Python values, NULL as None.
            values = zip(*(array.to_pylist() for array in arguments), strict=True)
            each = values if arguments else ((),) * rows
            answer = [function.body(*value) for value in each]
    except Exception as error:
        raise _failed(function, error) from error
    array = _as_array(function, answer, target)
    if len(array) != rows:
        raise DataError(
            "function-length",
            f"the function {function.name} gave {len(array)} values for {rows} rows",
            reason="a vectorized function gives one value per row, NULL where it has none",
            hint="return an Arrow array as long as its arguments, or register the function"
            " with vectorized=False",
        )
    return _in_type(function, array, target)


def _as_array(function: UserFunction, answer: Any, target: pa.DataType) -> pa.Array:
    if isinstance(answer, pa.ChunkedArray):
        return answer.combine_chunks()
    if isinstance(answer, pa.Array):
        return answer
    if isinstance(answer, np.ndarray) and answer.ndim == 1:
        return pa.array(answer)
    if function.is_vectorized:
        raise _other_type(function, f"a {type(answer).__name__}", "an Arrow or numpy array")
    try:
        return pa.array(answer, target)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        wrong = ", ".join(sorted({type(value).__name__ for value in answer if value is not None}))
        raise _other_type(function, f"values of {wrong}", function.returns) from error


def _in_type(function: UserFunction, array: pa.Array, target: pa.DataType) -> pa.Array:
    """The values in their canonical type; other types of the same values are taken too."""
    if array.type == target:
        return array
    if pa.types.is_null(array.type):
        return array.cast(target)
    try:
        is_same = spark_type(array.type) == function.returns
    except BindError:
        is_same = False
    if not is_same:
        raise _other_type(function, f"an array of {array.type}", function.returns)
    return conform(array, target, function.name)


def _failed(function: UserFunction, error: Exception) -> DataError:
    frames = traceback.extract_tb(error.__traceback__)[1:]
    place = f" in line {frames[-1].lineno} of {frames[-1].filename}" if frames else ""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return DataError(
        "function-failed",
        f"the function {function.name} raised {said}",
        reason=f"it was raised{place}" if place else "",
        hint="a function gives a value for every row; NULLs come as they are",
    )


def _other_type(function: UserFunction, given: str, wanted: str) -> DataError:
    return DataError(
        "function-type",
        f"the function {function.name} gave {given}, not {wanted}",
        hint=f"return {wanted}, or register it with the type that it returns:"
        f" function({function.name!r}, .., returns=..)",
    )
