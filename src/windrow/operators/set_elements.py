"""Arrays as sets: the elements of two columns as numbers, NULL elements left out.

one      ["a", NULL, "b"]  ["b"]          owners 0 0 1      codes 0 1 1
other    []  [NULL, "b", "b"]             owners 1 1        codes 1 1        dictionary a b
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class Elements(NamedTuple):
    """The elements of a column of arrays, in order: whose each is, and which."""

    owners: Numbers
    codes: Numbers


def coded_elements(one: pa.Array, other: pa.Array) -> tuple[Elements, Elements, pa.Array]:
    """The elements of two columns of arrays, none of them NULL, and what their codes stand for."""
    elements = pa.concat_arrays([one.flatten(), other.flatten()])
    if pa.types.is_floating(elements.type):
        elements = pc.add(elements, pa.scalar(0.0, elements.type))  # -0.0 is 0.0
    encoded = elements.dictionary_encode()
    is_value = encoded.indices.is_valid().to_numpy(zero_copy_only=False)
    codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    sides, start = [], 0
    for column in (one, other):
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        owners = np.repeat(np.arange(len(column)), lengths)
        own = slice(start, start + len(owners))
        sides.append(Elements(owners[is_value[own]], codes[own][is_value[own]]))
        start = own.stop
    return sides[0], sides[1], encoded.dictionary
