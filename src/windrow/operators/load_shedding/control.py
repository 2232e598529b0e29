"""What a join that sheds gives each of its inputs, pane by pane.

**The division.** Windows are divided by the rates over a whole window, and by the same ones until
they have clearly changed: a stream that is the slower one for a while by chance must not take the
memory of another, whose tuples would not come back.

A stream whose tuples come last of their instants meets more than one whose tuples come first
(`counted.py`). How much more is seen of the arrivals, over several panes, and held on to likewise.
Probes come from the query's tokens (`tokens.py`).

**The shares met** (`SharesMet`): of the others' combinations, by a probe of each input, lately.

    share of i  =  sum of what arrivals of i meet  /  sum of arrivals of i x the others' full windows

Both sums are over the panes of a window, or over more of them where these have few arrivals: who is
last in a pane of few tuples is chance, and dividing by it would change sides from pane to pane. The
pane at hand counts, so that even the first one, or the only one, is divided by what its tuples
meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from windrow.allocation.loads import Allocation, Resources, StreamLoad, alike, products_of_others
from windrow.allocation.strategies import BY_NAME, Pot, best_rates
from windrow.errors import DataError
from windrow.operators.load_shedding.counted import Blocks, Counted, TimeSpan, combinations_met
from windrow.operators.load_shedding.draws import bits, number_of, numbered
from windrow.operators.load_shedding.tokens import Sent, Tokens, whole_part
from windrow.physical.load_shedding.limits import BEST, CLEARLY, PANES_PER_WINDOW, Shedding, floors
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.plan.catalog import USUAL_UNIT, ticks_per_unit
from windrow.plan.units import show_ticks

ENOUGH = 1_000
"""Arrivals of which shares are known well."""


class SharesMet:
    """Sums up what arrivals of each input of a join meet."""

    def __init__(self, node: SheddingJoin) -> None:
        self._node = node
        self._met = np.zeros(len(node.inputs))
        self._all = np.zeros(len(node.inputs))

    def of(
        self, counted: Counted, start: int, arrived: Sequence[int], spans: Sequence[TimeSpan]
    ) -> list[float]:
        """The shares, of the largest of them, once a pane has been counted that begins there.

        `spans` are the first and last instants of its arrivals, in ticks from its start.
        """
        windows = [
            Blocks(*counted.spans(port, start), counted.arrived(port)[None])
            for port in range(len(arrived))
        ]
        left = 1 - min(1 / PANES_PER_WINDOW, sum(arrived) / ENOUGH)
        come = np.array(arrived)
        met = combinations_met(self._node, windows, spans)[:, 0]
        self._met = left * self._met + come * met
        self._all = left * self._all + come * np.array(products_of_others(counted.full))
        shares = np.divide(self._met, self._all, out=np.ones(len(come)), where=self._all > 0)
        return alike(shares.tolist())

    def snapshot(self) -> dict[str, int]:
        """The sums, by name."""
        sums = {"met": self._met, "all met": self._all}
        return {
            f"{name} {port}": bits(own)
            for name, each in sums.items()
            for port, own in enumerate(each.tolist())
        }

    def restore(self, numbers: dict[str, int]) -> None:
        """Puts it back."""
        ports = range(len(self._met))
        self._met, self._all = (
            np.array([number_of(numbers[f"{name} {port}"]) for port in ports])
            for name in ("met", "all met")
        )


_ROUNDING = 1e-9
"""A share that is so little above a whole number is that number."""

HARDLY = 0.05
"""A probe that meets such a share of what others meet, or less, meets hardly any."""

SentTo = Callable[[int | None, int], Iterable[Sent]]
"""What all buckets are sent in panes from a number on, or from the first on, and before another."""


class Division(NamedTuple):
    """What the inputs get in one pane.

    Attributes:
        arrived: arrivals of the pane.
        probes: those of them that probe.
        windows: tuples that are held, at most.
        spans: the first and the last arrival, in ticks from the start of the pane.
    """

    arrived: tuple[int, ...]
    probes: tuple[int, ...]
    windows: tuple[int, ...]
    spans: tuple[TimeSpan, ...]


class Control:
    """Counts arrivals of a join, and divides what there is."""

    def __init__(self, node: SheddingJoin, shedding: Shedding) -> None:
        self._node = node
        self._shedding = shedding
        self._pane = node.pane
        self._inputs = len(node.inputs)
        self.counted = Counted(node)
        self._shares = SharesMet(node)
        self._tokens = self._tokens_of(shedding)
        self._sent: SentTo | None = None
        self._steady: tuple[StreamLoad, ...] | None = None

    def _tokens_of(self, query: Shedding) -> Tokens | None:
        if query.service_rate is None:
            return None
        of_a_window = query.service_rate * max(self._pane, *self.counted.retention)
        return Tokens(query.service_rate, self._pane, max(of_a_window, self._inputs))

    def follow(self, query: Shedding, sent: SentTo) -> None:
        """Has a part of the probes of a query, from now on, by what all buckets are sent."""
        before, self._tokens = self._tokens, self._tokens_of(query)
        if before is not None and self._tokens is not None:
            self._tokens.restore(before.snapshot())
        self._sent = sent

    def allot(self, shedding: Shedding) -> None:
        """Another part of what there is, from now on."""
        self._shedding = shedding

    def pay_until(self, number: int) -> None:
        """Uses the tokens of what other buckets are sent in panes before this one."""
        if self._tokens is not None and self._sent is not None:
            self._tokens.pay(self._sent(self._tokens.unpaid, number))

    def divide(
        self,
        number: int,
        arrived: Sequence[int],
        row_bytes: int,
        *,
        there: Sequence[int] | None = None,
        spans: Sequence[TimeSpan | None] | None = None,
        held: Sequence[int] | None = None,
        waiting: int = 0,
    ) -> Division:
        """What each input gets in a pane, the next one in which any row has arrived.

        Args:
            number: the pane's.
            arrived: how many tuples of each input.
            row_bytes: what a tuple takes.
            there: how many of these are still there; None for all.
            spans: from when to when they came; None for all of the pane.
            held: tuples of earlier panes that each input holds; None for all that came.
            waiting: tuples of later panes that are held beside them.

        Raises:
            DataError: more arrive than may probe, and none of them may be skipped.
        """
        there = arrived if there is None else there
        start = number * self._pane
        whole = TimeSpan(start, start + self._pane - 1)
        came = [own or whole for own in spans or (None,) * self._inputs]
        self.counted.add(number, arrived, there, came)
        full = self.counted.full
        inside = tuple(TimeSpan(own.first - start, own.last - start) for own in came)
        meets = self._shares.of(self.counted, start, arrived, inside)
        loads = [
            StreamLoad(rate, window, meets=share)
            for rate, window, share in zip(
                self.counted.rates(number), map(float, full), meets, strict=True
            )
        ]
        steady = self._held_on_to(loads)
        if held is not None:
            # What was let go does not come back: room for it is of use to the others.
            at_hand = map(sum, zip(held, there, strict=True))
            steady = tuple(replace(own, at_hand=n) for own, n in zip(steady, at_hand, strict=True))
        memory = self._shedding.most_tuples(row_bytes)
        room = None if memory is None else max(0.0, memory - waiting)
        resources = Resources(room, self._shedding.service_rate)
        allocation = self._shedding.allocated(steady, resources)
        windows = full
        # What is counted begins with a block, before what is held: where that fits, all of it stays.
        if room is None or held is None or sum(held) + sum(there) > room:
            windows = tuple(
                min(window, whole_part(kept))
                for window, kept in zip(full, allocation.windows, strict=True)
            )
            if self._shedding.is_estimated:
                windows = _one_each(windows, full)
        probes = self._probes(number, there, steady, allocation)
        return Division(tuple(arrived), probes, windows, inside)

    def left(self, held: Sequence[int], room: int) -> Sequence[int]:
        """What is left to each input where all hold more than there is room for, between two panes."""
        if self._steady is None:
            return shared_out(held, room)
        full = map(float, self.counted.full)
        loads = [
            replace(own, window=window, at_hand=here)
            for own, window, here in zip(self._steady, full, held, strict=True)
        ]
        resources = Resources(room, self._shedding.service_rate)
        kept = map(whole_part, self._shedding.allocated(loads, resources).windows)
        windows = tuple(map(min, held, kept))
        return _one_each(windows, held) if self._shedding.is_estimated else windows

    def _held_on_to(self, loads: Sequence[StreamLoad]) -> tuple[StreamLoad, ...]:
        """What to divide by: rates and shares of before, as long as none has clearly changed."""
        if self._steady is None or any(map(_differ, loads, self._steady)):
            self._steady = tuple(loads)
        return tuple(
            replace(before, window=now.window)
            for before, now in zip(self._steady, loads, strict=True)
        )

    def _probes(
        self,
        number: int,
        arrived: Sequence[int],
        loads: Sequence[StreamLoad],
        allocation: Allocation,
    ) -> tuple[int, ...]:
        """How many arrivals of each input probe; the tokens that they take are gone."""
        there_is = self._left_for(number)
        if there_is is None or sum(arrived) <= there_is:
            probes = tuple(arrived)
        elif self._shedding.may_skip:
            probes = self._shared(there_is, arrived, loads, allocation)
        else:
            raise self._too_many(sum(arrived), there_is)
        if self._tokens is not None and self._sent is None:
            self._tokens.use(sum(probes))
        return probes

    def _left_for(self, number: int) -> int | None:
        """How many may probe in a pane; None for all."""
        if self._tokens is None or self._sent is None:
            return None if self._tokens is None else self._tokens.fill(number)
        self.pay_until(number)
        # One half at most beforehand: a frequent key has its part by rows of the other.
        a_pane = self._tokens.rate * self._pane / self._shedding.parts
        each = self._inputs * self._shedding.probes_needed(a_pane / 2, self._inputs)
        parts = [
            self._tokens.part(own, each=each, buckets=self._shedding.parts)
            for own in self._sent(number, number + 1)
        ]
        return parts[0] if parts else None

    def _shared(
        self,
        there_is: int,
        arrived: Sequence[int],
        loads: Sequence[StreamLoad],
        allocation: Allocation,
    ) -> tuple[int, ...]:
        """The tokens, divided as the rates were; every input that totals need gets enough for them."""
        rate = self._shedding.service_rate
        least = floors(self._shedding.least_rates, self._inputs, rate)
        scale = there_is / rate if rate else 0.0
        needed = self._shedding.probes_needed(there_is, self._inputs)
        held = [
            min(max(math.ceil(own * scale - _ROUNDING), needed), count)
            for own, count in zip(least, arrived, strict=True)
        ]
        while sum(held) > there_is:
            held[held.index(max(held))] -= 1
        pot = Pot("probes", float(there_is), tuple(map(float, held)), tuple(map(float, arrived)))
        if self._shedding.strategy == BEST:
            shares = best_rates(pot, allocation.windows, loads)
        else:
            shares = BY_NAME[self._shedding.strategy](pot, loads)
        return _rounded(shares, there_is)

    def _too_many(self, arrived: int, there_is: int) -> DataError:
        time_type = self._node.time_type
        unit = USUAL_UNIT[time_type]
        rate = 0.0 if self._tokens is None else self._tokens.rate
        allowed = rate * (ticks_per_unit(unit, time_type) or 1.0)
        span = show_ticks(self._pane, time_type) + (" ticks" if unit == "tick" else "")
        who = "the streams" if self._shedding.parts == 1 else "the streams, in one bucket,"
        return DataError(
            "service-rate-exceeded",
            f"{who} bring {arrived:,} tuples within {span}, and the"
            f" service rate of {allowed:,.4g} per {unit} has {there_is:,} probes left for them",
            reason=f"in the join of {', '.join(self._node.aliases)}; probes of a lull are saved up,"
            " a window's worth or one per stream"
            + (
                f"; {self._shedding.parts} buckets divide them by what each is sent"
                if self._shedding.parts > 1
                else ""
            ),
            hint="raise service_rate, or set on_service_rate to 'shed' for a part of the answer",
        )

    def snapshot(self) -> dict[str, int]:
        """What is counted, as numbers by name."""
        numbers = {} if self._tokens is None else self._tokens.snapshot()
        numbers |= self.counted.snapshot() | self._shares.snapshot()
        for port, own in enumerate(self._steady or ()):
            numbers |= {f"rate {port}": bits(own.rate), f"meets {port}": bits(own.meets)}
        return numbers

    def restore(self, numbers: dict[str, int]) -> None:
        """Puts it back."""
        if self._tokens is not None:
            self._tokens.restore(numbers)
        self.counted.restore(numbers)
        self._shares.restore(numbers)
        rates, meets = (numbered(numbers, name) for name in ("rate ", "meets "))
        loads = [
            StreamLoad(number_of(rates[port]), 0.0, meets=number_of(meets[port])) for port in rates
        ]
        self._steady = tuple(loads) if loads else None


def shared_out(held: Sequence[int], room: int) -> list[int]:
    """What is left to each of several inputs when all hold too much: in proportion, one at least.

    Examples:
        >>> shared_out([30, 9, 1], 20)
        [15, 4, 1]
    """
    whole = sum(held)
    left = [min(own, max(1, own * room // whole)) for own in held]
    while sum(left) > room:
        left[left.index(max(left))] -= 1
    return left


def _one_each(windows: Sequence[int], full: Sequence[int]) -> tuple[int, ...]:
    """The same windows, none of them empty that need not be: what has no chance is never found."""
    given = list(windows)
    for at, tuples in enumerate(full):
        if tuples and not given[at]:
            largest = given.index(max(given))
            given[largest] -= given[largest] > 1
            given[at] = 1
    return tuple(given)


def _differ(load: StreamLoad, before: StreamLoad) -> bool:
    """Whether a rate has clearly changed, or the share that a probe meets."""
    share, share_before = max(load.meets, HARDLY), max(before.meets, HARDLY)
    return _has_changed(load.rate, before.rate) or _has_changed(share, share_before)


def _has_changed(now: float, before: float) -> bool:
    return now > before * CLEARLY or before > now * CLEARLY


def _rounded(shares: Sequence[float], most: int) -> tuple[int, ...]:
    """Whole numbers close to shares, that together are no more than these, and than there is."""
    whole = [whole_part(share) for share in shares]
    left = min(most, whole_part(sum(shares))) - sum(whole)
    # Those that lost the most by rounding get one more.
    by_loss = sorted(range(len(shares)), key=lambda at: whole[at] - shares[at])
    for at in by_loss[: max(0, left)]:
        whole[at] += 1
    return tuple(whole)
