"""The probes that a join which sheds has left: tokens, which fill by the service rate.

    tokens   <=  service rate x longest window       a burst that a lull before or after makes up for
                 or one per input, if that is more   is probed with in full

So over any span of event time no more arrivals probe than the service rate allows for that span and
one window. With less than a whole token per input, tuples far apart would never meet, however low
their rates.

The tokens are the query's. Where it has several buckets each of them computes all tokens, by what
all buckets are sent: every bucket is told, pane by pane, how many rows there are, how many of them
go to buckets before it, and how many are its own. So all agree, and nobody is asked. Of a pane with
w rows, for which there are T tokens,

    T >= w    all probe, and w tokens are gone
    T <  w    those of bucket b are the whole numbers in its part of the line; T tokens are gone

    rows      0 ....... below .... up to ....... w
    tokens    0 --+----+----+----+----+----+---- T       + begin with a shift that changes by pane

No token is in two parts and none in no part. In the mean a bucket's share is that of its rows,
though it may have less than one in each pane. Of tokens whole ones are used, and what is left over
stays. Where rows were counted over several panes and w is their mean, no whole number, all tokens
are used, as if they could be cut; else what is left would depend on whether panes are paid for one
by one or at once.

Where totals are estimated each bucket has some for itself beforehand, and a part of the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from windrow.operators.load_shedding.draws import bits, number_of

_ROUNDING = 1e-9
"""An amount that is so little below a whole number is that number."""

_SHIFTS, _SHIFT_BY = 1_024, 633
"""Shifts of a token, and which of them follows which: all in turn, neighbors far apart."""


class Sent(NamedTuple):
    """Rows that all buckets are sent, in each of several panes that are alike.

    Attributes:
        first: the number of the first pane.
        panes: how many panes.
        whole: rows of a pane.
        below: rows of a pane in the buckets before this one.
        up_to: the same, and those of this one.
        is_mean: whether rows were counted over several panes, and these are the mean.
    """

    first: int
    panes: int
    whole: float
    below: float
    up_to: float
    is_mean: bool = False


class Tokens:
    """The tokens of a query, pane by pane: `rate` more of them per tick, `most` of them saved up."""

    def __init__(self, rate: float, pane: int, most: float) -> None:
        self.rate = rate
        self._pane = pane
        self._most = most
        self._left = most
        self._paid: int | None = None

    @property
    def unpaid(self) -> int | None:
        """The first pane that has not been paid for; None if none has."""
        return None if self._paid is None else self._paid + 1

    def fill(self, number: int) -> int:
        """How many there are for a pane that is not before any paid one."""
        if self._paid is not None:
            self._left += self.rate * (number - self._paid) * self._pane
        self._left = min(self._most, self._left)
        self._paid = number
        return whole_part(self._left)

    def _fill_for(self, own: Sent) -> float:
        """How many there are for the first of some panes."""
        whole = self.fill(own.first)
        return self._left if own.is_mean else whole

    def use(self, many: float) -> None:
        """So many are gone."""
        self._left -= many

    def pay(self, sent: Iterable[Sent]) -> None:
        """Uses what the rows of all buckets take, of panes in which this one probes with none."""
        for own in sent:
            self.use(min(own.whole, self._fill_for(own)))
            if own.panes > 1:
                more = self.rate * self._pane - own.whole
                left = max(0.0, self._left + (own.panes - 1) * more)
                self._left = min(left, max(0.0, self._most - own.whole))
                self._paid = own.first + own.panes - 1

    def part(self, own: Sent, *, each: int, buckets: int) -> int | None:
        """Uses what a pane takes, and gives this bucket's part of it; None for as many as come.

        `each` is what every bucket has for itself beforehand, if there is not enough for all.
        """
        there_is = self._fill_for(own)
        self.use(min(own.whole, there_is))
        if own.whole <= there_is:
            return None
        rest = max(0.0, there_is - each * buckets)
        shift = own.first * _SHIFT_BY % _SHIFTS / _SHIFTS

        def tokens_before(row: float) -> int:
            # The share first: that of the last row is exactly 1, and no token falls off the end.
            return math.floor(row / own.whole * rest + shift)

        return each + tokens_before(own.up_to) - tokens_before(own.below)

    def snapshot(self) -> dict[str, int]:
        """What is left, as numbers by name; nothing before the first pane."""
        return {} if self._paid is None else {"tokens": bits(self._left), "decided": self._paid}

    def restore(self, numbers: dict[str, int]) -> None:
        """Puts it back; what is too much to be saved up goes with the next pane."""
        if "decided" in numbers:
            self._left = number_of(numbers["tokens"])
            self._paid = numbers["decided"]


def whole_part(amount: float) -> int:
    """An amount without what is left over."""
    return math.floor(amount + _ROUNDING)
