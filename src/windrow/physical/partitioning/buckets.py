"""What a stateful stage is partitioned by on Spark: which bucket, or buckets, a row goes to.

The one law: every combination of rows that can make a result does so in exactly one bucket.

**Hash shares** (joins with equalities). The buckets form a hypercube with one dimension per group
of key classes. A row knows its coordinate in the dimensions whose keys it has, and is copied over
the others; the rows of one combination agree on every key, so that they share one home.

    a.x = b.x AND b.y = c.y, 4 buckets as 2 x 2:

              y = 0   y = 1
      x = 0   [ 0 ]   [ 1 ]        a row of a with x = 1 goes to buckets 2 and 3
      x = 1   [ 2 ]   [ 3 ]        a row of b goes to one bucket, a row of c to one column

**Cells of a grid** (bestmatch joins without an equality). One constrained dimension is cut into
cells of equal width, and event time into slices, so that where all rows crowd into few cells these
are split all the same. A row of the input that is judged lives in the cell it falls into; one of
the other input is copied to every cell in which a row that it can meet could live:

                position - before        position + after
    ---|------------[==============|=============]---|------> positions of judged rows
       |     cell 6                |   cell 7        |        this row goes to both

Along both axes at once, a row goes to the cells of a rectangle. Without a constrained dimension
there are slices of time alone.

A full outer join judges pairs for both of their rows, and in one place: the home of the left
row r. There are all rows s that r can meet, and, for each of them, all left rows r' that s can meet
instead of r:

                 r'           s            r
    -------------|-- reach ---|-- reach ---|-------------->   r' is at most two reaches from r

so that left rows are copied twice as far as right ones. A row without a candidate comes from its
own home, which sees all rows that it can meet.

**Count windows** (`[PARTITION BY k ROWS n]`) are spread by such of the keys as all of them are
divided by: the tuples that push one another out of a window are in one bucket. A window that is not
divided so is kept in one bucket.

**Slices** (window joins without an equality). Time is cut into slices of equal width, dealt out to
the buckets in turn. Every combination has one tuple of the anchor input, which lives in the slice
it falls into; a tuple of another input is copied to every slice in which an anchor tuple within
its closed bounds could live, and goes once to each bucket:

              t - before              t + after
    ---|----------[=======|===============]---|------> times of anchor tuples
       |    slice 6       |       slice 7     |        this tuple goes to both

A full outer join judges the tuples of both inputs, so that both are copied like that, and each has
a home as well, the slice it falls into. A tuple without a match comes from its home, which sees
all tuples that it can meet; a pair comes from the home of its first tuple.

Everything here is plain arithmetic on nodes; each partitioning names what routes arrays by it, in
`operators/routing`, which is loaded where rows are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from windrow.plan.texts import listed
from windrow.plan.units import show_ticks

if TYPE_CHECKING:
    from windrow.physical.nodes.base import KeyClass
    from windrow.physical.nodes.bestmatch import MatwinBestmatch


Show: TypeAlias = Callable[[str], str]
"""A flat column name as the user knows it."""


@dataclass(frozen=True)
class HashShares:
    """A hypercube of buckets over the key classes of a join.

    Attributes:
        classes: per dimension, the indexes of the key classes that are hashed together.
        shares: per dimension, how many parts it is cut into; their product is the number of
            buckets used. The last dimension varies fastest:
            bucket = (coordinate[0] * shares[1] + coordinate[1]) * shares[2] + ...
        copies: per input of the join, into how many buckets each of its rows goes.
    """

    classes: tuple[tuple[int, ...], ...]
    shares: tuple[int, ...]
    copies: tuple[int, ...]

    router: ClassVar[str] = "windrow.operators.routing.by_hashes:by_shares"
    owner: ClassVar[str] = ""

    @property
    def buckets(self) -> int:
        """How many buckets are used."""
        return prod(self.shares)

    def describe(self, join: Any, show: Show) -> str:
        """One line for EXPLAIN.

        For instance `partitioned by a.x = b.x (2) x b.y = c.y (2); a and c copied 2 times`.
        """
        dimensions = [
            f"{', '.join(show_class(join.classes[c], show) for c in group)} ({share})"
            for group, share in zip(self.classes, self.shares, strict=True)
        ]
        return f"partitioned by {' x '.join(dimensions)}{self._described_copies(join)}"

    def _described_copies(self, join: Any) -> str:
        parts = []
        for count in sorted(set(self.copies) - {1}):
            names = [
                alias for alias, n in zip(join.aliases, self.copies, strict=True) if n == count
            ]
            parts.append(f"{listed(names)} copied {count} times")
        return "; " + ", ".join(parts) if parts else ""


@dataclass(frozen=True)
class HashKeys:
    """One bucket per row, by the hash of all its group keys; of all columns where rows are told apart by these.

    A row that has NULL in one of the columns has its key in that of `otherwise`, if there is one.
    """

    columns: tuple[str, ...]
    buckets: int
    otherwise: tuple[str, ...] = ()

    router: ClassVar[str] = "windrow.operators.routing.by_hashes:by_keys"
    owner: ClassVar[str] = ""

    def describe(self, join: Any, show: Show) -> str:  # noqa: ARG002
        """One line for EXPLAIN."""
        keys = ", ".join(map(show, self.columns))
        if self.otherwise:
            keys += f", where NULL by {', '.join(map(show, self.otherwise))}"
        return f"partitioned by {keys} ({self.buckets})"


@dataclass(frozen=True)
class Slices:
    """Slices of event time; slice n is in bucket n modulo `buckets`.

    A row of the anchor input at t lives in slice floor(t / width). A row of input j at t goes to
    the slices floor((t - before[j]) / width) .. floor((t + after[j]) / width).

    Attributes:
        anchor: the input whose rows live in one slice each; None where all rows are copied, and
            each counts for a tuple of its own in its home alone, slice floor(t / width).
        width: width of a slice in ticks.
        before: per input, how far before its own time a row can meet an anchor row.
        after: per input, how far after.
        buckets: how many buckets the slices are dealt out to.
    """

    anchor: int | None
    width: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    buckets: int

    router: ClassVar[str] = "windrow.operators.routing.by_slices:by_slices"

    @property
    def owner(self) -> str:
        """What says which rows a bucket answers for, where all are copied."""
        return "windrow.operators.routing.by_slices:OwnSlices.of" if self.anchor is None else ""

    def describe(self, join: Any, show: Show) -> str:  # noqa: ARG002
        """One line for EXPLAIN."""
        width = show_ticks(self.width, join.time_type)
        copied = [
            f"{alias} copied {1 + (self.before[j] + self.after[j]) / self.width:.3g} times"
            for j, alias in enumerate(join.aliases)
            if j != self.anchor
        ]
        return (
            f"partitioned by slices of event time, {width} wide ({self.buckets});"
            f" {', '.join(copied)} on average"
        )


@dataclass(frozen=True)
class Single:
    """One bucket for everything; `reason` says why, and what would change it."""

    reason: str

    router: ClassVar[str] = ""
    owner: ClassVar[str] = ""

    @property
    def buckets(self) -> int:
        """One."""
        return 1

    def describe(self, join: Any, show: Show) -> str:  # noqa: ARG002
        """One line for EXPLAIN."""
        return "not partitioned: one bucket"


Partitioning: TypeAlias = "HashShares | HashKeys | Cells | Slices | Single"
"""Each has two places beside its fields:

- router: what gives the rows of a batch and the bucket of each, as `module:function`, by the node, the
  partitioning, the port and the batch; "" where all rows go to the one bucket.
- owner: what says which of its rows a bucket answers for, as `module:class`, made of the node, the
  partitioning and the number of the bucket; "" where it answers for all that it finds.
"""


@lru_cache(maxsize=256)
def hypercube(members: tuple[tuple[int, ...], ...], inputs: int, buckets: int) -> HashShares:
    """The shares that leave the least to the fullest bucket.

    Classes that every input has take all shares, hashed together: nothing is copied. Otherwise
    classes over the same inputs form one dimension (a composite key), and every factorization of
    `buckets`, and of `buckets - 1` in case it is prime, is weighed by the rows per bucket, taking
    all inputs as equally fast.
    """
    common = tuple(c for c, inside in enumerate(members) if len(inside) == inputs)
    if common:
        return HashShares((common,), (buckets,), (1,) * inputs)
    groups = {inside: [c for c, m in enumerate(members) if m == inside] for inside in members}
    sides = tuple(groups)

    def copies(shares: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(
            prod(share for side, share in zip(sides, shares, strict=True) if i not in side)
            for i in range(inputs)
        )

    def weight(shares: tuple[int, ...]) -> tuple[float, int, tuple[int, ...]]:
        used = prod(shares)
        unevenness = max(shares) - min(shares)
        return (sum(copies(shares)) / used, unevenness, tuple(-share for share in shares))

    candidates = [
        shares
        for total in sorted({buckets, max(1, buckets - 1)})
        for shares in _factorizations(total, len(sides))
    ]
    best = min(candidates, key=weight)
    return HashShares(tuple(tuple(groups[side]) for side in sides), best, copies(best))


def _factorizations(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `total` as an ordered product of `parts` whole numbers."""
    if parts == 1:
        yield (total,)
        return
    for first in range(1, total + 1):
        if total % first == 0:
            for rest in _factorizations(total // first, parts - 1):
                yield (first, *rest)


NO_COLUMNS = "rows have no columns to tell them apart; a column"
"""Why rows that all columns tell apart are in one bucket."""


def by_keys(keys: Sequence[str], buckets: int, alone: str) -> HashKeys | Single:
    """By the hash of some columns; in one bucket where there are none, and `alone` says why."""
    return HashKeys(tuple(keys), buckets) if keys else Single(f"{alone} would spread it")


def show_class(key: KeyClass, show: Show) -> str:
    """A key class as the equality it stands for: `a.k = b.k = c.k`."""
    sign = " <=> " if key.null_safe else " = "
    return sign.join(show(name) for name in key.columns if name is not None)


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

    router: ClassVar[str] = "windrow.operators.routing.by_cells:by_cells"

    @property
    def owner(self) -> str:
        """What says which rows a bucket answers for, where all are copied."""
        return "windrow.operators.routing.by_cells:OwnCells" if self.anchor is None else ""

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
