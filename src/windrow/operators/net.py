"""Changes made net: what is deleted and inserted at one instant is no change.

An aggregate's own changes are net. Where the answer shows less of a row than the aggregate has
(`SELECT store .. HAVING COUNT(*) > 2`), two versions may look alike, and this takes them out.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.operators.changes import ChangeBatch
from windrow.operators.key_directory import KeyDirectory


def net_changes(rows: ChangeBatch) -> ChangeBatch:
    """The rows without those that a row of the other sign, equal and at one instant, undoes."""
    signs = rows.signs_or_insert()
    slots = KeyDirectory().slots_of([pa.array(rows.times), *rows.columns.columns])
    net = np.zeros(len(rows), np.int64)
    np.add.at(net, slots, signs)
    keeps = np.zeros(len(rows), np.bool_)
    for sign in (1, -1):
        of_sign = np.flatnonzero(signs == sign)
        # The first so many rows of a kind stay as its net number says.
        order = of_sign[np.argsort(slots[of_sign], kind="stable")]
        _, starts = np.unique(slots[order], return_index=True)
        number = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
        allowed = np.maximum(net * sign, 0)
        keeps[order] = number < allowed[slots[order]]
    return rows if keeps.all() else rows.take(np.flatnonzero(keeps))
