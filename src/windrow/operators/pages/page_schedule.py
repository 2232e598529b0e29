"""Which page is read when, so that all pairs of pages that can meet are in memory together.

One buffer is for a left page, m - 1 are for right pages (bestmatch paper, section 3.3.2).

gallop     left page by left page, each with all right pages that it meets; the right page that was
           used longest ago makes room. Reads every page once, as long as what a left page meets fits
           into the buffers; else each left page reads all of them anew.
crabstep   as gallop, until a left page meets more right pages than there are buffers. Then those in
           memory are pinned, the later left pages come by one after the other and are compared with
           them, all buffers are freed, and it goes on with the left page where it stopped:

               right    1 2 3 | 4 5            left 2 stops before right 4; left 3, 4, 5 come by for
           left 2       x x x | . .            the pinned 1, 2, 3; then it goes on at (2, 4)
           left 3       x x x | . .
           left 4       . x x | . .

Either is counted without reading anything, from the pairs of pages alone: the cheaper one is run.
Crabstep can be the dearer one: where left 1 meets right 1 to 4 and left 2 meets 3 and 4, with four
buffers, gallop reads 6 pages and crabstep 8.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

GALLOP, CRABSTEP, CHEAPER = "gallop", "crabstep", "cheaper"
MODES = (CHEAPER, GALLOP, CRABSTEP)

Column = tuple[int, list[int]]
"""A left page and the right pages that it must be compared with."""


@dataclass(frozen=True)
class Visit:
    """A left page in memory.

    Attributes:
        left: the left page, read for this visit.
        pairs: the right pages it is compared with, in this order: the page, its buffer, and whether
            it is read for it.
    """

    left: int
    pairs: list[tuple[int, int, bool]] = field(default_factory=list)


@dataclass(frozen=True)
class Schedule:
    """Visits in their order."""

    mode: str
    visits: list[Visit]

    @property
    def reads(self) -> int:
        """The pages that it reads."""
        return len(self.visits) + self.right_reads

    @property
    def right_reads(self) -> int:
        """The right pages among them: all, where the left ones are in memory."""
        return sum(is_read for visit in self.visits for _, _, is_read in visit.pairs)

    @property
    def buffers(self) -> int:
        """The buffers that it uses, that for left pages included."""
        used = [buffer for visit in self.visits for _, buffer, _ in visit.pairs]
        return max(used) + 2 if used else 0


class _Buffers:
    """The right pages in memory, that used longest ago first."""

    def __init__(self, size: int) -> None:
        self.held: OrderedDict[int, int] = OrderedDict()
        self._free = list(range(size))[::-1]

    def compare(self, visit: Visit, right: int) -> None:
        """Notes a comparison; the right page is read unless it is there."""
        is_read = right not in self.held
        if is_read:
            self.held[right] = self._free.pop() if self._free else self._of_oldest(())
        self.held.move_to_end(right)
        visit.pairs.append((right, self.held[right], is_read))

    def has_room(self, right: int, interval: Collection[int]) -> bool:
        """Whether a page is there, or can be without any of an interval being given up."""
        if right in self.held or self._free:
            return True
        if all(held in interval for held in self.held):
            return False
        self._free.append(self._of_oldest(interval))
        return True

    def _of_oldest(self, interval: Collection[int]) -> int:
        oldest = next(page for page in self.held if page not in interval)
        return self.held.pop(oldest)


def gallop(columns: Sequence[Column], buffers: int) -> Schedule:
    """The schedule in gallop mode; `buffers` counts those for right pages."""
    held = _Buffers(buffers)
    visits = []
    for left, rights in columns:
        visit = Visit(left)
        for right in rights:
            held.compare(visit, right)
        visits.append(visit)
    return Schedule(GALLOP, visits)


def crabstep(columns: Sequence[Column], buffers: int) -> Schedule:
    """The schedule in crabstep mode; `buffers` counts those for right pages."""
    waiting = [(left, list(rights)) for left, rights in columns]
    visits: list[Visit] = []
    while waiting:
        held = _Buffers(buffers)
        stopped = _gallop_until_full(waiting, held, visits)
        if stopped is None:
            break
        for left, rights in waiting[stopped + 1 :]:
            if any(right in held.held for right in rights):
                visit = Visit(left)
                _compare_held(visit, rights, held)
                visits.append(visit)
        waiting = [column for column in waiting[stopped:] if column[1]]
    return Schedule(CRABSTEP, visits)


def _gallop_until_full(
    waiting: Sequence[Column], held: _Buffers, visits: list[Visit]
) -> int | None:
    """Gallops; where some left page has not enough buffers, gives its place in what waits."""
    for place, (left, rights) in enumerate(waiting):
        visit = Visit(left)
        visits.append(visit)
        interval = set(rights)
        for done, right in enumerate(rights):
            if not held.has_room(right, interval):
                del rights[:done]
                _compare_held(visit, rights, held)
                return place
            held.compare(visit, right)
        rights.clear()
    return None


def _compare_held(visit: Visit, rights: list[int], held: _Buffers) -> None:
    """Compares a left page with those of its right pages that are in memory."""
    here = [right for right in rights if right in held.held]
    for right in here:
        held.compare(visit, right)
    rights[:] = [right for right in rights if right not in held.held]


def cheaper(columns: Sequence[Column], buffers: int, *, are_left_held: bool = False) -> Schedule:
    """The schedule that reads fewer pages; gallop, where both read as many.

    Args:
        columns: the left pages and what they meet.
        buffers: those for right pages.
        are_left_held: whether left pages are in memory, and not read.
    """
    galloping = gallop(columns, buffers)
    if len({right for _, rights in columns for right in rights}) <= buffers:
        return galloping  # every page is read once
    stepping = crabstep(columns, buffers)
    if are_left_held:
        return stepping if stepping.right_reads < galloping.right_reads else galloping
    return stepping if stepping.reads < galloping.reads else galloping


SCHEDULERS: dict[str, Callable[[Sequence[Column], int], Schedule]] = {
    GALLOP: gallop,
    CRABSTEP: crabstep,
    CHEAPER: cheaper,
}
