"""The kinds of changes, as users write them, to signs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.plan.changelogs import SIGNS, unknown_change
from windrow.schema import CHANGE_TYPE


def signs_of(kinds: pa.Array, column: str = CHANGE_TYPE) -> NDArray[np.int8]:
    """Whether each change makes a row come or go.

    Args:
        kinds: the changes.
        column: the name of the column that they stand in.

    Raises:
        DataError: a change is of no known kind.
    """
    places = pc.index_in(kinds, pa.array(list(SIGNS)))
    if places.null_count:
        raise unknown_change(kinds.filter(places.is_null())[0].as_py(), column)
    signs: NDArray[np.int8] = np.array(list(SIGNS.values()), np.int8)[places.to_numpy()]
    return signs
