"""The work of a window join of any number of streams, plan by plan.

A new tuple of a stream s meets the other streams one by one. Where tuples come in the order of
time, those of stream j that it may meet lie in a period that the closed windows bound:

        t(s) - upper[j][s]                       t(s)
    --------[======================================]----> t(j)       cut at t(s) + upper[s][j]
                                                                     where that is negative

Each step multiplies the combinations so far by the tuples in the period and by the share of them
that match. A pair matches by one in as many as the stream with more different keys has of them.

A sweep takes what there is of a stream as far as windows reach beyond the oldest tuples of the
others. Of a stream whose windows are wide it has taken more when a tuple of a narrow one comes:
where windows differ, tuples of the narrow ones meet most pairs, and first those that have few
partners.

    a - b within 5, b - c within 2000       taken so far       a, b  ----->|
                                                               c     ----------------------->|
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import permutations
from math import exp, inf

GIVEN = 0.05
"""Microseconds for a combination that a sweep gives and a condition then rejects, beside the test."""


@dataclass(frozen=True)
class Key:
    """An equality: per stream how many different values it has; None where it takes no part."""

    distinct: tuple[float | None, ...]


@dataclass(frozen=True)
class PricedCondition:
    """A further condition.

    Attributes:
        inputs: the streams it reads.
        share: of combinations, those that pass.
        us: microseconds to test one, in the loops of backward evaluation.
        us_in_blocks: the same where candidates are gathered, and tested together.
        is_ordered: whether it compares numbers by their order, which a sweep tests in its loops.
    """

    inputs: frozenset[int]
    share: float
    us: float = 0.0
    us_in_blocks: float = 0.0
    is_ordered: bool = False


@dataclass(frozen=True)
class Joined:
    """Streams to be joined.

    Attributes:
        rates: tuples of each per tick.
        upper: the largest t(b) - t(a), in ticks, per ordered pair.
        keys: the equalities.
        tests: the other conditions.
        ahead: tuples that each may run ahead of the others, for it comes in batches.
        held: the tuples that each window has at most, where windows count them.
        probing: where some are shed, the tuples of each per tick that probe; `rates` are then
            those that are kept. () for all.
    """

    rates: tuple[float, ...]
    upper: tuple[tuple[int, ...], ...]
    keys: tuple[Key, ...] = ()
    tests: tuple[PricedCondition, ...] = ()
    ahead: tuple[float, ...] = ()
    held: tuple[float, ...] = ()
    probing: tuple[float, ...] = ()

    @property
    def streams(self) -> range:
        """The streams by number."""
        return range(len(self.rates))


@dataclass(frozen=True)
class Work:
    """What a plan does per tick.

    Attributes:
        tuples: tuples taken in.
        lookups: times that the tuples of a key, or of a period, are asked for.
        touched: tuples looked at where streams share a key.
        scanned: tuples looked at where streams share no key: a scan goes through all, by hash too.
        found: combinations made on the way, complete ones included.
        results: combinations that come out.
        testing: microseconds that conditions beside keys take.
    """

    tuples: float = 0
    lookups: float = 0
    touched: float = 0
    scanned: float = 0
    found: float = 0
    results: float = 0
    testing: float = 0

    def __add__(self, other: Work) -> Work:
        return Work(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def met(joined: Joined, start: int, chosen: Sequence[int], added: int) -> float:
    """The tuples of a stream in the period that those chosen leave it; the first is the newest."""
    upper = joined.upper
    length = upper[added][start] + min(0, upper[start][added])
    for one in chosen:
        if one != start:
            length = min(length, upper[added][one] + upper[one][added])
    return min(joined.rates[added] * max(0, length), joined.held[added] if joined.held else inf)


def matching(joined: Joined, chosen: Collection[int], added: int) -> float:
    """The share of a stream's tuples that match combinations of those chosen by their keys."""
    share = 1.0
    for key in joined.keys:
        own = key.distinct[added]
        others = [key.distinct[one] for one in chosen]
        theirs = [number for number in others if number is not None]
        if own is not None and theirs:
            share /= max(1.0, own, *theirs)
    return share


def has_key(joined: Joined, chosen: Collection[int], added: int) -> bool:
    """Whether a stream shares a key with one of those chosen."""
    return any(
        key.distinct[added] is not None and any(key.distinct[one] is not None for one in chosen)
        for key in joined.keys
    )


def ready(joined: Joined, chosen: Collection[int], added: int) -> list[PricedCondition]:
    """The conditions that a stream makes testable."""
    before, now = set(chosen), {*chosen, added}
    return [test for test in joined.tests if test.inputs <= now and not test.inputs <= before]


def passed(
    candidates: float, tests: Sequence[PricedCondition], *, in_blocks: bool = False
) -> tuple[float, float]:
    """How many candidates pass conditions, tested one after the other, and the time that takes."""
    us = 0.0
    for test in tests:
        us += candidates * (test.us_in_blocks if in_blocks else test.us)
        candidates *= test.share
    return candidates, us


Met = Callable[[Joined, int, Sequence[int], int], float]
"""The tuples of a stream that one of another meets, as `met` has it."""


def backward(
    joined: Joined, start: int, order: Sequence[int], *, is_hashed: bool, in_period: Met = met
) -> Work:
    """The work for the new tuples of one stream that meet the others in an order."""
    combinations = joined.probing[start] if joined.probing else joined.rates[start]
    lookups = touched = scanned = found = testing = 0.0
    chosen = [start]
    for added in order:
        share = matching(joined, chosen, added)
        period = in_period(joined, start, chosen, added)
        lookups += combinations
        if not has_key(joined, chosen, added):
            scanned += combinations * period
        else:
            touched += combinations * period * (share if is_hashed else 1.0)
        combinations, us = passed(combinations * period * share, ready(joined, chosen, added))
        found += combinations
        testing += us
        chosen.append(added)
    return Work(joined.rates[start], lookups, touched, scanned, found, combinations, testing)


def backward_join(joined: Joined, orders: Sequence[Sequence[int]], *, is_hashed: bool) -> Work:
    """The work of backward evaluation: that of each stream's new tuples, by its own order."""
    works = (backward(joined, *one, is_hashed=is_hashed) for one in enumerate(orders))
    return sum(works, Work())


def sweep_join(joined: Joined, orders: Sequence[Sequence[int]], *, is_hashed: bool) -> Work:
    """The work of forward evaluation: conditions that its loops do not test wait for the end.

    What comes out of the loops is tested by all conditions, those of the loops once more.
    """
    # Comparing is what its loops do with a tuple that they look at: it takes no time beside.
    ordered = tuple(replace(test, us=0.0) for test in joined.tests if test.is_ordered)
    early = replace(joined, tests=ordered)
    works = (
        backward(early, *one, is_hashed=is_hashed, in_period=met_by_sweep)
        for one in enumerate(orders)
    )
    again = [replace(test, share=1.0) for test in early.tests]
    late = [test for test in joined.tests if not test.is_ordered]
    return _tested_at_the_end(sum(works, Work()), [*again, *late])


def untested_join(joined: Joined, orders: Sequence[Sequence[int]], *, is_hashed: bool) -> Work:
    """The work of loops that know windows and keys alone: all else is tested at the end."""
    work = backward_join(replace(joined, tests=()), orders, is_hashed=is_hashed)
    return _tested_at_the_end(work, joined.tests)


def _tested_at_the_end(work: Work, tests: Sequence[PricedCondition]) -> Work:
    """The work with that of conditions on all that comes out of the loops."""
    results, us = passed(work.results, tests, in_blocks=True)
    given = GIVEN * (work.results - results)
    return replace(work, results=results, testing=work.testing + us + given)


def met_by_sweep(joined: Joined, start: int, chosen: Sequence[int], added: int) -> float:
    """The tuples of a stream that one of another meets, where a sweep has taken both so far."""
    upper, streams = joined.upper, joined.streams
    beyond = [min(upper[i][k] for i in streams if i != k) for k in streams]
    usual = upper[added][start] + min(0, upper[start][added])
    swept = upper[added][start] + min(upper[start][added], beyond[added] - beyond[start])
    level = _level(joined, abs(swept - usual))
    length = level * usual + (1 - level) * max(0, swept)
    for one in chosen:
        if one != start:
            length = min(length, upper[added][one] + upper[one][added])
    return joined.rates[added] * max(0, length)


def _level(joined: Joined, distance: float) -> float:
    """How often streams are level though one may be taken so far ahead: where slices of them end.

    A sweep takes all of a slice before the next one comes. What of a slice lies within the distance of
    its beginning finds the others level.
    """
    if not joined.ahead or distance <= 0:
        return 1.0
    slice_ticks = min(
        (rows / rate for rows, rate in zip(joined.ahead, joined.rates, strict=True) if rate),
        default=0.0,
    )
    if slice_ticks >= distance:
        return distance / (2 * slice_ticks)
    return 1 - slice_ticks / (2 * distance)


def pipeline(joined: Joined, order: Sequence[int], *, is_hashed: bool) -> Work:
    """The work of a pipeline of binary joins, which keeps what each level has found.

    At each level combinations from below probe the stream's window, and the stream's tuples probe
    the combinations kept.
    """
    combinations = joined.rates[order[0]]
    tuples = lookups = touched = scanned = found = testing = 0.0
    for level in range(1, len(order)):
        below, added = order[:level], order[level]
        share = matching(joined, below, added)
        pairs = combinations * met(joined, below[0], below, added)
        pairs += combinations * joined.rates[added] * _kept(joined, below, added)
        early = combinations * ahead_of(joined, added) + joined.rates[added] * ahead_of(
            joined, below[0]
        )
        tuples += combinations + joined.rates[added]
        lookups += combinations + joined.rates[added]
        if not has_key(joined, below, added):
            scanned += pairs + early
        else:
            touched += (pairs + early) * (share if is_hashed else 1.0)
        tests = ready(joined, below, added)
        combinations, us = passed(pairs * share, tests, in_blocks=True)
        found += combinations
        testing += us
    return Work(tuples, lookups, touched, scanned, found, combinations, testing)


def ahead_of(joined: Joined, stream: int) -> float:
    """The tuples beyond its window that a stream holds, on average: half of the time it is ahead.

    Only what is kept in the order of arrival is gone through for them.
    """
    return joined.ahead[stream] / 2 if joined.ahead else 0.0


def _kept(joined: Joined, below: Sequence[int], added: int) -> float:
    """How many ticks combinations from below are kept for a stream."""
    upper = joined.upper
    return max(0, min(upper[one][added] + min(0, upper[added][one]) for one in below))


def output(joined: Joined) -> float:
    """Results per tick: equation 12 for two streams, along the closed windows for more."""
    others = [[other for other in joined.streams if other != start] for start in joined.streams]
    return backward_join(joined, others, is_hashed=True).results


def matchless(joined: Joined, own: int, other: int) -> float:
    """The share of a stream's tuples that another has no match for, before them or after.

    Of its keys the other stream has as many as it has different ones; of these so many tuples lie
    in reach, on average, and none of them with the probability of Poisson's law.
    """
    upper = joined.upper
    candidates = joined.rates[other] * max(0, upper[own][other] + upper[other][own])
    pairs, _ = passed(candidates * matching(joined, [own], other), ready(joined, [own], other))
    shared = 1.0
    for key in joined.keys:
        mine, theirs = key.distinct[own], key.distinct[other]
        if mine is not None and theirs is not None:
            shared *= min(1.0, theirs / mine)
    return 1 - shared * (1 - exp(-pairs / shared))


MOST_ORDERED = 6
"""Streams up to which every order is weighed; beyond, each step takes what leaves fewest."""

MOST_IN_PIPELINE = 5
"""The same for pipelines, which have one order of all streams."""


def best_orders(*ways: Joined) -> tuple[tuple[int, ...], ...]:
    """Per stream, the order in which its new tuples meet the others at the least work.

    `ways` is the join; under EITHER WAY, both.
    """
    return tuple(_best_order(ways, start) for start in ways[0].streams)


def _best_order(ways: Sequence[Joined], start: int) -> tuple[int, ...]:
    """The order with the fewest combinations on the way; of equals the first in FROM."""
    others = [stream for stream in ways[0].streams if stream != start]
    if len(others) < MOST_ORDERED:
        return min(permutations(others), key=lambda order: _effort(ways, start, order))
    chosen: list[int] = []
    while others:
        added = min(others, key=lambda one: _effort(ways, start, [*chosen, one]))
        chosen.append(added)
        others.remove(added)
    return tuple(chosen)


def _effort(ways: Sequence[Joined], start: int, order: Sequence[int]) -> float:
    work = sum((backward(joined, start, order, is_hashed=True) for joined in ways), Work())
    return work.lookups + work.touched + work.scanned + work.found


def best_pipeline(
    joined: Joined, cost: Callable[[Work], float], *, is_hashed: bool
) -> tuple[int, ...]:
    """The order of all streams, from the bottom of a pipeline to its top, that costs least.

    By hash every level has a key, if some order has one at each. `cost` says what some work takes.
    """
    if len(joined.rates) > MOST_IN_PIPELINE:
        found = [(start, *_best_order([joined], start)) for start in joined.streams]
    else:
        found = list(permutations(joined.streams))
    if is_hashed:
        found = [order for order in found if _is_keyed(joined, order)] or found
    return min(found, key=lambda order: cost(pipeline(joined, order, is_hashed=is_hashed)))


def _is_keyed(joined: Joined, order: Sequence[int]) -> bool:
    """Whether each stream shares a key with those before it."""
    return all(has_key(joined, order[:at], order[at]) for at in range(1, len(order)))
