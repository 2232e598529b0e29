"""Cells of a grid: how bestmatch joins without an equality are spread over buckets on Spark.

One constrained dimension is cut into cells of equal width, and event time into slices, so that
where all rows crowd into few cells these are split all the same. A row of the input that is judged
lives in the cell it falls into; one of the other input is copied to every cell in which a row that
it can meet could live:

                position - before        position + after
    ---|------------[==============|=============]---|------> positions of judged rows
       |     cell 6                |   cell 7        |        this row goes to both

Along both axes at once, a row goes to the cells of a rectangle. Without a constrained dimension
there are slices of time alone.

**A full outer join** judges pairs for both of their rows, and in one place: the home of the left
row r. There are all rows s that r can meet, and, for each of them, all left rows r' that s can meet
instead of r:

                 r'           s            r
    -------------|-- reach ---|-- reach ---|-------------->   r' is at most two reaches from r

so that left rows are copied twice as far as right ones. A row without a candidate comes from its
own home, which sees all rows that it can meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from windrow.plan.units import show_ticks

if TYPE_CHECKING:
    from windrow.physical.nodes.matwin_bestmatch import MatwinBestmatch

CELL_WIDTHS = 4
"""A cell is this many times as wide as a row can reach to one side: wide cells mean few copies (a
row that reaches to both sides has 1 + 2/4 on average), narrow ones spread the work better. A slice
of time is as many times as wide as it can reach to both sides: 1 + 1/4 copies."""

_WIDEST = 1e300
"""A limit above this cuts nothing into cells, and their widths would overflow."""

Reach = tuple[float | int, float | int]
"""How far a row reaches, per input."""


@dataclass(frozen=True)
class Axis:
    """One axis of the grid, cut into cells of equal width.

    A row of input j at position x goes to the cells floor((x - before[j]) / width) to
    floor((x + after[j]) / width). Positions that are floating-point numbers round: a router must
    widen both ends by a few units in the last place of x, so that no candidate is missed (a row
    too many does no harm). One that reaches nowhere lives in floor(x / width) alone.

    Attributes:
        dimension: index into the join's dimensions, or None for event time.
        width: width of a cell, in the unit of the dimension (ticks for event time).
        before: per input, how far below its own position a row is copied.
        after: per input, how far above.
    """

    dimension: int | None
    width: float | int
    before: Reach
    after: Reach

    def cells(self, port: int) -> dict[int, float]:
        """To how many cells a row of the input goes, with how likely each number is.

        Wherever a row falls into its cell is equally likely: with a reach of 1.25 widths it goes to
        two cells, or, one time in four, to three.
        """
        reach = (self.before[port] + self.after[port]) / self.width
        fewest = 1 + math.floor(reach)
        return {fewest: 1 + math.floor(reach) - reach, fewest + 1: reach - math.floor(reach)}


@dataclass(frozen=True)
class Cells:
    """Cells of a bestmatch join; a cell's bucket is its hash modulo `buckets`.

    Attributes:
        axes: what is cut into cells.
        anchor: the input whose rows live in one cell each; None where both are copied, and each
            row has a home as well: the cell that it falls into.
        buckets: how many buckets the cells are spread over. A row goes once to each bucket, even
            where two of its cells share one.
    """

    axes: tuple[Axis, ...]
    anchor: int | None
    buckets: int

    def copies(self, port: int) -> float:
        """To how many buckets a row of the input is sent on average: cells may share one."""
        expected = 0.0
        for counts in product(*(axis.cells(port).items() for axis in self.axes)):
            cells = math.prod(cells for cells, _ in counts)
            missed = (1 - 1 / self.buckets) ** cells if cells <= self.buckets else 0
            expected += math.prod(chance for _, chance in counts) * self.buckets * (1 - missed)
        return expected

    def describe(self, join: Any, show: Callable[[str], str]) -> str:
        """One line for EXPLAIN."""
        texts = [_describe_axis(axis, join, show) for axis in self.axes]
        copied = [
            f"{name} rows copied {self.copies(port):.3g} times"
            for port, name in enumerate(("left", "right"))
            if port != self.anchor
        ]
        return (
            f"partitioned by cells of {' and '.join(texts)} ({self.buckets});"
            f" {', '.join(copied)} on average, and held as often"
        )


def cells_of(node: MatwinBestmatch, buckets: int) -> Cells:
    """The grid of a bestmatch join: its first constrained dimension and event time, or time alone."""
    axes = [_time_axis(node)]
    for index, dimension in enumerate(node.dimensions):
        if dimension.is_measured and dimension.eps is not None and not dimension.is_time:
            eps = float(dimension.eps)
            if eps <= _WIDEST:
                axes.insert(0, _axis(node, index, eps))
                break
    return Cells(tuple(axes), node.judged[0] if len(node.judged) == 1 else None, buckets)


def _axis(node: MatwinBestmatch, index: int, eps: float) -> Axis:
    reach = _by_kind(node, (2 * eps, eps), eps)
    return Axis(index, CELL_WIDTHS * eps if eps > 0 else 1, reach, reach)


def _time_axis(node: MatwinBestmatch) -> Axis:
    """Slices of time.

    A candidate has t(right) - t(left) in [-lo, hi]: t(left) lies in [t(right) - hi, t(right) + lo],
    and t(right) in [t(left) - lo, t(left) + hi]. Of left rows that can meet one right row, either
    lies within lo + hi of the other. Whatever the bounds, a row is found at its own time too.
    """
    lo, hi = node.lo, node.hi
    both = max(0, lo + hi)
    before = _by_kind(node, (max(both, lo), max(0, hi)), (lo, hi))
    after = _by_kind(node, (max(both, hi), max(0, lo)), (hi, lo))
    return Axis(None, max(1, CELL_WIDTHS * (lo + hi)), before, after)


def _by_kind(node: MatwinBestmatch, full: Reach, other: float | Reach) -> Reach:
    """Reaches per input: those of a full outer join, or none for the input that is judged."""
    if len(node.judged) > 1:
        return full
    left, right = other if isinstance(other, tuple) else (other, other)
    return (0, right) if node.judged == (0,) else (left, 0)


def _describe_axis(axis: Axis, node: MatwinBestmatch, show: Callable[[str], str]) -> str:
    if axis.dimension is None:
        return f"event time, {show_ticks(int(axis.width), node.time_type)} wide"
    dimension = node.dimensions[axis.dimension]
    width = f"{axis.width:g}"
    if dimension.unit is not None:
        width = show_ticks(int(axis.width), dimension.unit)
    return f"{show(dimension.left)} ~ {show(dimension.right)}, {width} wide"
