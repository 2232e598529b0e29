"""Keys whose hashes collide: operators have to tell them apart by their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.operators.columns import key_columns as keys

real_key_words = keys.key_words


def colliding_words(columns: Any, *, nulls_match: bool) -> keys.KeyWords:
    """Words that are the same for nearly every value; to patch `key_words` with."""
    words = real_key_words(columns, nulls_match=nulls_match)
    return keys.KeyWords(words.words % np.uint64(2), words.valid, exact=False)
