"""Signs of rows and what users call them: whether a change makes a row come or go.

A row that is part of an update carries its sign twice over, up to the answer.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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
