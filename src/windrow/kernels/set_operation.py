"""DISTINCT and set operations: how many copies of a row are in the output, version by version.

Per key (a row by its values) and input the number of copies is kept: f_s(t) and f_r(t) of the
paper's frequency tables F_S and F_R, here n and m. How many copies are in the output (the paper's
DL and O_S) follows from these two alone:

    distinct, union     1 if n + m > 0               changes          n
    except              1 if n > 0 and m = 0         except all       max(0, n - m)
    intersect           1 if n > 0 and m > 0         intersect all    min(n, m)

What differs from version to version is put out. The four cases of section 4.1, by EXCEPT ALL:

    1   + in, + out     a copy comes to S that R has none for       (steps 21 to 27)
    2   + in, - out     a copy comes to R: one of S is invalid      (steps 28 to 35)
    3   - in, + out     a copy leaves R: one of S is there again    (steps 12 to 19)
    4   - in, - out     a copy leaves S that was in the output      (steps 2 to 11)

Algorithm 4.2 tells them apart by f_s > f_r before or after an update, which as printed fails for
equal numbers of copies, and picks the tuple that takes another's place in O_S. Copies of a row are
alike, so that here a number says it all; the same holds for algorithm 4.1, whose step 7 puts a
duplicate in the place of the tuple that expires: n goes from 2 to 1, and nothing is put out.

A version costs its events, however much the windows hold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.fetch import AHEAD, fetch
from windrow.kernels.jit import kernel
from windrow.kernels.versions import OPENING, VersionChanges, Versions

UNION, EXCEPT, EXCEPT_ALL, INTERSECT, INTERSECT_ALL, CHANGES = 0, 1, 2, 3, 4, 5


@kernel
def slide_copies(
    versions: Versions, inputs: NDArray[np.int8], copies: NDArray[np.int64], operation: int
) -> tuple[NDArray[np.int64], bool]:
    """How many copies of its key each version has in the output.

    Args:
        versions: as `versions_of` gives them, a slot per key.
        inputs: per row, 0 if it is one of S, 1 if it is one of R.
        copies: per slot, the copies that S and R hold; left as the last version has them.
        operation: which number of copies follows from these two.

    Returns:
        The copies, and whether no input held less than none at any version.
    """
    total = len(versions.slots)
    outputs = np.empty(total, np.int64)
    is_sound = True
    for version in range(total):
        if version + AHEAD < total:
            fetch(copies, versions.slots[version + AHEAD], 0)
        slot = versions.slots[version]
        for event in range(versions.first_event[version], versions.first_event[version + 1]):
            copies[slot, inputs[versions.event_rows[event]]] += versions.event_signs[event]
        n, m = copies[slot, 0], copies[slot, 1]
        is_sound = is_sound and n >= 0 and m >= 0
        outputs[version] = _output(operation, n, m)
    return outputs, is_sound


@kernel
def _output(operation: int, n: int, m: int) -> int:
    if operation == UNION:
        return 1 if n + m > 0 else 0
    if operation == EXCEPT:
        return 1 if n > 0 and m == 0 else 0
    if operation == EXCEPT_ALL:
        return max(0, n - m)
    if operation == INTERSECT:
        return 1 if n > 0 and m > 0 else 0
    if operation == INTERSECT_ALL:
        return min(n, m)
    return n


@kernel
def copies_changed(versions: Versions, outputs: NDArray[np.int64]) -> VersionChanges:
    """The changelog, a change per copy: instants ascend, within one deletes come before inserts."""
    count = len(versions.slots)
    total = 0
    for version in range(count):
        before = versions.previous[version]
        if before != OPENING:
            total += abs(outputs[version] - outputs[before])
    shown = np.empty(total, np.int64)
    times = np.empty(total, np.int64)
    signs = np.empty(total, np.int8)
    out = 0
    start = 0
    while start < count:
        time = versions.times[start]
        stop = start
        while stop < count and versions.times[stop] == time:
            stop += 1
        for sign in (-1, 1):
            for version in range(start, stop):
                before = versions.previous[version]
                if before == OPENING:
                    continue
                for _ in range(sign * (outputs[version] - outputs[before])):
                    shown[out], times[out], signs[out] = version, time, sign
                    out += 1
        start = stop
    return VersionChanges(shown, times, signs)
