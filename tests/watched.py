"""Kernels run as plain Python, their comparisons of times watched: who makes them, who counts them.

Compiled code cannot be looked into. As Python, a kernel reads its times from a list of `Tick`s, and
adds to a list of counts; both note the function that did it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

SATURATING = ("plus", "minus")
"""They look for the end of the number range, not for the order of tuples."""


@dataclass
class Watch:
    """What was noted, by name of function.

    Attributes:
        reads: times read.
        comparisons: comparisons of times, with each other or with a period.
        counted: per function and counter, what it added.
    """

    reads: Counter[str] = field(default_factory=Counter)
    comparisons: Counter[str] = field(default_factory=Counter)
    counted: Counter[tuple[str, int]] = field(default_factory=Counter)


class Tick(int):
    """A time that notes when it is compared; so do the times made from it."""

    watch: Watch

    def __new__(cls, value: int, watch: Watch) -> Tick:
        """A time of a watch."""
        made = super().__new__(cls, value)
        made.watch = watch
        return made

    def __add__(self, other: Any) -> Tick:
        return Tick(int(self) + int(other), self.watch)

    def __sub__(self, other: Any) -> Tick:
        return Tick(int(self) - int(other), self.watch)

    def _noted(self, other: Any) -> int:
        caller = sys._getframe(2).f_code.co_name
        if caller not in SATURATING:
            self.watch.comparisons[caller] += 1
        return int(other)

    def __lt__(self, other: Any) -> bool:
        return int(self) < self._noted(other)

    def __le__(self, other: Any) -> bool:
        return int(self) <= self._noted(other)

    def __gt__(self, other: Any) -> bool:
        return int(self) > self._noted(other)

    def __ge__(self, other: Any) -> bool:
        return int(self) >= self._noted(other)

    __eq__ = int.__eq__
    __hash__ = int.__hash__


class Times(list[Tick]):
    """The times of a tape; reading one is noted."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        found.watch.reads[sys._getframe(1).f_code.co_name] += 1
        return found


class Work(list[int]):
    """The counts of a run; adding to one is noted."""

    def __init__(self, size: int, watch: Watch) -> None:
        super().__init__([0] * size)
        self._watch = watch

    def __setitem__(self, counter: Any, value: Any) -> None:
        caller = sys._getframe(1).f_code.co_name
        self._watch.counted[caller, counter] += value - self[counter]
        super().__setitem__(counter, value)


def interpreted(monkeypatch: Any, *modules: ModuleType) -> None:
    """Lets the kernels of some modules, and those that they call there, run as plain Python."""
    for module in modules:
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)


def told(monkeypatch: Any, module: ModuleType, name: str, before: Callable[..., object]) -> None:
    """Has a function told of every call of one of a module's, before it is made."""
    made = getattr(module, name)

    def told_first(*arguments: Any) -> Any:
        before(*arguments)
        return made(*arguments)

    monkeypatch.setattr(module, name, told_first)
