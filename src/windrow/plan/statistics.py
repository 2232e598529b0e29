"""What is known of a stream's numbers, and from where: rates, and how many different keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from windrow.plan.exprs import Expr

HINT = "hint"
ASSUMED = "assumed"
SEEN = "the micro-batches so far"


@dataclass(frozen=True)
class Figure:
    """A number and where it came from.

    `source` is "hint", "sample of 5,000 rows", "all 400 rows", "assumed", or a sum of these.
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

    def rate(self, node: Any) -> Figure | None:
        """Rows of a node per tick; None where that is not known."""

    def passing_rate(self, node: Any, predicates: tuple[Expr, ...]) -> Figure | None:
        """Rows of a node per tick that pass all of some conditions."""


Place_contra = TypeVar("Place_contra", contravariant=True)
"""What numbers are of: a stream, by its name, or an input of a join, by its number."""


class Measured(Protocol[Place_contra]):
    """Numbers that are looked up in data; None where it tells nothing.

    In process they are of streams: of those that are tables, or of batches as they come. In a worker on
    Spark they are of the inputs of one join, as the bucket at hand has them.
    """

    @property
    def is_restored(self) -> bool:
        """Whether every micro-batch begins with a state that is taken up anew."""

    def rate(self, place: Place_contra, /) -> Figure | None:
        """Tuples per tick of event time."""

    def different(self, place: Place_contra, column: str, /) -> Figure | None:
        """How many different values a column has."""

    def rows_per_batch(self, place: Place_contra, /) -> int:
        """The most rows that come in one micro-batch; 0 where nothing tells."""

    def within(
        self,
        left: tuple[Place_contra, str],
        right: tuple[Place_contra, str],
        low: float | None,
        high: float | None,
        /,
    ) -> Figure | None:
        """The share of pairs of two columns, each of its place, with low <= left - right <= high."""

    def passing(
        self,
        predicates: tuple[Expr, ...],
        sides: Sequence[tuple[Place_contra, Mapping[str, str]]],
        /,
    ) -> Figure | None:
        """The share of combinations of rows, one of each side, that pass all of some conditions.

        A side is a place, and its columns by the names that the conditions call them.
        """
