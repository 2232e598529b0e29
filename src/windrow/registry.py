"""Things that are known by name, and that others may add to: aggregates, algorithms, commands.

    ALGORITHMS: Registry[Algorithm] = Registry("algorithm")
    ALGORITHMS.add("few", Algorithm(...))

A package adds its own through `windrow.extend`. So that users need not import it, it names a module
that does so as an entry point of the group `windrow.plugins`; the module is imported when a name is
asked for that nobody has added yet, or when all names are.

Windrow's own things are named by import path in its plans, so that Spark's workers need no registry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from windrow.errors import PlanError

GROUP = "windrow.plugins"
"""The entry points whose modules add to registries."""

T = TypeVar("T")

_loaded: set[str] = set()


class Registry(Mapping[str, T], Generic[T]):
    """One kind of thing by name, in the order in which they were added."""

    def __init__(self, kind: str) -> None:
        """Has nothing yet.

        Args:
            kind: what its things are called in errors, such as "aggregate".
        """
        self.kind = kind
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        """Adds a thing, unless another has its name. The same again changes nothing."""
        known = self._things.setdefault(name, thing)
        if known is not thing and known != thing:
            raise PlanError(
                "name-taken",
                f"there is another {self.kind} {name!r} already",
                reason="a query that names it could mean either",
                hint="add it under another name",
            )
        return known

    def remove(self, name: str) -> None:
        """Forgets a thing, if there is one of that name: for tests that add some."""
        self._things.pop(name, None)

    def __getitem__(self, name: str) -> T:
        if name not in self._things:
            load_plugins()
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return iter(self._things)

    def __len__(self) -> int:
        load_plugins()
        return len(self._things)


def load_plugins() -> None:
    """Imports the modules that installed packages name, each once."""
    for point in entry_points(group=GROUP):
        if point.value not in _loaded:
            _loaded.add(point.value)
            import_module(point.value)
