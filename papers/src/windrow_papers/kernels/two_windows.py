"""The sliding window join of Kang, Naughton and Viglas: two windows, each in a structure of its own.

    an arrival of A     probe window B        the matches are results
                        expire A's oldest     windows hold a number of tuples: one goes
                        insert into A         for each that comes

and the same with A and B exchanged. What the one window is kept in is nothing to the other.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel
from windrow.kernels.structures.store import HELD, NONE, Int64s, Store, has_room
from windrow.kernels.structures.window import entry_at, expire, first, following, grown, insert


class TwoWindows:
    """A join of two streams that runs."""

    def __init__(self, a: Store, b: Store) -> None:
        self.a = a
        self.b = b

    def take(self, sides: Int64s, keys: Int64s) -> int:
        """Joins arrivals, each of stream 0 or 1, in their order; gives how many matches they had."""
        done, found = _take_some(self.a, self.b, sides, keys, 0)
        while done < len(keys):
            if sides[done] == 0:
                self.a = grown(self.a)
            else:
                self.b = grown(self.b)
            done, more = _take_some(self.a, self.b, sides, keys, done)
            found += more
        return int(found)


@lean_kernel
def _take_some(a: Store, b: Store, sides: Int64s, keys: Int64s, start: int) -> tuple[int, int]:
    """Takes arrivals from one on while there is room; gives how many are taken, and the matches."""
    found, total = 0, 0
    for n in range(start, len(keys)):
        own, other = (a, b) if sides[n] == 0 else (b, a)
        if not has_room(own):
            return n, found
        key = keys[n]
        at = first(other, key, key)
        while at != NONE:
            found += 1
            total += entry_at(other, at)  # as a result would read it
            at = following(other, at, key, key)
        oldest = expire(own)
        insert(own, key, oldest + own.numbers[HELD] + 1)
    return len(keys), found if total >= 0 else NONE
