"""Count windows: which tuples are there, by their number instead of their age.

**The order.** All tuples of a join are put in one order, so that the answer does not depend on how
they arrive:

    time, then position in FROM, then the columns from left to right

NULL comes first, then values ascending; NaN is last, -0.0 just before 0.0; texts go by their bytes,
arrays and structs by their parts, maps by their sorted entries. Tuples that are equal in all of
that are interchangeable. The columns are those of the stream as it was registered, or of the
derived table, whatever the query reads of them. A stream under two aliases is two streams: each
alias has its own position, its own window, and a tuple of either.

**Entering and leaving.** Tuples enter their windows one after the other, in that order. Of `a [ROWS
2], b [ROWS 1]`, numbers being places in the order:

    number     0    1    2    3    4    5    6
    a          a0        a2   a3        a5
    b               b1             b4        b6
    a's window      {a0}           {a2 a3}   {a3 a5}     when a tuple of b enters
    b's window           {b1} {b1}      {b4}             when a tuple of a enters
    gives           a0b1 a2b1 a3b1 a2b4 a5b4 a3b6
                                   a3b4      a5b6

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
answer: a window is of the stream, and conditions are asked of what it holds. `WINDOW = n ROWS` and
windows of single streams may stand together; a combination then meets both. k is compared as in
GROUP BY: NULLs are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.errors import Span


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
