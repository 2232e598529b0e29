"""A change feed by following every row, in plain Python: slow, and plainly right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NEVER = 2**63 - 1


@dataclass
class Copy:
    """A row that has come: alive in [time, end), or until it is deleted."""

    values: Any
    time: int
    end: int
    deleted: int = NEVER

    def is_there(self, instant: int) -> bool:
        return self.time <= instant < min(self.end, self.deleted)


class NothingToDelete(Exception):
    """A delete of a row that cannot have been there."""


def copies(changes: list[tuple[int, int, Any]], ticks: int | None) -> list[Copy]:
    """Every row that comes, with when it goes, of changes (time, sign, values) in any order."""
    found: list[Copy] = []
    for instant in sorted({time for time, _, _ in changes}):
        now = [(sign, values) for time, sign, values in changes if time == instant]
        left = [v for sign, v in now if sign < 0 and not _delete(found, v, instant, NEVER)]
        for sign, values in now:
            if sign > 0:
                end = NEVER if ticks is None else instant + ticks + 1
                found.append(Copy(values, instant, end))
        first = min(time for time, _, _ in changes)
        if ticks is not None and first + ticks < instant:
            continue  # what the deletes are of may have left its window
        for values in left:
            if not _delete(found, values, instant, instant):
                raise NothingToDelete
    return found


def _delete(found: list[Copy], values: Any, instant: int, came: int) -> bool:
    """Deletes the newest equal row that is there; `came` is its time, NEVER for any."""
    for copy in reversed(found):
        if copy.values == values and copy.is_there(instant) and came in {NEVER, copy.time}:
            copy.deleted = instant
            return True
    return False


def alive_at(found: list[Copy], instant: int) -> list[tuple[Any, int]]:
    """(values, time) of the rows that are there."""
    return [(copy.values, copy.time) for copy in found if copy.is_there(instant)]
