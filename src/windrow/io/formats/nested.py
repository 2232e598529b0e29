"""Arrays within arrays: the values of structs and lists, and a conversion of each part of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


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


def by_parts(
    array: pa.Array, target: pa.DataType, leaf: Callable[[pa.Array, pa.DataType], pa.Array]
) -> pa.Array:
    """An array of structs and lists as another of the same shape, its values converted by `leaf`."""
    if array.type == target:
        return array
    if pa.types.is_struct(target):
        parts = [
            by_parts(array.field(n), target.field(n).type, leaf) for n in range(target.num_fields)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(target), mask=array.is_null())
    if pa.types.is_list(target):
        return listed(array, by_parts(array.flatten(), target.value_type, leaf), target)
    return leaf(array, target)


def with_parts(arrow: pa.DataType, changed: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A struct or a list with other types within."""
    if pa.types.is_struct(arrow):
        parts = [arrow.field(n) for n in range(arrow.num_fields)]
        return pa.struct([own.with_type(changed(own.type)) for own in parts])
    return pa.list_(arrow.value_field.with_type(changed(arrow.value_type)))
