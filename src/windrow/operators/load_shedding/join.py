"""The window join that sheds: some arrivals probe, some tuples are kept, all at random.

Event time is cut into panes. A pane is decided once the watermark has passed its end:

    watermark                                              |
    panes      ...  decided   |   decided   |  is decided  | waits ..
    kept       [== random part of the windows ==]
                                            [ its arrivals ]  1. rates and windows are counted
                                                              2. what there is is divided
                                                              3. chances to be kept and to probe
                                                              4. those drawn are joined

All arrivals of a pane are there when it is decided, and panes are decided one after the other. So
who is drawn, and the answer, depend neither on the order of arrival nor on batches. The last tuple
of a combination, by time and then by input, is new when the combination is found: it probes, and
the others were kept. After each pane no more is held than there is memory for.

Where totals are estimated above, results carry which draws made them, and by which chances: the
columns of `physical.load_shedding.limits.hidden_fields`. Marks among them tell where some may be missing
(`draws.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch, Places
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.engine.base import Snapshot
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.operators.joins.bew_search import FoundBlock, Partial, Search
from windrow.operators.joins.bew_window import JoinWindow
from windrow.operators.joins.join_inputs import (
    SHEDDING_KIND,
    STATE_KIND,
    another_shedding,
    can_match,
    only_inserts,
)
from windrow.operators.joins.join_steps import Route
from windrow.operators.load_shedding.arrivals import Waited, WaitingRows, column_of
from windrow.operators.load_shedding.control import Control, Division, SentTo
from windrow.operators.load_shedding.counted import Blocks, PaneRecall, TimeSpan
from windrow.operators.load_shedding.draws import (
    KEEP,
    NOT_DRAWN,
    PROBE,
    Caps,
    Chances,
    Draws,
    Losses,
    Purpose,
    bits,
    chance_of,
    draw_numbers,
    number_of,
    numbered,
)
from windrow.physical.load_shedding.enough import check_enough_for_rows
from windrow.physical.load_shedding.limits import Shedding, hidden_fields
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.schema import MAX_TICK, MIN_TICK


def row_bytes(node: SheddingJoin, rows: pa.RecordBatch) -> int:
    """Bytes of the widest of some rows of an input, with its draws and its place in a structure."""
    return node.shed_row_bytes + sum(map(_width, rows.columns))


def _width(column: pa.Array) -> int:
    """Bytes of the widest value of a column, its mark for NULL included."""
    if pa.types.is_boolean(column.type):
        return 2
    if column.type in _TEXTS:
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        return int(longest) + 8 + 1
    try:
        return int(column.type.byte_width) + 1
    except ValueError:
        # Nested values: no width of their own is known cheaper than that of all of them.
        return -(-int(column.nbytes) // len(column)) if len(column) else 0


_TEXTS = {pa.string(), pa.large_string(), pa.binary(), pa.large_binary()}

PROBE_CHANCE = "$probe_chance"

PartAt = Callable[[int, int], Shedding]
"""What a part of a join may hold and do where panes are decided to an instant; of rows at hand those
count that come before another instant."""


class ShedJoinOp(BewJoinOp):
    """Joins two or more inputs of inserts, as far as memory and processor go."""

    def __init__(self, node: SheddingJoin) -> None:
        super().__init__(node)
        self._node: SheddingJoin = node
        shedding = node.shedding
        ports = range(len(node.inputs))
        self._shedding = shedding
        self._kept_columns = self._columns
        self._columns = [[*own, KEEP, PROBE, PROBE_CHANCE] for own in self._kept_columns]
        self.pane = node.pane
        self._arrivals = WaitingRows(self._kept_columns, node.pane, shedding.seed)
        self._chances = [Chances() for _ in ports]
        self._caps = [Caps(node.pane) for _ in ports]
        self._open_from = MIN_TICK
        self._control = Control(node, shedding)
        self._recall = PaneRecall(node)
        self._losses = Losses(node.schema, len(ports))
        self._row_bytes = 1
        self._part_at: PartAt | None = None

    def follow(self, query: Shedding, part_at: PartAt, sent: SentTo) -> None:
        """Takes, from now on, a part of what there is for a query, by what its buckets are sent."""
        self._part_at = part_at
        self._control.follow(query, sent)

    def _take_part(self, instant: int, until: int) -> None:
        if self._part_at is not None:
            self._shedding = self._part_at(instant, until)
            self._control.allot(self._shedding)

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Stores the rows until their pane is decided; gives nothing."""
        for port, batch in enumerate(batches):
            if batch is None or not len(batch):
                continue
            self.counters.rows_in += len(batch)
            rows = only_inserts(self._node, port, batch, self._kept_columns[port])
            rows = rows.take(np.flatnonzero(can_match(self._node, port, rows)))
            if self._shedding.is_in_bytes and len(rows):
                self._measure(row_bytes(self._node, rows.columns))
            self.counters.drops += self._arrivals.take(port, rows, self._losses)
        return iter(())

    def _measure(self, widest: int) -> None:
        """Takes a tuple for as wide as the widest one."""
        if widest > self._row_bytes:
            self._row_bytes = widest
            check_enough_for_rows(self._node, self._shedding, widest)

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Decides the panes that are over, and joins those drawn."""
        while (first := self._arrivals.first) < MAX_TICK:
            number = first // self.pane
            if (number + 1) * self.pane > watermark and watermark < MAX_TICK:
                break
            yield from self._decide(number)
        self._open_from = self._decided_to(watermark)
        yield from super().advance(self._open_from)

    def settle(self) -> Iterator[ChangeBatch]:
        """Holds no more than memory allows: windows, and arrivals that wait, together.

        Those that wait have one part in as many as there are inputs, or what windows leave: where a
        result takes a tuple that arrives and one of each other window, that gives the most.
        """
        self._arrivals.settle()
        self._take_part(self._open_from, MAX_TICK)
        self._control.pay_until(self._open_from // self.pane)
        memory = self._shedding.most_tuples(self._row_bytes)
        held, waiting = sum(own.rows for own in self._buffers), self._arrivals.stored
        if memory is not None and held + waiting > memory:
            most = min(waiting, int(max(memory // len(self._buffers), memory - held)))
            self._hold_at_most(int(memory) - most)
            if waiting > most:
                self.counters.drops += self._arrivals.thin(most, self._losses)
        if self._shedding.is_in_bytes:
            self._arrivals.sweep()
        if self._shedding.is_estimated:
            yield from self._losses.marks()
        self._count_state()

    def _hold_at_most(self, most: int) -> None:
        """Lets go of tuples of the windows, from the first pane on that is not decided."""
        held = [own.rows for own in self._buffers]
        if sum(held) > most:
            for port, left in enumerate(self._control.left(held, most)):
                self._keep_at_most(port, np.empty(0), self._open_from, left)

    def due(self) -> int:
        """The end of the first pane with rows, or the least watermark that drops one."""
        first = self._arrivals.first
        end = MAX_TICK if first == MAX_TICK else (first // self.pane + 1) * self.pane
        dropped = super().due()
        if MIN_TICK < dropped < MAX_TICK:
            dropped = -(-dropped // self.pane) * self.pane
        return max(MIN_TICK, min(dropped, end, MAX_TICK))

    def _decided_to(self, watermark: int) -> int:
        """The start of the pane that the watermark is in: its rows may need what lies before."""
        if watermark in {MIN_TICK, MAX_TICK}:
            return watermark
        return max(MIN_TICK, watermark // self.pane * self.pane)

    def _decide(self, number: int) -> Iterator[ChangeBatch]:
        start = max(MIN_TICK, number * self.pane)
        self._take_part(start, min((number + 1) * self.pane, MAX_TICK))
        # What arrivals from the start of the pane on cannot reach takes no memory from others.
        unjoined = list(super().advance(start))
        assert not unjoined, "all that is held has been joined"
        waited = [self._arrivals.pop(port, number) for port in range(len(self._buffers))]
        division = self._control.divide(
            number,
            [own.arrived for own in waited],
            self._row_bytes,
            there=[0 if own.rows is None else len(own.rows) for own in waited],
            spans=[None if own.rows is None else _span(own.rows.times) for own in waited],
            held=[own.rows for own in self._buffers],
            waiting=self._arrivals.stored,
        )
        drawn = [self._drawn(port, own, start, division) for port, own in enumerate(waited)]
        self.counters.rows_in -= sum(len(rows) for rows in drawn if rows is not None)
        yield from super().push(drawn)
        if self._shedding.is_estimated:
            yield from self._losses.marks()
        for buffer in self._buffers:
            # Those that only probe have met all that they can.
            self.counters.drops += buffer.keep(column_of(buffer, KEEP) < NOT_DRAWN)
            if self._shedding.is_in_bytes:
                buffer.sweep()
        blocks = [self._blocks(port, start) for port in range(len(self._buffers))]
        # Those of whom none waited were let go at random; of those that did none may have had a probe.
        could_probe = [
            own.chance > 0 and (probes > 0 or own.rows is None)
            for own, probes in zip(waited, division.probes, strict=True)
        ]
        self._recall.count(self.counters, division, could_probe, blocks)
        self._count_state()

    def _blocks(self, port: int, start: int) -> Blocks:
        """The tuples of an input when the pane is over that begins there."""
        counted = self._control.counted
        starts, arrived = counted.starts(port), counted.arrived(port)
        since = self._chances[port].since(starts)
        begin, end = counted.spans(port, start)
        # Rows held begin here; none of the oldest block that lie before.
        reached = np.maximum(begin, min(0, -self._retention[port]))
        held = np.maximum(end - reached, 1.0)
        kept = _by_block(self._buffers[port], starts) * (end - begin) / held
        is_whole = (since == 1) & counted.is_whole(port)
        possible = np.where(since > 0, arrived, 0.0)
        return Blocks(begin, end, np.stack([arrived, possible, np.where(is_whole, arrived, kept)]))

    def _drawn(
        self, port: int, waited: Waited, start: int, division: Division
    ) -> ChangeBatch | None:
        """The rows that are kept or probe; lets go of rows held for which there is no room."""
        rows, most = waited.rows, division.windows[port]
        if waited.chance < 1:
            self._caps[port].add(start, waited.chance)
        if rows is None:
            self._keep_at_most(port, np.empty(0), start, most)
            return None
        columns = [rows.columns.column(name) for name in self._kept_columns[port]]
        keep, probe = self._arrivals.draws(port, rows)
        chance = chance_of(probe, division.probes[port])
        does_probe = probe < chance
        is_kept = keep < self._keep_at_most(port, keep, start, most)
        self._losses.add(rows, ~(is_kept & does_probe))
        columns += [
            pa.array(np.where(is_kept, keep, NOT_DRAWN)),
            pa.array(np.where(does_probe, probe, NOT_DRAWN)),
            pa.array(np.full(len(rows), waited.chance * chance)),
        ]
        drawn = ChangeBatch(
            pa.RecordBatch.from_arrays(columns, names=self._columns[port]), rows.times, rows.ends
        )
        return drawn.take(np.flatnonzero(is_kept | does_probe))

    def _keep_at_most(self, port: int, new: Draws, start: int, window: int) -> float:
        """The chance to be kept from a pane on; lets go of rows held that it does not draw."""
        buffer = self._buffers[port]
        held = column_of(buffer, KEEP)
        chance = chance_of(np.concatenate([held, new]), window)
        self._losses.add_held(buffer, held >= chance, start)
        self.counters.drops += buffer.keep(held < chance)
        self._chances[port].add(start, chance)
        self._chances[port].forget(start - self._retention[port])
        self._caps[port].forget(start - self._retention[port])
        return chance

    def _search(self, windows: Sequence[JoinWindow]) -> Search:
        return ShedSearch(self._node, windows, self.counters, self._predicates)

    def _gathered(self, windows: Sequence[JoinWindow], found: FoundBlock) -> ChangeBatch:
        """The rows of complete combinations, counted with what they stand for."""
        rows = super()._gathered(windows, found)
        chances = [self._chances_of(windows, route, partial) for route, partial in found]
        for (route, _), own in zip(found, chances, strict=True):
            self._recall.found(route.start, own)
        if not self._shedding.is_estimated:
            return rows
        hidden: list[pa.Array] = []
        for port in range(len(windows)):
            draws = [self._draws_of(windows, port, *combinations) for combinations in found]
            hidden += [
                pa.array(np.concatenate(draws)),
                pa.array(np.concatenate([own[port] for own in chances])),
            ]
        names = [*rows.columns.schema.names, *(own.name for own in hidden_fields(len(windows)))]
        columns = pa.RecordBatch.from_arrays([*rows.columns.columns, *hidden], names=names)
        return ChangeBatch(columns, rows.times, rows.ends)

    def _chances_of(
        self, windows: Sequence[JoinWindow], route: Route, partial: Partial
    ) -> NDArray[np.float64]:
        """Per input and combination, the chance that its row was drawn with; the start probes."""
        chances = np.empty((len(windows), len(partial)))
        for at, port in enumerate(route.order):
            if at == 0:
                (probing,) = windows[port].columns([PROBE_CHANCE], Places(partial.places[0]))
                chances[port] = probing.to_numpy()
            else:
                times = partial.times[at]
                chances[port] = np.minimum(
                    self._chances[port].since(times), self._caps[port].at(times)
                )
        return chances

    def _draws_of(
        self, windows: Sequence[JoinWindow], port: int, route: Route, partial: Partial
    ) -> NDArray[np.int64]:
        """Per combination, the number of the draw that put the row of an input there.

        A row of a thinned pane probes only if its draw to be kept let it wait: there the two parts
        of a tuple are not independent, and count as one draw.
        """
        at = route.order.index(port)
        draws = windows[port].columns([KEEP, PROBE], Places(partial.places[at]))
        keep, probe = (own.to_numpy() for own in draws)
        by_keeping = draw_numbers(keep, Purpose.keep)
        if at > 0:
            return by_keeping
        is_one = (self._caps[port].at(partial.times[at]) < 1) & (keep < NOT_DRAWN)
        return np.where(is_one, by_keeping, draw_numbers(probe, Purpose.probe))

    def snapshot(self) -> Snapshot:
        """What is held and what waits, and by which chances."""
        held = super().snapshot()
        buffers = dict(held.buffers)
        numbers = {**held.numbers, **self._control.snapshot(), **self._recall.snapshot()}
        numbers |= {"row_bytes": self._row_bytes, "seed": self._shedding.seed, "pane": self.pane}
        numbers["open_from"] = self._open_from
        waiting, counted = self._arrivals.snapshot()
        buffers |= waiting
        numbers |= counted
        for port, own in enumerate(self._chances):
            for at, least in zip(own.starts, own.least, strict=True):
                numbers[f"chance{port} {at}"] = bits(least)
            caps = self._caps[port].chances
            numbers |= {f"cap{port} {at}": bits(chance) for at, chance in caps.items()}
        return Snapshot(SHEDDING_KIND, buffers, numbers)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back."""
        numbers = snapshot.numbers
        drawn_by = {"seed": self._shedding.seed, "pane": self.pane}
        if snapshot.kind != SHEDDING_KIND or any(numbers[k] != v for k, v in drawn_by.items()):
            raise another_shedding()
        self._row_bytes = numbers["row_bytes"]
        self._control.restore(numbers)
        self._recall.restore(numbers)
        self._open_from = numbers.get("open_from", MIN_TICK)
        self._arrivals.restore(snapshot.buffers, numbers)
        for port in range(len(self._chances)):
            caps = numbered(numbers, f"cap{port} ")
            self._caps[port] = Caps(self.pane, {at: number_of(own) for at, own in caps.items()})
            chances = numbered(numbers, f"chance{port} ")
            self._chances[port] = Chances(
                list(chances), [number_of(own) for own in chances.values()]
            )
        super().restore(Snapshot(STATE_KIND, snapshot.buffers))

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows held, and those of panes that are not decided."""
        return [*self._buffers, *self._arrivals.buffers()]

    def _count_state(self) -> None:
        super()._count_state()
        self.counters.stored += self._arrivals.rows
        self.counters.state_bytes += sum(own.nbytes for own in self._arrivals.buffers())


class ShedSearch(Search):
    """Combinations that start with rows drawn to probe, of rows that are kept."""

    def _starts(self, route: Route) -> Iterator[Partial]:
        for block in super()._starts(route):
            yield from self._drawn(block, route.start, PROBE)

    def _taken(self, partial: Partial, route: Route, at: int, filled: int) -> Iterator[Partial]:
        for longer in super()._taken(partial, route, at, filled):
            yield from self._drawn(longer, route.steps[at].input, KEEP)

    def _drawn(self, partial: Partial, port: int, purpose: str) -> Iterator[Partial]:
        """Those whose latest row, one of an input, is drawn."""
        (draws,) = self._windows[port].columns([purpose], Places(partial.places[-1]))
        drawn = np.flatnonzero(draws.to_numpy() < NOT_DRAWN)
        if len(drawn):
            yield partial.take(drawn)


def _span(times: NDArray[np.int64]) -> TimeSpan:
    return TimeSpan(int(times.min()), int(times.max()))


def _by_block(buffer: ChunkBuffer, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many rows of a buffer lie in each of the blocks that begin at these instants."""
    counts = np.zeros(len(starts), np.int64)
    for part in buffer.slices:
        place = np.searchsorted(starts, part.rows().times, side="right") - 1
        counts += np.bincount(np.maximum(place, 0), minlength=len(starts))
    return counts
