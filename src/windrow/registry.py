"""Things that are known by name, which other packages may add to: aggregates, algorithms, commands.

    ALGORITHMS: Registry[Algorithm] = Registry("algorithm")
    ALGORITHMS.add("few", Algorithm(...))

A package adds its own through `windrow.extend`, in a module that it names as an entry point of the
group `windrow.plugins`, so that users need not import it. The module is imported when a name is asked
for that is not known yet, or when all names are.

Windrow's own things are named by import path in its plans, so that Spark's workers need no registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from windrow.errors import PlanError

GROUP = "windrow.plugins"
"""The entry points whose modules add to registries."""

PAPERS = "windrow-papers"
"""The package with the papers' experiments, and with the algorithms that no plan takes by itself."""

T = TypeVar("T")

_loaded: set[str] = set()


class Registry(Mapping[str, T], Generic[T]):
    """One kind of thing by name, in the order in which they were added."""

    def __init__(self, kind: str, in_papers: Iterable[str] = (), taken: Iterable[str] = ()) -> None:
        """Has nothing yet.

        Args:
            kind: what its things are called in errors, such as "aggregate".
            in_papers: the names that the package `windrow-papers` adds, for those who lack it.
            taken: names that mean something else to Windrow.
        """
        self.kind = kind
        self._in_papers, self._taken = frozenset(in_papers), frozenset(taken)
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        """Adds a thing, unless another has its name. The same again changes nothing.

        If the papers' package is installed, its names are taken even before it is loaded: otherwise
        loading it later would fail.
        """
        if name in self._in_papers:
            load_plugins()
        known = self._things.get(name, thing)
        if name in self._taken or (known is not thing and known != thing):
            raise PlanError(
                "name-taken",
                f"there is another {self.kind} {name!r} already",
                reason="the name could mean either",
                hint="add it under another name",
            )
        return self._things.setdefault(name, thing)

    def check_installed(self, name: str) -> None:
        """Raises, with what to install, if the name belongs to a package that is missing."""
        if name in self._in_papers and name not in self:
            raise PlanError(
                "not-installed",
                f"the {self.kind} {name!r} is in the package {PAPERS}, which is not installed",
                reason="Windrow itself has what its plans take; the papers' other algorithms, and"
                " their experiments, are a package of their own",
                hint="in a checkout of Windrow: pip install ./papers",
            )

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


def load(place: str) -> Any:
    """Imports what a `module:name` names.

    Imported only now, so that a worker loads and compiles only the kernels of its own operators.
    """
    module, _, names = place.partition(":")
    return reduce(getattr, names.split("."), import_module(module))


@cache
def load_plugins() -> None:
    """Imports the modules that installed packages name, each once."""
    for point in entry_points(group=GROUP):
        if point.value not in _loaded:
            _loaded.add(point.value)
            _load(point)


def _load(point: EntryPoint) -> None:
    try:
        import_module(point.value)
    except Exception as error:
        _loaded.discard(point.value)  # so that it is said whenever it matters
        package = point.name if point.dist is None else point.dist.name
        raise PlanError(
            "plugin-fails",
            f"the package {package} cannot be loaded",
            reason=f"to import {point.value} raises {type(error).__name__}: {error}",
            hint=f"fix or uninstall it; it extends Windrow through the entry point group {GROUP}",
        ) from error
