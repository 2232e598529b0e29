"""What a stateful stage is partitioned by on Spark: which bucket, or buckets, a row goes to.

The one law: every combination of rows that can make a result does so in exactly one bucket.

**Hash shares** (joins with equalities). The buckets form a hypercube with one dimension per group
of key classes. A row knows its coordinate in the dimensions whose keys it has, and is copied over
the others; the rows of one combination agree on every key, so that they share one home.

    a.x = b.x AND b.y = c.y, 4 buckets as 2 x 2:

              y = 0   y = 1
      x = 0   [ 0 ]   [ 1 ]        a row of a with x = 1 goes to buckets 2 and 3
      x = 1   [ 2 ]   [ 3 ]        a row of b goes to one bucket, a row of c to one column

**Cells** (bestmatch joins without an equality): see `cells`.

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

Everything here is plain arithmetic on specs; `operators/partition.py` routes arrays by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TypeAlias

from windrow.physical.bestmatch import MatwinBestmatch
from windrow.physical.cells import Cells, cells_of, describe_cells
from windrow.physical.sliding_skyline import SlidingSkyline
from windrow.physical.specs import (
    CountRows,
    ExpireRows,
    KeyClass,
    OfChanges,
    PairJoinSpec,
    SetOp,
    SlidingAggregate,
    Stateful,
    WJoin,
    scans,
)
from windrow.plan.count_windows import CountWindows
from windrow.plan.durations import show_ticks


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

    @property
    def buckets(self) -> int:
        """How many buckets are used."""
        return prod(self.shares)


@dataclass(frozen=True)
class HashKeys:
    """One bucket per row, by the hash of all its group keys; of all columns where rows are told apart by these.

    A row that has NULL in one of the columns has its key in that of `otherwise`, if there is one.
    """

    columns: tuple[str, ...]
    buckets: int
    otherwise: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class Single:
    """One bucket for everything; `reason` says why, and what would change it."""

    reason: str

    @property
    def buckets(self) -> int:
        """One."""
        return 1


Partitioning: TypeAlias = HashShares | HashKeys | Cells | Slices | Single


def partitioning_of(spec: Stateful, buckets: int) -> Partitioning:
    """How the rows of a stage are spread over at most `buckets` buckets."""
    if isinstance(spec, SlidingAggregate | SlidingSkyline | SetOp | OfChanges):
        return _by_keys(spec, buckets)
    if isinstance(spec, PairJoinSpec):
        return _of_pairs(spec, buckets)
    if spec.counts is not None:
        return _counted(spec, spec.counts, buckets)
    if not spec.classes:
        return _slices(spec, buckets)
    return _hypercube(tuple(key.inputs for key in spec.classes), len(spec.inputs), buckets)


_ALL_TOGETHER = {
    "plain": "any pair may dominate any other; LEFT OUTER, or another side,",
    "full outer": "a pair is judged among those of its left and of its right tuple; an equality",
}
"""Why pairs are judged in one place."""


def _by_keys(
    spec: SlidingAggregate | SlidingSkyline | SetOp | OfChanges, buckets: int
) -> Partitioning:
    """By what tells groups, equal rows or windows apart; in one bucket where nothing does."""
    if isinstance(spec, SlidingAggregate):
        keys, alone = spec.keys, "an aggregate without GROUP BY has one group; GROUP BY"
    elif isinstance(spec, SlidingSkyline):
        keys, alone = spec.spread_by, _ALL_TOGETHER.get(spec.kind, "")
    elif isinstance(spec, CountRows):
        window = f"{spec.alias} [PARTITION BY .. ROWS {spec.rows}]"
        keys, alone = spec.partition, f"a count window is kept in one place; {window}"
    else:
        keys = spec.schema.names if isinstance(spec, SetOp | ExpireRows) else spec.compared
        alone = "rows have no columns to tell them apart; a column"
    otherwise = spec.spread_else if isinstance(spec, SlidingSkyline) else ()
    return HashKeys(keys, buckets, otherwise) if keys else Single(f"{alone} would spread it")


def _counted(spec: WJoin, counts: CountWindows, buckets: int) -> Partitioning:
    """By keys of all inputs that every count window is divided by: its partitions stay whole."""
    if counts.within is not None:
        return Single(
            f"{counts.text or 'WINDOW .. ROWS'} numbers the tuples of all streams together;"
            " [PARTITION BY k ROWS n] after each stream, k a join key, would spread it"
        )
    common = [key for key in spec.classes if len(key.inputs) == len(spec.inputs)]
    if not common:
        return Single(
            "count windows are kept in one place; an equality between all streams, and"
            " [PARTITION BY k ROWS n] by its columns, would spread them"
        )
    counted = [port for port, window in enumerate(counts.own) if window.rows is not None]
    spread = [
        key for key in common if all(key.columns[i] in counts.own[i].partition for i in counted)
    ]
    if not spread:
        windows = [
            f"{spec.aliases[i]} [PARTITION BY {_as_written(common[0].columns[i])} ROWS {window.rows}]"
            for i, window in enumerate(counts.own)
            if i in counted and common[0].columns[i] not in window.partition
        ]
        return Single(
            f"count windows are kept in one place; {' and '.join(windows)} would spread them"
        )
    shared = tuple(spec.classes.index(key) for key in spread)
    return HashShares((shared,), (buckets,), (1,) * len(spec.inputs))


def _as_written(column: str | None) -> str:
    """A key column as a user may write it; one that is computed is for a derived table to name."""
    return "k, computed in a derived table," if column is None or "$" in column else column


def _slices(spec: WJoin, buckets: int) -> Partitioning:
    """Slices as wide as the farthest reach to an anchor row: others go to two of them on average.

    A row that comes out unmatched must be judged in one place, so that it has to be the anchor;
    else the input is the anchor that the others reach with the least copying.
    """
    if spec.is_snapshot:
        return Single(
            "rows of a changelog may be alive at any time; an equality would spread the join"
        )
    size = len(spec.inputs)
    graphs = [spec.graph] + ([spec.alternative] if spec.alternative is not None else [])

    def reach(a: int, b: int) -> int:
        return max(graph.upper[a][b] for graph in graphs)

    def width(anchor: int) -> int:
        others = [j for j in range(size) if j != anchor]
        return max(max(1, reach(anchor, j) + reach(j, anchor)) for j in others)

    if spec.kind == "full":
        # Whatever the windows, a row is to be found at its own time too: that is its home.
        back, on = max(0, reach(1, 0)), max(0, reach(0, 1))
        return Slices(None, max(1, back + on), (back, on), (on, back), buckets)
    preserved = {"left": 0, "semi": 0, "anti": 0, "right": 1}
    anchor = preserved[spec.kind] if spec.kind in preserved else min(range(size), key=width)
    return Slices(
        anchor=anchor,
        width=width(anchor),
        before=tuple(reach(anchor, j) for j in range(size)),
        after=tuple(reach(j, anchor) for j in range(size)),
        buckets=buckets,
    )


def _of_pairs(spec: PairJoinSpec, buckets: int) -> Partitioning:
    if spec.classes:
        return HashShares((tuple(range(len(spec.classes))),), (buckets,), (1, 1))
    if isinstance(spec, MatwinBestmatch):
        return cells_of(spec, buckets)
    left, right = spec.aliases
    return Single(
        f"any row of {right} may be the match of any row of {left}; an equality in ON would spread"
        " the join"
    )


@lru_cache(maxsize=256)
def _hypercube(members: tuple[tuple[int, ...], ...], inputs: int, buckets: int) -> HashShares:
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


def describe(
    partitioning: Partitioning, spec: Stateful, show: Callable[[str], str] = lambda name: name
) -> str:
    """One line for EXPLAIN; `show` gives a flat column name as the user knows it.

    For instance `partitioned by a.x = b.x (2) x b.y = c.y (2); a and c copied 2 times`.
    """
    if isinstance(partitioning, Single):
        return "not partitioned: one bucket"
    if isinstance(partitioning, HashKeys):
        keys = ", ".join(map(show, partitioning.columns))
        if partitioning.otherwise:
            keys += f", where NULL by {', '.join(map(show, partitioning.otherwise))}"
        return f"partitioned by {keys} ({partitioning.buckets})"
    if isinstance(partitioning, Cells):
        assert isinstance(spec, MatwinBestmatch)
        return describe_cells(partitioning, spec, show)
    if isinstance(partitioning, Slices):
        return _describe_slices(partitioning, spec)
    assert isinstance(spec, WJoin | PairJoinSpec)
    dimensions = [
        f"{', '.join(show_class(spec.classes[c], show) for c in group)} ({share})"
        for group, share in zip(partitioning.classes, partitioning.shares, strict=True)
    ]
    return f"partitioned by {' x '.join(dimensions)}{_describe_copies(partitioning, spec)}"


def show_class(key: KeyClass, show: Callable[[str], str]) -> str:
    """A key class as the equality it stands for: `a.k = b.k = c.k`."""
    sign = " <=> " if key.null_safe else " = "
    return sign.join(show(name) for name in key.columns if name is not None)


def _describe_copies(partitioning: HashShares, spec: WJoin | PairJoinSpec) -> str:
    if max(partitioning.copies) == 1:
        return ""
    assert isinstance(spec, WJoin)  # of a join of pairs, both sides have every class
    parts = []
    for count in sorted(set(partitioning.copies) - {1}):
        names = [
            alias for alias, n in zip(spec.aliases, partitioning.copies, strict=True) if n == count
        ]
        listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        parts.append(f"{listed} copied {count} times")
    return "; " + ", ".join(parts)


def _describe_slices(slices: Slices, spec: Stateful) -> str:
    assert isinstance(spec, WJoin)
    width = show_ticks(slices.width, scans(spec)[0].time_type)
    copied = [
        f"{alias} copied {1 + (slices.before[j] + slices.after[j]) / slices.width:.3g} times"
        for j, alias in enumerate(spec.aliases)
        if j != slices.anchor
    ]
    return (
        f"partitioned by slices of event time, {width} wide ({slices.buckets});"
        f" {', '.join(copied)} on average"
    )
