"""Which right row each left row of an as-of join takes, and until when one without must wait.

All right rows below the bound B have come; those to come are at B or later:

                                 t(l)          B
    backward   ...r......r-------|             |        the last one; nothing to come can be better
    forward                      |-------r     |        the first one, if there is one
    forward                      |-------------|--?     none yet: waits, up to t(l) + tolerance
    nearest    ...r----d---------|----d----]   |        what comes is farther away than r: r it is
    nearest    .......r---d------|-------------|--?]    what comes next may be nearer than r: waits

A left row that waits is final as soon as the watermark is beyond its *deadline*: the last time at
which a right row would be a better match than what it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.asof import NOTHING, Timed, newest_at
from windrow.kernels.jit import writable
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from windrow.plan.nodes.asof_join import AsofMatch

Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

NEVER = MAX_TICK - 1
"""The deadline of a row that waits for as long as there is input: the last time that a row has."""


@dataclass(frozen=True)
class Candidates:
    """Right rows that may be matches, in the places by which they are called.

    Attributes:
        swept: those that came since the last step, in time order: places 0, 1, ..
        times: the time of every candidate, swept ones first, and one more, which NOTHING reads.
        newest: per slot, the place of the last one that came before, or NOTHING; once matches are
            found, the last of all.
    """

    swept: Timed
    times: NDArray[np.int64]
    newest: Places


@dataclass(frozen=True)
class Waited:
    """Which left rows have waited, and per row the place of its match before it, or NOTHING.

    That match was found as the row began to wait. Rows that came since are after it.
    """

    is_waiting: Flags
    earlier: Places


@dataclass(frozen=True)
class Matches:
    """Per left row the place of its match, or NOTHING, and until when it waits for a better one.

    `deadlines` is None where no row waits for anything.
    """

    places: Places
    deadlines: NDArray[np.int64] | None


def find_matches(match: AsofMatch, left: Timed, candidates: Candidates, waited: Waited) -> Matches:
    """The matches of left rows in time order."""
    if match.direction == "backward":
        before = newest_at(left, candidates.swept, candidates.newest, match.is_strict)
        return Matches(_within(match, left, candidates, before), None)
    after = _first_after(
        left, candidates, is_strict=match.direction != "forward" or match.is_strict
    )
    after = _within(match, left, candidates, after)
    if match.direction == "forward":
        waits = np.full(len(after), NEVER if match.tolerance is None else match.tolerance)
        return Matches(after, _until(left.times, waits, after != NOTHING))
    before = newest_at(left, candidates.swept, candidates.newest, match.is_strict)
    before = np.where(waited.is_waiting, waited.earlier, before)
    before = _within(match, left, candidates, before)
    return _nearest(match, left, candidates, before, after)


def _first_after(left: Timed, candidates: Candidates, *, is_strict: bool) -> Places:
    """Per left row, the first swept row at or after it: the last one, with time turned around."""
    swept = candidates.swept
    nothing = np.full(len(candidates.newest), NOTHING)
    found = newest_at(_turned(left), _turned(swept), nothing, is_strict)[::-1]
    return np.where(found == NOTHING, NOTHING, len(swept.times) - 1 - found)


def _turned(rows: Timed) -> Timed:
    return Timed(writable(-rows.times[::-1]), writable(rows.slots[::-1]))


def _nearest(
    match: AsofMatch, left: Timed, candidates: Candidates, before: Places, after: Places
) -> Matches:
    """Of the matches before and after a row the nearer one, the earlier of two equally far."""
    back = np.where(before == NOTHING, MAX_TICK, _gaps(left.times, candidates.times[before]))
    ahead = np.where(after == NOTHING, MAX_TICK, _gaps(candidates.times[after], left.times))
    places = np.where(back <= ahead, before, after)
    # What comes must be nearer than the one before: one tick less far at least.
    waits = np.minimum(back - 1, NEVER if match.tolerance is None else match.tolerance)
    return Matches(places, _until(left.times, waits, after != NOTHING))


def _within(match: AsofMatch, left: Timed, candidates: Candidates, found: Places) -> Places:
    """The matches that are not farther away than the tolerance."""
    if match.tolerance is None:
        return found
    times = candidates.times[found]
    gaps = _gaps(np.maximum(times, left.times), np.minimum(times, left.times))
    return np.where((found != NOTHING) & (gaps <= match.tolerance), found, NOTHING)


def _until(
    times: NDArray[np.int64], waits: NDArray[np.int64], is_final: Flags
) -> NDArray[np.int64]:
    """The times so many ticks later, NEVER at most; of a row that is final, its own time."""
    room = _gaps(np.full(len(times), NEVER), np.minimum(times, NEVER))
    return np.where(is_final, times, times + np.minimum(np.maximum(waits, 0), room))


def _gaps(later: NDArray[np.int64], earlier: NDArray[np.int64]) -> NDArray[np.int64]:
    """Later - earlier, which may take 64 bits: MAX_TICK where it does."""
    gaps = later.view(np.uint64) - earlier.view(np.uint64)
    return np.minimum(gaps, np.uint64(MAX_TICK)).astype(np.int64)
