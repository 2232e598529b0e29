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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import InternalError
from windrow.operators.base import Snapshot
from windrow.operators.bew_join import BewJoinOp
from windrow.operators.bew_search import Partial, Search
from windrow.operators.bew_steps import Route
from windrow.operators.bew_window import JoinWindow
from windrow.operators.changes import ChangeBatch
from windrow.operators.chunks import ChunkBuffer
from windrow.operators.gather import Places
from windrow.operators.join_inputs import can_match, only_inserts
from windrow.operators.shedding.chances import Chances, chance_of
from windrow.operators.shedding.draws import Draws, Purpose, draws_of, row_words
from windrow.physical.specs import WJoin
from windrow.schema import MAX_TICK, MIN_TICK

KIND = "shedding-join"
KEEP, PROBES, PROBE_CHANCE = "$keep", "$probes", "$probe_chance"
PANES_PER_WINDOW = 8

Amounts = Sequence[float]
Divide = Callable[[Amounts, Amounts], tuple[Amounts, Amounts]]
"""From rates per tick and full windows to the rates that probe and the windows that are kept."""


@dataclass(frozen=True)
class Shedding:
    """What a join may do, and with which seed it draws.

    `divide` gives every stream what it asks for where that is there.
    """

    divide: Divide
    seed: int = 0


class ShedJoinOp(BewJoinOp):
    """Joins 2 to 8 inputs of inserts, as far as memory and processor go.

    Attributes:
        found: combinations found.
        estimated: combinations that there are, as far as those found can tell.
    """

    def __init__(self, spec: WJoin, shedding: Shedding) -> None:
        super().__init__(spec)
        ports = range(len(spec.inputs))
        self._shedding = shedding
        self._kept_columns = self._columns
        self._columns = [[*own, KEEP, PROBES, PROBE_CHANCE] for own in self._kept_columns]
        reaches = [own for own in self._retention if own > 0]
        self.pane = max(1, min(reaches, default=0) // PANES_PER_WINDOW)
        self._arriving = [ChunkBuffer("time") for _ in ports]
        self._chances = [Chances() for _ in ports]
        self._counts: list[dict[int, int]] = [{} for _ in ports]
        self._budgets = [0.0 for _ in ports]
        self.found = 0
        self.estimated = 0.0

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Stores the rows until their pane is decided; gives nothing."""
        for port, batch in enumerate(batches):
            if batch is None or not len(batch):
                continue
            self.counters.rows_in += len(batch)
            rows = only_inserts(self._spec, port, batch, self._kept_columns[port])
            self._arriving[port].append(
                rows.take(np.flatnonzero(can_match(self._spec, port, rows)))
            )
        self._count_state()
        return iter(())

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Decides the panes that are over, and joins those drawn."""
        while (first := min(own.first for own in self._arriving)) < MAX_TICK:
            number = first // self.pane
            if (number + 1) * self.pane > watermark and watermark < MAX_TICK:
                break
            yield from self._decide(number)
        yield from super().advance(self._decided_to(watermark))

    def due(self) -> int:
        """The end of the first pane with rows, or the least watermark that drops one."""
        first = min(own.first for own in self._arriving)
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
        start, end = number * self.pane, (number + 1) * self.pane
        # What arrivals from the start of the pane on cannot reach takes no memory from others.
        for _ in super().advance(max(start, MIN_TICK)):
            raise InternalError("unjoined-rows", "a join that sheds has joined all that it holds")
        arrived = [own.pop_below(min(end, MAX_TICK)) for own in self._arriving]
        rates, windows = self._divided(number, arrived)
        drawn = [
            None if rows is None else self._drawn(port, rows, start, rates[port], windows[port])
            for port, rows in enumerate(arrived)
        ]
        for port, rows in enumerate(arrived):
            if rows is None:
                self._keep_at_most(port, np.empty(0), start, windows[port])
        self.counters.rows_in -= sum(len(rows) for rows in drawn if rows is not None)
        yield from super().push(drawn)
        for buffer in self._buffers:
            # Those that only probe have met all that they can.
            self.counters.drops += buffer.keep(_of(buffer, KEEP) < 1)
        self._count_state()

    def _divided(
        self, number: int, arrived: Sequence[ChangeBatch | None]
    ) -> tuple[list[float], list[float]]:
        """How many of the pane's arrivals probe, and how many tuples are held, per input.

        A window is counted in whole panes, so that it is no less than what may be held:

            panes that count   [ start - retention .......... end )
        """
        counts = [0 if rows is None else len(rows) for rows in arrived]
        for port, count in enumerate(counts):
            oldest = (number * self.pane - self._retention[port]) // self.pane
            kept = {at: many for at, many in self._counts[port].items() if at >= oldest}
            self._counts[port] = kept | {number: count}
        full = [float(sum(own.values())) for own in self._counts]
        # Over a whole window: a stream that is the slower one of a single pane by chance must not
        # take the memory of the other, whose tuples would not come back.
        spans = [(number + 1 - min(own)) * self.pane for own in self._counts]
        usual = [window / span for window, span in zip(full, spans, strict=True)]
        rates, windows = self._shedding.divide(usual, full)
        probes = []
        for port, count in enumerate(counts):
            budget = self._budgets[port] + rates[port] * self.pane
            probes.append(float(count) if rates[port] >= usual[port] else budget // 1)
            self._budgets[port] = budget % 1
        return probes, [
            full[port] if windows[port] >= full[port] else windows[port] // 1
            for port in range(len(counts))
        ]

    def _drawn(
        self, port: int, rows: ChangeBatch, start: int, probes: float, window: float
    ) -> ChangeBatch:
        """The rows that are kept or probe; one that only probes has a draw of 1, kept by nobody."""
        seed = self._shedding.seed
        columns = [rows.columns.column(name) for name in self._kept_columns[port]]
        words = row_words(columns, rows.times)
        keep = draws_of(words, seed, port, Purpose.keep)
        probe = draws_of(words, seed, port, Purpose.probe)
        chance = chance_of(probe, probes)
        does_probe = probe < chance
        is_kept = keep < self._keep_at_most(port, keep, start, window)
        columns += [
            pa.array(np.where(is_kept, keep, 1.0)),
            pa.array(does_probe),
            pa.array(np.full(len(rows), chance)),
        ]
        drawn = ChangeBatch(
            pa.RecordBatch.from_arrays(columns, names=self._columns[port]), rows.times, rows.ends
        )
        return drawn.take(np.flatnonzero(is_kept | does_probe))

    def _keep_at_most(self, port: int, new: Draws, start: int, window: float) -> float:
        """The chance to be kept from a pane on; lets go of rows held that it does not draw."""
        buffer = self._buffers[port]
        held = _of(buffer, KEEP)
        chance = chance_of(np.concatenate([held, new]), window)
        self.counters.drops += buffer.keep(held < chance)
        self._chances[port].add(start, chance)
        self._chances[port].forget(start - self._retention[port])
        return chance

    def _search(self, windows: Sequence[JoinWindow]) -> Search:
        return _ShedSearch(self._spec, windows, self.counters, self._predicates)

    def _blocks(self, windows: Sequence[JoinWindow]) -> Iterator[list[tuple[Route, Partial]]]:
        """All combinations, counted with what they stand for."""
        for found in super()._blocks(windows):
            for route, partial in found:
                chances = self._chances_of(windows, route, partial)
                self.found += len(partial)
                self.estimated += float(np.sum(1 / np.prod(chances, axis=0)))
            yield found

    def _chances_of(
        self, windows: Sequence[JoinWindow], route: Route, partial: Partial
    ) -> NDArray[np.float64]:
        """Per combination and input, the chance that its row was drawn with; the start probes."""
        start = windows[route.start].columns([PROBE_CHANCE], Places(partial.places[0]))[0]
        kept = [
            self._chances[port].since(partial.times[at])
            for at, port in enumerate(route.order)
            if at > 0
        ]
        return np.stack([start.to_numpy(), *kept])

    def snapshot(self) -> Snapshot:
        """What is held and what waits, and by which chances."""
        held = super().snapshot()
        buffers = dict(held.buffers)
        numbers = {**held.numbers, "found": self.found, "estimated": _bits(self.estimated)}
        for port, arriving in enumerate(self._arriving):
            buffers[f"arriving{port}"] = tuple(arriving.slices)
            numbers[f"budget{port}"] = _bits(self._budgets[port])
            own = self._chances[port]
            for at, least in zip(own.starts, own.least, strict=True):
                numbers[f"chance{port} {at}"] = _bits(least)
            numbers |= {f"count{port} {at}": many for at, many in self._counts[port].items()}
        return Snapshot(KIND, buffers, numbers)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back."""
        if snapshot.kind != KIND:
            raise InternalError(
                "wrong-state", f"a join that sheds was given the state of {snapshot.kind!r}"
            )
        numbers = snapshot.numbers
        for port in range(len(self._arriving)):
            self._arriving[port] = ChunkBuffer("time", snapshot.buffers[f"arriving{port}"])
            self._budgets[port] = _number(numbers[f"budget{port}"])
            chances = _numbered(numbers, f"chance{port} ")
            self._chances[port] = Chances(list(chances), [_number(own) for own in chances.values()])
            self._counts[port] = _numbered(numbers, f"count{port} ")
        self.found, self.estimated = numbers["found"], _number(numbers["estimated"])
        super().restore(Snapshot("window-join", snapshot.buffers))

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows held, and those of panes that are not decided."""
        return [*self._buffers, *self._arriving]

    def _count_state(self) -> None:
        super()._count_state()
        self.counters.stored += sum(own.rows for own in self._arriving)
        self.counters.state_bytes += sum(own.nbytes for own in self._arriving)


class _ShedSearch(Search):
    """Combinations that start with rows drawn to probe, of rows that are kept."""

    def _starts(self, route: Route) -> Iterator[Partial]:
        window = self._windows[route.start]
        for block in super()._starts(route):
            (probes,) = window.columns([PROBES], Places(block.places[0]))
            yield block.take(np.flatnonzero(probes.to_numpy(zero_copy_only=False)))

    def _taken(self, partial: Partial, route: Route, at: int, filled: int) -> Iterator[Partial]:
        window = self._windows[route.steps[at].input]
        for longer in super()._taken(partial, route, at, filled):
            (keep,) = window.columns([KEEP], Places(longer.places[-1]))
            yield longer.take(np.flatnonzero(keep.to_numpy() < 1))


def _of(buffer: ChunkBuffer, column: str) -> Draws:
    """A column of the rows alive, in their order."""
    parts = [part.rows().columns.column(column).to_numpy() for part in buffer.slices]
    return np.concatenate(parts) if parts else np.empty(0)


def _bits(number: float) -> int:
    return int(np.float64(number).view(np.int64))


def _number(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


def _numbered(numbers: dict[str, int], prefix: str) -> dict[int, int]:
    found = {int(k.removeprefix(prefix)): v for k, v in numbers.items() if k.startswith(prefix)}
    return dict(sorted(found.items()))
