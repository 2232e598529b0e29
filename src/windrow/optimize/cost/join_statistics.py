"""A window join in the numbers of the cost model: rates, windows, keys and shares, with sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations

from windrow.optimize.cost.joins import Condition, Joined, Key, matchless, output
from windrow.optimize.cost.kernels import CALLED, COMPARED, IN_BLOCKS
from windrow.optimize.plan_statistics import PlanStatistics, assumed_share
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.routes import ordered_pairs, predicate_inputs
from windrow.plan.exprs import Expr
from windrow.plan.statistics import Figure


@dataclass(frozen=True)
class Sized:
    """A join with its numbers.

    Attributes:
        known: the numbers by name, each with where it came from.
        ways: the join by its windows; under EITHER WAY both ways, which backward evaluation takes
            one after the other.
        widest: by windows that all ways lie within, as the other algorithms take them.
        output: rows that come out per tick.
    """

    known: tuple[tuple[str, Figure], ...]
    ways: tuple[Joined, ...]
    widest: Joined
    output: float


def sized(node: MultiJoin, rates: list[Figure], numbers: PlanStatistics) -> Sized:
    """The join with all numbers that its cost rests on.

    Args:
        node: the join.
        rates: of its inputs.
        numbers: where the others are looked up.
    """
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
    return Sized((*known, *of_keys, *of_tests, *of_windows), ways, widest, _out(node, ways, widest))


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


def _tests(node: MultiJoin, numbers: PlanStatistics) -> tuple[list[Condition], Named]:
    passing = shares(node, numbers)
    known = [(f"share({p.text})", f) for p, f in zip(node.predicates, passing, strict=True)]
    both = shares_together(node, passing, numbers)
    known += [
        (f"share({node.predicates[one].text} AND {node.predicates[other].text})", figure)
        for (one, other), figure in both.items()
    ]
    ordered = {pair.predicate for pair in ordered_pairs(node)}
    tests = [
        Condition(
            inputs, figure.value, _test_us(predicate), _us_in_blocks(predicate), at in ordered
        )
        for at, (inputs, figure, predicate) in enumerate(
            zip(predicate_inputs(node), passing, node.predicates, strict=True)
        )
    ]
    return [*tests, *(_correction(tests, pair, figure) for pair, figure in both.items())], known


def _correction(tests: list[Condition], pair: tuple[int, int], figure: Figure) -> Condition:
    """How many times as many pass two conditions as would if they had nothing to do with each other."""
    one, other = (tests[at] for at in pair)
    return Condition(
        one.inputs | other.inputs,
        figure.value / (one.share * other.share),
        is_ordered=one.is_ordered and other.is_ordered,
    )


def _test_us(predicate: Expr) -> float:
    if predicate.comparisons:
        return COMPARED
    return CALLED if predicate.calls else IN_BLOCKS


def _us_in_blocks(predicate: Expr) -> float:
    return CALLED if predicate.calls else IN_BLOCKS


def _held(
    node: MultiJoin, rates: list[float], numbers: PlanStatistics
) -> tuple[tuple[float, ...], Named]:
    """The tuples that each window holds where windows count them: () where none does."""
    if node.counts is None:
        return (), []
    held, known = [], []
    for child, rate, window in zip(node.inputs, rates, node.counts.own, strict=True):
        most = float("inf")
        if window.rows is not None:
            most = float(window.rows)
            for column in window.partition:
                found = numbers.different(child, column)
                known.append((f"keys({column})", found))
                most *= found.value
        if window.ticks is not None:
            most = min(most, rate * window.ticks)
        if node.counts.within is not None:  # its part of the newest of all streams
            most = min(most, node.counts.within * rate / sum(rates))
        held.append(most)
    return tuple(held), known


def _wider(
    one: tuple[tuple[int, ...], ...], other: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(max, mine, theirs)) for mine, theirs in zip(one, other, strict=True))


def _out(node: MultiJoin, ways: tuple[Joined, ...], widest: Joined) -> float:
    """What comes out: combinations, each once though it meets both ways, and rows alone."""
    pairs = min(sum(map(output, ways)), output(widest))
    if node.kind == "inner":
        return pairs
    alone = [rate * matchless(widest, at, 1 - at) for at, rate in enumerate(widest.rates)]
    if node.kind == "semi":
        return widest.rates[0] - alone[0]
    if node.kind == "anti":
        return alone[0]
    return pairs + sum(alone[at] for at in node.tracked)


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
