"""How combinations of a window join grow from new rows, one input at a time, and are tested.

**The search** goes depth first by blocks, breadth first within a block: a block of partial
combinations is extended by one input into blocks of bounded size, and each of those is completed
before the next is made. So memory is bounded by the number of inputs, whatever the fan-out.

**The tests** (`step_tests`) are what a step asks of its candidates beyond windows and keys. Each
predicate is tested as soon as its inputs are there: what fails is not extended. The predicates that
an added input makes testable fall into two kinds:

    compared    comparisons of a column of the added input with one of an input chosen before:
                tested by rank, inside the loop that scans the period, or on what a hash found
    rest        anything else: tested on blocks of candidates (`join_steps`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.bew_hash import ROW, TIME, WORD
from windrow.kernels.bew_period import (
    AT,
    FILLED,
    LOOKUPS,
    PROBE,
    TOUCHED,
    FoundMatches,
    Probes,
    Progress,
    before_start,
    no_progress,
    periods,
)
from windrow.kernels.bew_scan import Wanted
from windrow.kernels.jit import writable
from windrow.operators.columns.changes import ROW_BITS, Places
from windrow.operators.columns.key_columns import Words, equal_values
from windrow.operators.columns.total_order import Flags, Ranked, compare, ranked_sides
from windrow.operators.engine.base import Counters
from windrow.operators.joins.bew_window import JoinWindow, Scan, buckets, key_of
from windrow.operators.joins.join_steps import Predicates, Route, only_one_way, within_windows
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.plan.exprs import Comparison
from windrow.schema import MAX_TICK, MIN_TICK

Int64s = NDArray[np.int64]

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "<>": "<>"}


@dataclass(frozen=True)
class AskedComparison:
    """`added operator chosen`: the added row's value against that of a row chosen before.

    Attributes:
        added: the column of the added input, as a line of ranks.
        operator: how it is compared.
        chosen: the other column.
        source: which of the inputs chosen has it (position in the route's order).
    """

    added: Ranked
    operator: str
    chosen: Ranked
    source: int


@dataclass(frozen=True)
class StepTests:
    """The tests of one step, in the order in which they are made."""

    compared: tuple[AskedComparison, ...]
    rest: tuple[int, ...]

    @property
    def lines(self) -> tuple[Ranked, ...]:
        """The added input's values that a scan compares: one line per test.

        Comparisons of one column that ask for a range make one test together.
        """
        ranges = dict.fromkeys(asked.added for asked in self.compared if asked.operator != "<>")
        return (*ranges, *(asked.added for asked in self.compared if asked.operator == "<>"))


def step_tests(
    node: MultiJoin, windows: Sequence[JoinWindow], route: Route, at: int, numbers: Sequence[int]
) -> StepTests:
    """Sorts the predicates that step `at` of a route makes testable."""
    compared: list[AskedComparison] = []
    rest: list[int] = []
    for number in numbers:
        found = [_asked(c, windows, route, at) for c in node.predicates[number].comparisons]
        known = [asked for asked in found if asked is not None]
        if known and len(known) == len(found):
            compared += known
        else:
            rest.append(number)
    return StepTests(tuple(compared), tuple(rest))


def _asked(
    comparison: Comparison, windows: Sequence[JoinWindow], route: Route, at: int
) -> AskedComparison | None:
    """The comparison as the step sees it; None where ranks cannot answer it."""
    added = route.order[at + 1]
    left, right = ranked_sides(comparison)
    operator = comparison.operator
    if windows[added].has(right.side.column):
        left, right, operator = right, left, _MIRRORED[operator]
    if not windows[added].has(left.side.column):
        return None
    for source, port in enumerate(route.order[: at + 1]):
        if windows[port].has(right.side.column):
            can_rank = windows[added].has_ranks(left) and windows[port].has_ranks(right)
            return AskedComparison(left, operator, right, source) if can_rank else None
    return None


def scan_tests(
    tests: StepTests, windows: Sequence[JoinWindow], route: Route, places: Sequence[Int64s]
) -> tuple[Wanted, Flags | None]:
    """What each combination asks of a scanned row, and which may ask at all (None for all).

    A combination with a NULL among the values compared finds nothing.

    `places` says where the rows chosen so far are.
    """
    lines, rows = tests.lines, len(places[0])
    least = np.full((len(lines), rows), MIN_TICK, np.int64)
    most = np.full((len(lines), rows), MAX_TICK, np.int64)
    is_outside = np.zeros(len(lines), np.bool_)
    is_valid: Flags | None = None
    outside = len(lines) - sum(asked.operator == "<>" for asked in tests.compared)
    for asked in tests.compared:
        chosen = windows[route.order[asked.source]]
        values, valid = chosen.ranked(asked.chosen, Places(places[asked.source]))
        if valid is not None:
            is_valid = valid if is_valid is None else is_valid & valid
        if asked.operator == "<>":
            line, outside = outside, outside + 1
            is_outside[line] = True
        else:
            line = lines.index(asked.added)
        _narrow(least[line], most[line], asked.operator, values)
    return Wanted(least, most, is_outside), is_valid


def compared_rows(
    tests: StepTests, windows: Sequence[JoinWindow], route: Route, places: Sequence[Int64s]
) -> Flags:
    """For which combinations every comparison is true; the added input's places come last."""
    holds = np.ones(len(places[-1]), np.bool_)
    added = windows[route.order[len(places) - 1]]
    for asked in tests.compared:
        chosen = windows[route.order[asked.source]]
        left, left_valid = added.ranked(asked.added, Places(places[-1]))
        right, right_valid = chosen.ranked(asked.chosen, Places(places[asked.source]))
        holds &= compare(asked.operator, left, right)
        for is_valid in (left_valid, right_valid):
            if is_valid is not None:
                holds &= is_valid
    return holds


def _narrow(least: Int64s, most: Int64s, operator: str, values: Int64s) -> None:
    """Cuts the ranges [least, most] down to what compares so with the values.

    Strict bounds are one rank tighter; beyond the last rank there is nothing: an empty range.
    """
    if operator in {"<", "<="}:
        edge = values if operator == "<=" else values - (values != MIN_TICK)
        np.minimum(most, edge, out=most)
        nothing = values == MIN_TICK
    elif operator in {">", ">="}:
        edge = values if operator == ">=" else values + (values != MAX_TICK)
        np.maximum(least, edge, out=least)
        nothing = values == MAX_TICK
    else:
        least[:] = most[:] = values
        return
    if operator in {"<", ">"} and nothing.any():
        least[nothing], most[nothing] = MAX_TICK, MIN_TICK


START_ROWS = 1 << 15
"""Start tuples extended together: their periods and words then stay in the processor's cache."""

MOST_FOUND = 1 << 17
"""Matches of one step that are taken further together."""


@dataclass(frozen=True)
class Partial:
    """Combinations of one row of each input chosen so far.

    Attributes:
        places: per input chosen, where its row is.
        times: the same rows' event times; one line per input chosen.
        words: per key class that is still to be probed by, the word of the key.
    """

    places: tuple[Int64s, ...]
    times: Int64s
    words: dict[int, Words]

    def __len__(self) -> int:
        return int(self.times.shape[1])

    def take(self, rows: Int64s) -> Partial:
        """The combinations at some positions."""
        words = {key: word[rows] for key, word in self.words.items()}
        return Partial(tuple(chosen[rows] for chosen in self.places), self.times[:, rows], words)


FoundBlock: TypeAlias = Sequence[tuple[Route, Partial]]
"""Complete combinations, by the routes they were found by."""

LookUp: TypeAlias = Callable[[int, Probes, FoundMatches, Progress], None]
"""Looks probes up in one chunk of a window, into the room for what is found."""


MatchTest: TypeAlias = Callable[[Partial, Route, int, Int64s, Int64s], Int64s | None]
"""Which matches of a step, told probes and places, pass a test; None: all."""


class Search:
    """The combinations that the new rows of one push complete."""

    def __init__(
        self,
        node: MultiJoin,
        windows: Sequence[JoinWindow],
        counters: Counters,
        predicates: Predicates,
    ) -> None:
        self._node = node
        self._windows = windows
        self._counters = counters
        self._predicates = predicates
        self._rooms: dict[int, FoundMatches] = {}
        self._tests: dict[tuple[int, int], StepTests] = {}

    def blocks(self, routes: Sequence[Route]) -> Iterator[FoundBlock]:
        """All combinations, each once, by the routes they were found by; about MOST_FOUND at a time."""
        waiting: list[tuple[Route, Partial]] = []
        for route in routes:
            if self._windows[route.start].new is None:
                continue
            for combinations in self.combinations(route):
                own = only_one_way(route, combinations.times)
                found = combinations if own is None else combinations.take(own)
                if not len(found):
                    continue
                waiting.append((route, found))
                if sum(len(partial) for _, partial in waiting) >= MOST_FOUND:
                    yield waiting
                    waiting = []
        if waiting:
            yield waiting

    def combinations(self, route: Route) -> Iterator[Partial]:
        """The combinations whose last new row is one of the route's start input."""
        for block in self._starts(route):
            start = block
            if route.predicates:
                start = block.take(self._tested(route.predicates, route, block.places))
            if len(start):
                yield from self._completed(start, route, 0)

    def _starts(self, route: Route) -> Iterator[Partial]:
        """The new rows of the start input, in blocks."""
        window = self._windows[route.start]
        chunk = window.new
        assert chunk is not None
        base = np.int64(window.stored << ROW_BITS)
        classes = route.steps[0].classes
        if self._node.method == "hash":
            # In the order of their buckets, which is that of every other index too: probes then
            # walk through memory front to back.
            index = buckets(chunk, self._columns(route.start, classes))
            rows, times = index.entries[:, ROW], index.entries[:, TIME]
        else:
            rows, times = np.arange(len(chunk)), chunk.keys
        for start in range(0, len(chunk), START_ROWS):
            block = slice(start, start + START_ROWS)
            places = base + rows[block]
            if self._node.method == "hash" and len(classes) == 1 and classes == route.keys[0]:
                words = {classes[0]: index.entries[block, WORD].copy().view(np.uint64)}
            else:
                words = self._words(route, 0, places)
            yield Partial((places,), writable(times[block]).reshape(1, -1), words)

    def _completed(self, partial: Partial, route: Route, at: int) -> Iterator[Partial]:
        """The complete combinations that begin with the partial ones, from step `at` on."""
        if at == len(route.steps):
            yield partial
            return
        for longer in self._extended(partial, route, at):
            yield from self._completed(longer, route, at + 1)

    def _extended(self, partial: Partial, route: Route, at: int) -> Iterator[Partial]:
        """The partial combinations with one more input each, in blocks."""
        step = route.steps[at]
        window = self._windows[step.input]
        columns = self._columns(step.input, step.classes)
        scan = self._scan(partial, route, at, columns)
        look_up = self._look_up(partial, window, columns, scan)
        found = self._room(at, len(partial) * window.size)
        words = key_of([partial.words[key] for key in step.classes], len(partial))
        low, high = self._period(partial, route, at)
        if scan is not None and scan.may_ask is not None:
            high[~scan.may_ask] = MIN_TICK
        room = len(found.rows)
        probes, progress = Probes(words, low, high), no_progress(0)
        for chunk in window.within(int(low.min()), int(high.max())):
            if chunk >= window.stored:
                probes = Probes(words, low, before_start(high, partial.times[0], step.is_strict))
            progress[PROBE], progress[AT] = 0, -1
            while progress[PROBE] < len(words):
                if progress[FILLED] == room:
                    yield from self._taken(partial, route, at, room)
                    progress[FILLED] = 0
                look_up(chunk, probes, found, progress)
        self._counters.probes += int(progress[LOOKUPS])
        self._counters.comparisons += int(progress[TOUCHED])
        if progress[FILLED]:
            yield from self._taken(partial, route, at, int(progress[FILLED]))

    def _look_up(
        self,
        partial: Partial,  # noqa: ARG002
        window: JoinWindow,
        columns: tuple[str, ...],
        scan: Scan | None,
    ) -> LookUp:
        """How a chunk of a window is asked: by hash, or by going through periods."""
        if scan is not None:
            return lambda chunk, *probing: window.scan(chunk, scan, *probing)
        return window.probing(columns)

    def _period(self, partial: Partial, route: Route, at: int) -> tuple[Int64s, Int64s]:
        """Between which keys the next row of each combination lies, both ends included."""
        step = route.steps[at]
        low, high = periods(partial.times, step.reach_back, step.reach_on)
        return low, high

    def _taken(self, partial: Partial, route: Route, at: int, filled: int) -> Iterator[Partial]:
        """The matches of step `at` that lie in its room, as combinations; nothing for none."""
        room = self._rooms[at]
        probes, times = room.probes[:filled], room.times[:filled]
        places = room.rows[:filled].copy()  # the room is used again
        for passing in self._match_tests():
            kept = passing(partial, route, at, probes, places)
            if kept is not None:
                probes, times, places = probes[kept], times[kept], places[kept]
            if not len(places):
                return
        all_times = np.empty((len(partial.places) + 1, len(probes)), np.int64)
        for line, before in zip(all_times, partial.times, strict=False):
            np.take(before, probes, out=line, mode="clip")
        all_times[-1] = times
        later = {key for step in route.steps[at + 1 :] for key in step.classes}
        words = {key: word[probes] for key, word in partial.words.items() if key in later}
        words |= self._words(route, at + 1, places)
        yield Partial((*(before[probes] for before in partial.places), places), all_times, words)

    def _scan(
        self, partial: Partial, route: Route, at: int, columns: tuple[str, ...]
    ) -> Scan | None:
        """How step `at` scans periods; None where it probes by hash instead."""
        if self._is_hashed(route, at):
            return None
        tests = self._step_tests(route, at)
        asked, may_ask = scan_tests(tests, self._windows, route, partial.places)
        return Scan(columns, tests.lines, asked, may_ask)

    def _match_tests(self) -> Sequence[MatchTest]:
        """What matches have to pass that a look-up has found, one after the other."""
        return (self._same_keys, self._kept)

    def _within_windows(
        self, partial: Partial, route: Route, at: int, probes: Int64s, places: Int64s
    ) -> Flags | None:
        """For which matches the conditions on times hold that step `at` completes; None: all.

        For searches that look rows up by something else than their times.
        """

        def times_of(position: int) -> Int64s:
            chosen = places if position > at else partial.places[position][probes]
            return self._windows[route.order[position]].times(Places(chosen))

        return within_windows(self._node.graph.stated, route, at, times_of)

    def _is_hashed(self, route: Route, at: int) -> bool:
        return self._node.method == "hash" and bool(route.steps[at].classes)

    def _kept(
        self, partial: Partial, route: Route, at: int, probes: Int64s, places: Int64s
    ) -> Int64s | None:
        """The matches that pass the tests of step `at` that its look-up did not make; None: all."""
        tests = self._step_tests(route, at)
        compared = tests.compared if self._is_hashed(route, at) else ()
        rest = self._predicates.asked(tests.rest, inputs=at + 2)
        if not (compared or rest):
            return None
        chosen = (*(before[probes] for before in partial.places), places)
        if not compared:
            return self._tested(rest, route, chosen)
        kept = np.flatnonzero(compared_rows(tests, self._windows, route, chosen))
        if rest and len(kept):
            left = tuple(part[kept] for part in chosen)
            kept = kept[self._tested(rest, route, left)]
        return kept

    def _tested(self, numbers: Sequence[int], route: Route, places: Sequence[Int64s]) -> Int64s:
        """The combinations of rows at some places, by input chosen, that predicates hold for."""
        columns: dict[str, pa.Array] = {}
        for port, own in zip(route.order, places, strict=False):
            names = self._predicates.columns(numbers, port)
            if names:
                columns |= zip(names, self._windows[port].columns(names, Places(own)), strict=True)
        inputs = len(places)
        return np.flatnonzero(self._predicates.mask(numbers, columns, len(places[0]), inputs))

    def _step_tests(self, route: Route, at: int) -> StepTests:
        if (id(route), at) not in self._tests:
            numbers = route.steps[at].predicates
            self._tests[id(route), at] = step_tests(self._node, self._windows, route, at, numbers)
        return self._tests[id(route), at]

    def _same_keys(
        self, partial: Partial, route: Route, at: int, probes: Int64s, places: Int64s
    ) -> Int64s | None:
        """The matches whose keys are equal by value; None where the words have proven it."""
        step = route.steps[at]
        ours = self._windows[step.input]
        same: NDArray[np.bool_] | None = None
        for key, source in zip(step.classes, step.sources, strict=True):
            theirs = self._windows[route.order[source]]
            (our_column,) = self._columns(step.input, (key,))
            (their_column,) = self._columns(route.order[source], (key,))
            if ours.is_exact(our_column) and theirs.is_exact(their_column):
                if len(step.classes) == 1:
                    return None
                equal = partial.words[key][probes] == ours.words(our_column, Places(places))
            else:
                (left,) = theirs.columns((their_column,), Places(partial.places[source][probes]))
                (right,) = ours.columns((our_column,), Places(places))
                equal = equal_values(left, right)
            same = equal if same is None else same & equal
        return None if same is None else np.flatnonzero(same)

    def _words(self, route: Route, position: int, places: Int64s) -> dict[int, Words]:
        """The words that later steps take from the input chosen at a position."""
        chosen = route.order[position]
        window = self._windows[chosen]
        return {
            key: window.words(self._columns(chosen, (key,))[0], Places(places))
            for key in route.keys[position]
        }

    def _columns(self, chosen: int, classes: tuple[int, ...]) -> tuple[str, ...]:
        """The key columns of an input in some classes that it is part of."""
        columns = [self._node.classes[key].columns[chosen] for key in classes]
        return tuple(column for column in columns if column is not None)

    def _room(self, at: int, most: int | None = None) -> FoundMatches:
        """Room for the matches of a step, of which there may be so many; None: any number."""
        size = MOST_FOUND if most is None else max(1, min(MOST_FOUND, most))
        room = self._rooms.get(at)
        if room is None or len(room.rows) < size:
            room = FoundMatches(*[np.empty(size, np.int64) for _ in range(3)])
            self._rooms[at] = room
        return room
