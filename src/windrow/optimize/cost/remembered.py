"""Numbers looked up in data, each once: one planning asks for the same ones again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

from windrow.plan.exprs import Expr
from windrow.plan.statistics import Figure, Measured

Place = TypeVar("Place")
Found = TypeVar("Found")


class Remembered(Generic[Place]):
    """The numbers of some data as they are when they are first asked for; a `Measured`."""

    def __init__(self, measured: Measured[Place]) -> None:
        self._measured = measured
        self._found: dict[tuple[Any, ...], object] = {}

    @property
    def is_restored(self) -> bool:
        """As the data says."""
        return self._measured.is_restored

    def rate(self, place: Place, /) -> Figure | None:
        """Tuples per tick of event time."""
        return self._once(("rate", place), lambda: self._measured.rate(place))

    def different(self, place: Place, column: str, /) -> Figure | None:
        """How many different values a column has."""
        asked = ("different", place, column)
        return self._once(asked, lambda: self._measured.different(place, column))

    def rows_per_batch(self, place: Place, /) -> int:
        """The most rows that come in one micro-batch."""
        return self._once(("rows", place), lambda: self._measured.rows_per_batch(place))

    def within(
        self,
        left: tuple[Place, str],
        right: tuple[Place, str],
        low: float | None,
        high: float | None,
        /,
    ) -> Figure | None:
        """The share of pairs of two columns whose difference is within bounds."""
        asked = ("within", left, right, low, high)
        return self._once(asked, lambda: self._measured.within(left, right, low, high))

    def passing(
        self,
        predicates: tuple[Expr, ...],
        sides: Sequence[tuple[Place, Mapping[str, str]]],
        /,
    ) -> Figure | None:
        """The share of combinations of rows that pass all of some conditions."""
        read = tuple((place, tuple(sorted(columns.items()))) for place, columns in sides)
        asked = ("passing", predicates, read)
        return self._once(asked, lambda: self._measured.passing(predicates, sides))

    def _once(self, asked: tuple[Any, ...], look: Callable[[], Found]) -> Found:
        if asked not in self._found:
            self._found[asked] = look()
        return cast("Found", self._found[asked])
