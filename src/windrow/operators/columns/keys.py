"""Keys of one or more columns, for the kernels and by value.

    one column of at most 8 bytes     the word is the value itself: equal words are equal keys
    anything else                     the word is a hash: equal words are candidates, and
                                      `equal_values` decides

Nothing ever matches by a hash alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels import key_words as kernels
from windrow.kernels.jit import writable
from windrow.operators.columns.equality import equal_values
from windrow.operators.columns.key_columns import KeyWords, Words, column_words

__all__ = ["KeyWords", "column_words", "combined", "equal_values", "key_words", "mixed_words"]


def key_words(columns: Sequence[pa.Array], *, nulls_match: bool) -> KeyWords:
    """The words of a key of one or more columns.

    Args:
        columns: the components, all of one length.
        nulls_match: whether NULL equals NULL; if not, a key with a NULL component is not valid.
    """
    parts = [column_words(column) for column in columns]
    whole = combined(parts)
    if whole.valid is None:
        return whole
    if nulls_match:
        return KeyWords(whole.words, None, exact=False)
    return whole


def combined(parts: Sequence[KeyWords]) -> KeyWords:
    """The words of a key from those of its components; valid where all are."""
    if len(parts) == 1:
        return parts[0]
    hashes = np.zeros(len(parts[0].words), np.uint64)
    valid: NDArray[np.bool_] | None = None
    for part in parts:
        kernels.chain_words(hashes, writable(part.words))
        if part.valid is not None:
            valid = part.valid if valid is None else valid & part.valid
    return KeyWords(hashes, valid, exact=False)


def mixed_words(words: Words) -> Words:
    """The words spread over all 64 bits, for cutting rows into buckets."""
    mixed: Words = kernels.mixed_words(writable(words))
    return mixed
