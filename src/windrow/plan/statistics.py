"""What is known of a stream's numbers, and from where: rates, and how many different keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from windrow.plan.exprs import Expr

HINT = "hint"
ASSUMED = "assumed"


@dataclass(frozen=True)
class Figure:
    """A number and where it came from.

    Attributes:
        value: the number.
        source: "hint", "sample of 5,000 rows", "all 400 rows", "assumed", or a sum of these.
    """

    value: float
    source: str


@dataclass(frozen=True)
class Statistics:
    """The numbers of one stream.

    Attributes:
        rate: tuples per tick of event time; None where nobody knows.
        distinct: columns with how many different values each has.

    Examples:
        >>> known = Statistics(Figure(0.5, HINT), (("k", Figure(100, HINT)),))
        >>> known.different("k")
        Figure(value=100, source='hint')
        >>> known.different("x") is None
        True
    """

    rate: Figure | None = None
    distinct: tuple[tuple[str, Figure], ...] = ()

    def different(self, column: str) -> Figure | None:
        """How many different values a column has; None where nobody knows."""
        return dict(self.distinct).get(column)


NOTHING_KNOWN = Statistics()


def total(figures: Sequence[Figure | None]) -> Figure | None:
    """The sum of some numbers; None where one is not known."""
    known = [figure for figure in figures if figure is not None]
    if len(known) < len(figures):
        return None
    sources = dict.fromkeys(figure.source for figure in known)
    return Figure(sum(figure.value for figure in known), ", ".join(sources))


class Rates(Protocol):
    """What is known of how many rows come, for the nodes of a plan to tell how many they give."""

    def of_stream(self, stream: str) -> Figure | None:
        """Tuples of a stream per tick; None where nobody knows."""
        ...

    def rate(self, spec: Any) -> Figure | None:
        """Rows of a node per tick; None where that is not known."""
        ...

    def passing_rate(self, spec: Any, predicates: tuple[Expr, ...]) -> Figure | None:
        """Rows of a node per tick that pass all of some conditions."""
        ...


class Measured(Protocol):
    """Numbers that are looked up in the data of streams; None where it tells nothing."""

    def rate(self, stream: str) -> Figure | None:
        """Tuples per tick of event time."""
        ...

    def different(self, stream: str, column: str) -> Figure | None:
        """How many different values a column has."""
        ...

    def at_once(self, stream: str) -> int:
        """The most rows that come in one micro-batch; 0 where nothing tells."""
        ...

    def within(
        self,
        left: tuple[str, str],
        right: tuple[str, str],
        low: float | None,
        high: float | None,
    ) -> Figure | None:
        """The share of pairs of two columns (stream, column) with low <= left - right <= high."""
        ...

    def passing(
        self, predicates: tuple[Expr, ...], sides: Sequence[tuple[str, Mapping[str, str]]]
    ) -> Figure | None:
        """The share of combinations of rows, one of each side, that pass all of some conditions.

        A side is a stream, and its columns by the names that the conditions call them.
        """
        ...


class MeasuredInputs(Protocol):
    """Numbers of the inputs of one join, by their place, as the worker that runs it sees them."""

    @property
    def is_restored(self) -> bool:
        """Whether every micro-batch begins with a state that is taken up anew."""
        ...

    def rate(self, port: int) -> Figure | None:
        """Rows per tick of event time."""
        ...

    def different(self, port: int, column: str) -> Figure | None:
        """How many different values a column has."""
        ...

    def at_once(self, port: int) -> int:
        """The rows of this micro-batch."""
        ...

    def within(
        self,
        left: tuple[int, str],
        right: tuple[int, str],
        low: float | None,
        high: float | None,
    ) -> Figure | None:
        """The share of pairs of two columns (port, column) with low <= left - right <= high."""
        ...
