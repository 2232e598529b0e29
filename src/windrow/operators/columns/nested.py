"""Arrays within arrays: structs, lists and maps made anew of their parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Convert: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]
"""Makes an array of another type."""


def leaves(array: pa.Array) -> Iterator[pa.Array]:
    """The values that an array is made of; those of a list without what lies behind a NULL.

    Examples:
        >>> [own.to_pylist() for own in leaves(pa.array([{"a": [1, 2], "b": "x"}]))]
        [[1, 2], ['x']]
    """
    kind = array.type
    if pa.types.is_struct(kind):
        for part in array.flatten():
            yield from leaves(part)
    elif pa.types.is_list(kind):
        yield from leaves(array.flatten())
    else:
        yield array


def listed(lengths_of: pa.Array, values: pa.Array, target: pa.DataType) -> pa.Array:
    """Lists as long as others, and NULL where these are, with other values."""
    lengths = pc.fill_null(pc.list_value_length(lengths_of), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])).cast(pa.int32())
    is_null = lengths_of.is_null()
    return pa.ListArray.from_arrays(offsets, values, type=target, mask=is_null)


def with_parts(array: pa.Array, target: pa.DataType, convert: Convert) -> pa.Array:
    """An array of structs, lists or maps as one of the same shape, each of its parts converted.

    A map may be given, or wanted, as the list of entries that it is.
    """
    if pa.types.is_struct(target):
        fields = list(target)
        parts = [convert(array.field(n), own.type) for n, own in enumerate(fields)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    if pa.types.is_map(array.type):
        array = array.cast(as_list(array.type))
    if pa.types.is_map(target):
        made = with_parts(array, as_list(target), convert)
        keys, items = made.values.field(0), made.values.field(1)
        return pa.MapArray.from_arrays(made.offsets, keys, items, type=target, mask=array.is_null())
    return listed(array, convert(array.flatten(), target.value_type), target)


def as_list(arrow: pa.DataType) -> pa.DataType:
    """A map as what it is below: a list of entries."""
    return pa.list_(pa.struct([("key", arrow.key_type), ("value", arrow.item_type)]))


def type_with_parts(
    arrow: pa.DataType, changed: Callable[[pa.DataType], pa.DataType]
) -> pa.DataType:
    """A struct, a list, or a map as a list, with other types within."""
    if pa.types.is_struct(arrow):
        return pa.struct([own.with_type(changed(own.type)) for own in arrow])
    if pa.types.is_map(arrow):
        arrow = as_list(arrow)
    return pa.list_(arrow.value_field.with_type(changed(arrow.value_type)))
