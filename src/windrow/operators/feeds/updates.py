"""The kinds of changes: read to signs as users write them, and updates told apart for the answer.

An aggregate has one row per key at an instant, so that a row of it which goes as another comes is
one row that changes:

    instant    key      sign          shown as
    10:20      north    -1            update_preimage
    10:20      north    +1            update_postimage
    10:20      south    +1            insert

A row that is part of an update carries its sign twice over, from here to the answer alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.plan.changelogs import SIGNS, unknown_change
from windrow.schema import CHANGE_TYPE


def signs_of(kinds: pa.Array, column: str = CHANGE_TYPE) -> NDArray[np.int8]:
    """Whether each change makes a row come or go.

    Raises:
        DataError: a change is of no known kind.
    """
    places = pc.index_in(kinds, pa.array(list(SIGNS)))
    if places.null_count:
        raise unknown_change(kinds.filter(places.is_null())[0].as_py(), column)
    signs: NDArray[np.int8] = np.array(list(SIGNS.values()), np.int8)[places.to_numpy()]
    return signs


UPDATE = 2
"""What the sign of a row is multiplied by that is part of an update."""

CHANGE_TYPES = {
    -UPDATE: "update_preimage",
    -1: "delete",
    1: "insert",
    UPDATE: "update_postimage",
}
"""What `_change_type` says, by sign."""


def pair_updates(rows: ChangeBatch, keys: Sequence[str]) -> ChangeBatch:
    """The rows, with those marked of whose key one goes and one comes at one instant.

    Args:
        rows: all changes of the instants among them, net.
        keys: the columns that tell rows apart; none where there is one row at every instant.
    """
    signs = rows.signs_or_insert()
    of_key = [pa.array(rows.times), *(rows.columns.column(name) for name in keys)]
    slots = KeyDirectory().slots_of(of_key)
    has = {sign: np.zeros(len(rows), np.bool_) for sign in (1, -1)}
    for sign, marks in has.items():
        marks[slots[signs == sign]] = True
    is_update = (has[1] & has[-1])[slots]
    return replace(rows, signs=np.where(is_update, UPDATE * signs, signs).astype(np.int8))
