"""Rates and different keys at every place of a plan, with where each number came from.

What a stream brings is told by a hint or found in its data. On the way up a filter lets a share
pass, a projection renames columns, and a join gives what its estimate says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import combinations
from math import expm1, log1p, prod
from typing import Generic, TypeVar

from windrow.optimize.cost.joins import Joined, Key, PricedCondition, matchless, output
from windrow.optimize.cost.structures import CALLED, COMPARED, IN_BLOCKS, Direction
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.probe_orders import ordered_pairs, predicate_inputs
from windrow.plan.exprs import Band, Expr
from windrow.plan.statistics import (
    ASSUMED,
    NOTHING_KNOWN,
    Figure,
    Measured,
    Statistics,
    total,
)

Place = TypeVar("Place")

ASSUMED_KEYS = 1_000.0
"""Different keys where nobody knows: some, far fewer than tuples."""

SHARE_OF_BAND, SHARE_OF_OTHERS = 0.01, 1 / 3
"""The share that passes a condition: one that bounds a difference from both sides, and any other."""


@dataclass(frozen=True)
class PlanStatistics:
    """The numbers of a query's streams.

    Attributes:
        hints: what the user has said, by stream.
        measured: looks numbers up in the data; None where there is none to look at.
        bounded: the streams that are there as a whole.
        is_running: whether measured rates go before hints.
        is_restored: whether every micro-batch begins with a state that is taken up anew.
        speed: how many times as fast all streams are taken to come as they are known to.
    """

    hints: Mapping[str, Statistics] = field(default_factory=dict)
    measured: Measured[str] | None = None
    bounded: frozenset[str] = frozenset()
    is_running: bool = False
    is_restored: bool = False
    speed: float = 1.0

    def rate(self, node: PhysicalNode) -> Figure | None:
        """Rows of a node per tick; None where that is not known."""
        return node.rate(self)

    def of_stream(self, stream: str) -> Figure | None:
        """Tuples of a stream per tick; None where nobody knows."""
        said = self.hints.get(stream, NOTHING_KNOWN).rate
        found = self.measured.rate(stream) if self.measured else None
        known = (found or said) if self.is_running else (said or found)
        return known and replace(known, value=known.value * self.speed)

    def has_stated_rate(self, stream: str) -> bool:
        """Whether someone has said how many tuples of a stream come."""
        return self.hints.get(stream, NOTHING_KNOWN).rate is not None

    def passing_rate(self, node: PhysicalNode, predicates: tuple[Expr, ...]) -> Figure | None:
        """Rows of a node per tick that pass all of some conditions."""
        rate = self.rate(node)
        if rate is None:
            return None
        share = self.passing(predicates, [node])
        if share is None:
            share = Figure(SHARE_OF_OTHERS ** len(predicates), ASSUMED)
        passing = f"{rate.source}, of which {share.value:.2g} pass: {share.source}"
        return Figure(rate.value * share.value, passing)

    def is_bounded(self, node: PhysicalNode) -> bool:
        """Whether all streams below a node are there as a whole."""
        return all(scan.stream in self.bounded for scan in node.scans)

    def different(self, node: PhysicalNode, column: str) -> Figure:
        """How many different values a column of a node has."""
        found = self._looked_up(node, column)
        return found or Figure(ASSUMED_KEYS, ASSUMED)

    def held(self, node: PhysicalNode) -> tuple[Figure, Figure] | None:
        """How many rows of a node are alive, and how many different ones; None where unknown.

        The paper's equation 1: of n equally likely rows, n (1 - (1 - 1/n)^(rate x w)) are alive. Those
        of a UNION ALL may all be different from each other's.
        """
        parts = _united(node)
        if len(parts) > 1:
            return self._held_together(parts)
        rate, ticks = self.rate(node), node.alive_ticks
        columns = [self._looked_up(node, name) for name in node.schema.names]
        known = [figure for figure in columns if figure is not None]
        if rate is None or ticks is None or len(known) < len(columns):
            return None
        rows = rate.value * ticks
        possible = max(1.0, prod(figure.value for figure in known))
        sources = dict.fromkeys(figure.source for figure in known)
        different = -possible * expm1(rows * log1p(-1 / possible)) if possible > 1 else min(rows, 1)
        return Figure(rows, rate.source), Figure(different, ", ".join(sources))

    def ahead(self, node: PhysicalNode) -> float:
        """The rows of a stream that come at once, and run ahead of the others."""
        sources = node.scans
        if self.measured is None or len(sources) != 1:
            return 0.0
        return float(self.measured.rows_per_batch(sources[0].stream))

    def missing(self, node: PhysicalNode) -> str:
        """What to give so that the rate of a node is known; "" where nothing helps."""
        if not all(part.has_rate for part in node.walk()):
            return ""
        names = [s.stream for s in node.scans if self.rate(s) is None]
        return ", ".join(f"rate= of {name}" for name in dict.fromkeys(names))

    def within(
        self, left: tuple[PhysicalNode, str], right: tuple[PhysicalNode, str], band: Band
    ) -> Figure | None:
        """The share of pairs of two columns whose difference a band allows."""
        origins = left[0].source_of(left[1]), right[0].source_of(right[1])
        if self.measured is None or origins[0] is None or origins[1] is None or band.scale:
            return None
        return self.measured.within(origins[0], origins[1], band.low, band.high)

    def passing(self, predicates: tuple[Expr, ...], sides: Sequence[PhysicalNode]) -> Figure | None:
        """The share of combinations of rows, one of each side, that pass all of some conditions."""
        read = [
            _read(side, [name for p in predicates for name in p.columns])
            for side in sides
            if any(name in side.schema.names for p in predicates for name in p.columns)
        ]
        known = [one for one in read if one is not None]
        if self.measured is None or not read or len(known) < len(read):
            return None
        return self.measured.passing(predicates, known)

    def _held_together(self, parts: Sequence[PhysicalNode]) -> tuple[Figure, Figure] | None:
        held = [self.held(part) or (None, None) for part in parts]
        alive, different = (total(own) for own in zip(*held, strict=True))
        return None if alive is None or different is None else (alive, different)

    def _looked_up(self, node: PhysicalNode, column: str) -> Figure | None:
        origin = node.source_of(column)
        if origin is None:
            return None
        stream, own = origin
        said = self.hints.get(stream, NOTHING_KNOWN).different(own)
        return said or (self.measured.different(stream, own) if self.measured else None)


def _united(node: PhysicalNode) -> list[PhysicalNode]:
    """The inputs of a UNION ALL, each below what is computed of it; else the node alone."""
    whole = node.whole_inputs
    if len(whole) > 1:
        return list(whole)
    if len(whole) == 1 and len(whole[0].whole_inputs) > 1:
        return [node.with_inputs([own]) for own in whole[0].whole_inputs]
    return [node]


def _read(side: PhysicalNode, names: list[str]) -> tuple[str, dict[str, str]] | None:
    """The stream of a side and its columns by their names above; None where one is computed."""
    if len(side.scans) != 1:
        return None
    origins = {name: side.source_of(name) for name in names if name in side.schema.names}
    columns = {name: origin[1] for name, origin in origins.items() if origin is not None}
    return (side.scans[0].stream, columns) if len(columns) == len(origins) else None


def assumed_share(predicate: Expr) -> Figure:
    """The share of combinations that pass a condition, where nothing tells it."""
    is_band = any(band.low is not None and band.high is not None for band in predicate.bands)
    return Figure(SHARE_OF_BAND if is_band else SHARE_OF_OTHERS, ASSUMED)


@dataclass(frozen=True)
class Sized:
    """A join with its numbers.

    Attributes:
        known: the numbers by name, each with where it came from.
        ways: the join by its windows; under EITHER WAY both ways, which backward evaluation takes
            one after the other.
        widest: by windows that all ways lie within, as the other algorithms take them.
        output: rows that come out per tick.
        directions: of two streams, each window and what happens to it in a tick, in each case to
            reckon with; () where that follows from `widest`.
    """

    known: tuple[tuple[str, Figure], ...]
    ways: tuple[Joined, ...]
    widest: Joined
    output: float
    directions: tuple[tuple[Direction, Direction], ...] = ()


def sized(node: MultiJoin, rates: list[Figure], numbers: PlanStatistics) -> Sized:
    """The join with all numbers that its cost rests on, beside the rates of its inputs."""
    known = [(f"rate({alias})", rate) for alias, rate in zip(node.aliases, rates, strict=True)]
    keys, of_keys = _keys(node, numbers)
    tests, of_tests = _tests(node, numbers)
    held, of_windows = _held(node, [rate.value for rate in rates], numbers)
    joined = Joined(
        tuple(rate.value for rate in rates),
        node.graph.upper,
        tuple(keys),
        tuple(tests),
        tuple(map(numbers.ahead, node.inputs)),
        held,
    )
    ways = tuple(replace(joined, upper=graph.upper) for graph in node.ways)
    widest = replace(joined, upper=reduce(_wider, (graph.upper for graph in node.ways)))
    every = tuple(
        dict.fromkeys((*known, *of_keys, *of_tests, *of_windows))
    )  # keys may divide windows
    return Sized(every, ways, widest, _out(node, ways, widest))


Named = list[tuple[str, Figure]]


def _keys(node: MultiJoin, numbers: PlanStatistics) -> tuple[list[Key], Named]:
    keys, known = [], []
    for key in node.classes:
        different: list[float | None] = [None] * len(node.inputs)
        for at in key.inputs:
            column = key.columns[at]
            assert column is not None
            found = numbers.different(node.inputs[at], column)
            known.append((f"keys({column})", found))
            different[at] = found.value
        keys.append(Key(tuple(different)))
    return keys, known


def _tests(node: MultiJoin, numbers: PlanStatistics) -> tuple[list[PricedCondition], Named]:
    passing = shares(node, numbers)
    known = [(f"share({p.text})", f) for p, f in zip(node.predicates, passing, strict=True)]
    both = shares_together(node, passing, numbers)
    known += [
        (f"share({node.predicates[one].text} AND {node.predicates[other].text})", figure)
        for (one, other), figure in both.items()
    ]
    ordered = {pair.predicate for pair in ordered_pairs(node)}
    tests = []
    every = zip(predicate_inputs(node), passing, node.predicates, strict=True)
    for at, (inputs, figure, predicate) in enumerate(every):
        in_blocks = CALLED if predicate.calls else IN_BLOCKS
        us = COMPARED if predicate.comparisons else in_blocks
        tests.append(PricedCondition(inputs, figure.value, us, in_blocks, is_ordered=at in ordered))
    return [*tests, *(_correction(tests, pair, figure) for pair, figure in both.items())], known


def _correction(
    tests: list[PricedCondition], pair: tuple[int, int], figure: Figure
) -> PricedCondition:
    """How many times as many pass two conditions as would if they had nothing to do with each other."""
    one, other = (tests[at] for at in pair)
    return PricedCondition(
        one.inputs | other.inputs,
        figure.value / (one.share * other.share),
        is_ordered=one.is_ordered and other.is_ordered,
    )


def _held(
    node: MultiJoin, rates: list[float], numbers: PlanStatistics
) -> tuple[tuple[float, ...], Named]:
    """The tuples that each window holds where windows count them, and the numbers that tell it."""
    known: Named = []

    def different(child: PhysicalNode, column: str) -> float:
        found = numbers.different(child, column)
        known.append((f"keys({column})", found))
        return found.value

    return node.counted_rows(rates, different), known


def _wider(
    one: tuple[tuple[int, ...], ...], other: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(max, mine, theirs)) for mine, theirs in zip(one, other, strict=True))


def _out(node: MultiJoin, ways: tuple[Joined, ...], widest: Joined) -> float:
    """What comes out: combinations, each once though it meets both ways, and rows alone."""
    pairs = min(sum(map(output, ways)), output(widest))
    rates = widest.rates
    return node.results(pairs, rates, lambda at: rates[at] * matchless(widest, at, 1 - at))


MOST_PREDICATES = 6
"""Conditions of a join up to which pairs of them are looked up together."""

TELLING = 0.001
"""The least share by which two conditions are expected to pass that a sample can correct."""


def shares(node: MultiJoin, numbers: PlanStatistics) -> list[Figure]:
    """Per predicate, the share that passes, looked up in the data where that can be."""
    return [
        _within(node, predicate, numbers)
        or numbers.passing((predicate,), node.inputs)
        or assumed_share(predicate)
        for predicate in node.predicates
    ]


def _within(node: MultiJoin, predicate: Expr, numbers: PlanStatistics) -> Figure | None:
    """The share of one that is one band: all pairs of a sample are compared, not some."""
    if len(predicate.bands) != 1:
        return None
    band = predicate.bands[0]
    sides = [
        next(child for child in node.inputs if column in child.schema.names)
        for column in (band.left, band.right)
    ]
    return numbers.within((sides[0], band.left), (sides[1], band.right), band)


def shares_together(
    node: MultiJoin, passing: Sequence[Figure], numbers: PlanStatistics
) -> dict[tuple[int, int], Figure]:
    """Per two predicates that share a stream, the share that passes both, where data tells it.

    `a.x < b.x - 900 AND b.x < c.x - 50`: what passes the first has a large b.x, and hardly ever the second.
    """
    if len(passing) > MOST_PREDICATES:
        return {}
    found, read = {}, predicate_inputs(node)
    for one, other in combinations(range(len(passing)), 2):
        is_apart = len(read[one] | read[other]) < 3 or read[one].isdisjoint(read[other])
        if is_apart or passing[one].value * passing[other].value < TELLING:
            continue
        together = (node.predicates[one], node.predicates[other])
        figure = numbers.passing(together, node.inputs)
        if figure is not None:
            found[one, other] = figure
    return found


class Remembered(Generic[Place]):
    """The numbers of some data as they are when first asked for, each once; a `Measured`.

    One planning asks for the same ones again and again.
    """

    def __init__(self, measured: Measured[Place]) -> None:
        self.is_restored = measured.is_restored
        self.rate = cache(measured.rate)
        self.different = cache(measured.different)
        self.rows_per_batch = cache(measured.rows_per_batch)
        self.within = cache(measured.within)
        self._passing = cache(
            lambda predicates, read: measured.passing(predicates, [(at, dict(n)) for at, n in read])
        )

    def passing(
        self,
        predicates: tuple[Expr, ...],
        sides: Sequence[tuple[Place, Mapping[str, str]]],
        /,
    ) -> Figure | None:
        """The share of combinations of rows that pass all of some conditions."""
        read = tuple((place, tuple(sorted(columns.items()))) for place, columns in sides)
        return self._passing(predicates, read)
