"""Windows of a join: time windows as a graph of difference bounds, and windows that count tuples.

**Time windows** are a simple temporal network. Every way to state a window says "t(b) - t(a) lies in [-lo, hi]", both ends included, in ticks.
The graph keeps, for each ordered pair, the largest allowed t(b) - t(a):

        t(a) - lo          t(a)                 t(a) + hi
    ------[=================|=======================]------> t(b)
          upper[b][a] = lo                upper[a][b] = hi

Its closure under shortest paths gives the tightest bound that the stated ones imply. From it come
the form of the join, the implied windows, how long tuples are retained, and the two refusals: a
pair without an upper bound (state for ever) and a negative cycle (no answer can exist).

**Count windows** say which tuples are there by their number instead of their age. In which order all
tuples of a join are numbered, and what enters its window when, stands in `docs/concepts/windows.md`. The
columns that put tuples of one time in order are those of the stream as it was registered, or of the
derived table, whatever the query reads of them.

A combination is given by the tuple of it that enters last, if then each other one is in the window
of its stream. So every tuple has a life, and a combination is an instant of entry in all of them:

    [ROWS n]                 from its own number to that of the n-th tuple of its stream after it
    [PARTITION BY k ROWS n]  .. to that of the n-th such tuple with an equal k
    [RANGE w]                .. to the first number with a time > t + w
    WINDOW = n ROWS          .. to its own number + n, this one included

            enters                            leaves
    tuple a    [================================)
    tuple b             [==============)
    tuple c                     [=======================)
                                ^ c enters: a and b are there, so that (a, b, c) is given

Every tuple with an event time takes a place, also one that a NULL key or WHERE keeps out of the
answer: a window is of the stream, and conditions are asked of what it holds. k is compared as in
GROUP BY: NULLs are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from windrow.errors import Span

UNBOUNDED = 2**62
"""No upper bound between two streams. Sums of a few of these still fit Python's integers."""


@dataclass(frozen=True)
class Bound:
    """t(right) - t(left) lies in [-lo, hi], in ticks; either end may be UNBOUNDED.

    `text` is how the user wrote it, for EXPLAIN.
    """

    left: int
    right: int
    lo: int
    hi: int
    text: str = ""


@dataclass(frozen=True)
class WindowGraph:
    """The stated bounds over the streams of one join, and what follows from them."""

    streams: tuple[str, ...]
    stated: tuple[Bound, ...]

    @cached_property
    def direct(self) -> tuple[tuple[int, ...], ...]:
        """upper[a][b] from the stated bounds alone."""
        size = len(self.streams)
        upper = [[0 if a == b else UNBOUNDED for b in range(size)] for a in range(size)]
        for bound in self.stated:
            upper[bound.left][bound.right] = min(upper[bound.left][bound.right], bound.hi)
            upper[bound.right][bound.left] = min(upper[bound.right][bound.left], bound.lo)
        return tuple(map(tuple, upper))

    @cached_property
    def upper(self) -> tuple[tuple[int, ...], ...]:
        """upper[a][b]: the largest t(b) - t(a) that all bounds together allow (Floyd-Warshall)."""
        upper = [list(row) for row in self.direct]
        size = len(upper)
        for via in range(size):
            for a in range(size):
                if upper[a][via] >= UNBOUNDED:
                    continue
                for b in range(size):
                    if upper[via][b] < UNBOUNDED:
                        upper[a][b] = min(upper[a][b], upper[a][via] + upper[via][b])
        return tuple(map(tuple, upper))

    @property
    def is_contradictory(self) -> bool:
        """Whether no combination at all can satisfy the bounds (a negative cycle)."""
        return any(self.upper[a][a] < 0 for a in range(len(self.streams)))

    def unbounded_pairs(self) -> list[tuple[int, int]]:
        """Ordered pairs (a, b) for which t(b) - t(a) has no upper bound."""
        size = len(self.streams)
        return [
            (a, b)
            for a in range(size)
            for b in range(size)
            if a != b and self.upper[a][b] >= UNBOUNDED
        ]

    def components(self) -> list[list[int]]:
        """The streams in groups that stated bounds connect, each in the order of FROM."""
        group = list(range(len(self.streams)))
        for bound in self.stated:
            old, new = group[bound.right], group[bound.left]
            group = [new if g == old else g for g in group]
        return [[s for s in range(len(group)) if group[s] == g] for g in dict.fromkeys(group)]

    def retention(self, stream: int) -> int:
        """How many ticks behind the watermark a tuple of the stream may still be needed.

        A tuple goes once t + retention < watermark: no tuple still to come lies in its reach.
        """
        return max(
            (self.upper[stream][b] for b in range(len(self.streams)) if b != stream), default=0
        )

    @property
    def stated_pairs(self) -> set[tuple[int, int]]:
        """The unordered pairs (smaller first) with a stated bound."""
        return {(min(b.left, b.right), max(b.left, b.right)) for b in self.stated}

    @property
    def form(self) -> str:
        """Binary, path, graph, clique or uniform clique (the forms of the 2003 paper)."""
        size, pairs = len(self.streams), self.stated_pairs
        if size == 2:
            return "binary"
        if len(pairs) == size * (size - 1) // 2:
            widths = {self.direct[a][b] for a in range(size) for b in range(size) if a != b}
            return "uniform clique" if len(widths) == 1 else "clique"
        degree = [sum(s in pair for pair in pairs) for s in range(size)]
        if len(pairs) == size - 1 and max(degree) <= 2:
            return "path"
        return "graph"


@dataclass(frozen=True)
class OwnWindow:
    """The window of one stream; without rows and ticks it has none of its own.

    Attributes:
        rows: how many tuples `[ROWS n]` keeps.
        partition: the flat columns of PARTITION BY: so many tuples for each of their values.
        ticks: the length of `[RANGE w]`.
        text: how the user wrote it.
        span: where it stands in the SQL.
    """

    rows: int | None = None
    partition: tuple[str, ...] = ()
    ticks: int | None = None
    text: str = ""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class CountWindows:
    """The windows of a join of which at least one counts tuples: each stream's own.

    `within` is the n of `WINDOW = n ROWS`, and `text` how the user wrote that.
    """

    own: tuple[OwnWindow, ...]
    within: int | None = None
    text: str = ""

    @property
    def sealed(self) -> tuple[int, ...]:
        """The inputs of which every tuple takes a place, whatever the conditions say of it."""
        return tuple(
            port
            for port, window in enumerate(self.own)
            if window.rows is not None or self.within is not None
        )

    def texts(self, aliases: tuple[str, ...]) -> list[str]:
        """The windows as the user wrote them, each with its stream."""
        own = [f"{a} {w.text}" for a, w in zip(aliases, self.own, strict=True) if w.text]
        return [*own, self.text] if self.text else own
