"""How a window join sheds: what it may hold and do, and how that is divided among its inputs.

What every stream gets at least is read here:

    shed_least        100   '100 tuples'   '10%'   'a = 100, b = 10%'
    shed_least_rate   50    '50 per second'   '10%'   'a = 50 per second'

Where an aggregate estimates totals from what a join has found, the join's rows carry two columns
more per input, after all others: `hidden_fields`.

    $draw_0  $chance_0  $draw_1  $chance_1 ..

`$draw_i`, a bigint, says which draw put the tuple of input i there: the same number for the same
tuple in the same part (kept, or probing), different ones for different tuples, and for one tuple in
different parts. Numbers of different inputs are not to be compared. `$chance_i`, a double in
(0, 1], is the chance of that draw when the combination was found. With the columns of all inputs a
batch of rows is what `operators.load_shedding.margins.Drawn` holds. Neither is ever NULL. Filters and
projections between the join and the aggregate hand them on under the same names.

A row whose chances are 0 is no result but a mark: from its time until the tick in its `$draw_i`
results may be missing (`operators/load_shedding/draws.py`). Filters let it pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from windrow.allocation.loads import Allocation, Resources, StreamLoad
from windrow.allocation.strategies import BY_NAME, allocate, allocate_by
from windrow.errors import PlanError
from windrow.plan.catalog import rate_parts
from windrow.schema import Field

LEAST_RATE, MOST = 1e-9, 1e18
"""Of a service rate at least, and of any number at most, in the unit that it is said in."""

_SHARE = re.compile(r"\s*([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%\s*")
_NUMBER = re.compile(r"\s*([0-9][0-9_,]{0,17}(?:\.[0-9]{1,9})?)\s*(?:tuples?)?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class StatedLimit:
    """A number of tuples, a rate, or a share, as it was said.

    Attributes:
        amount: the number; of a share, from 0 to 1.
        unit: of a rate, the unit of time that was named; None where none was.
        is_share: whether it is a share of what there is.
    """

    amount: float
    unit: str | None = None
    is_share: bool = False


def rate_said(given: object) -> StatedLimit:
    """The service rate, or a minimum of it without shares.

    Raises:
        PlanError: it is no rate.
    """
    said = _read(given, is_rate=True)
    if said is None or said.is_share or said.amount < LEAST_RATE:
        raise PlanError(
            "bad-option",
            f"service_rate = {_shown(given)} is not a rate",
            hint=f"from {LEAST_RATE:g} to {MOST:g}, for instance '1000 per second', or a number per"
            " second",
        )
    return said


def least_said(name: str, given: object) -> dict[str, StatedLimit]:
    """What streams get at least, by their names in lower case; under "" what all get.

    Raises:
        PlanError: the option cannot be read.
    """
    is_rate = name == "shed_least_rate"
    entries: list[tuple[str, object]] = [("", given)]
    is_by_stream = isinstance(given, str) and "=" in given
    if is_by_stream:
        parts = (entry.partition("=") for entry in str(given).split(","))
        entries = [(stream.strip().lower(), text) for stream, _, text in parts]
    found: dict[str, StatedLimit] = {}
    for stream, text in entries:
        said = _read(text, is_rate=is_rate)
        if said is None or stream in found or (is_by_stream and not stream):
            amount = "50 per second" if is_rate else "100 tuples"
            raise PlanError(
                "bad-option",
                f"{name} = {_shown(given)} does not say what each stream gets at least",
                hint=f"for instance '{amount}', '10%', or for single streams 'a = 10%, b = 5%';"
                f" numbers up to {MOST:g}",
            )
        found[stream] = said
    return found


def _shown(given: object) -> str:
    """A value as it was given; a whole number of very many digits by its size."""
    if isinstance(given, int) and abs(given) > MOST:
        return f"{'-' if given < 0 else ''}1e{given.bit_length() * math.log10(2):.0f}"
    return repr(given)


def _read(given: object, *, is_rate: bool) -> StatedLimit | None:
    """A number, a share or a rate; None for what is none of them."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        return StatedLimit(float(given)) if 0 <= given <= MOST else None
    if not isinstance(given, str):
        return None
    share = _SHARE.fullmatch(given)
    if share is not None:
        amount = float(share[1]) / 100
        return StatedLimit(amount, is_share=True) if amount <= 1 else None
    rate = rate_parts(given) if is_rate else None
    if rate is not None:
        return StatedLimit(rate[0], rate[1]) if rate[0] <= MOST else None
    number = _NUMBER.fullmatch(given)
    return StatedLimit(float(re.sub("[_,]", "", number[1]))) if number else None


BEST = "best"
ShedStrategy = Literal["best", "equal", "rates", "windows", "inverse"]
STRATEGIES = get_args(ShedStrategy)
PANES_PER_WINDOW = 8
"""Into how many panes, in each of which chances are constant, the shortest window is cut."""

PANES_WHERE_MEMORY_IS = 16
"""The same where memory may be short. Arrivals wait for the end of their pane, and take room from the
windows. Of 2,000 tuples in two windows, with room for 200, 900 and 1,600:

    panes            8                   16                  32
    found            3%, 37%, 68%        6%, 41%, 73%        8%, 42%, 75%
    processor (900)  2.6 s               3.1 s               6.8 s
"""

ENOUGH_PROBES = 8
"""Probes of each stream in a pane from which totals are estimated; with fewer, panes are longer.

The chance of a pane is the draw next to those that probe: of one or two probes it is so uncertain that
what they stand for has no variance at all, or hardly one that could be estimated.
"""

MOST_BLOCKS = 64
"""Arrivals are counted in so many blocks per window, however many panes that is."""

PARTS_PER_STREAM = 8
"""In process, batches are taken in parts of one in so many of what a stream has of the memory."""

OF_ITS_OWN = 8 * 5
"""Bytes of a tuple beside its columns: its time, twice, its two draws and the chance to probe."""

OF_AN_INDEX = 8 * 4
"""Bytes of a tuple in the index by one key: word, time and row, and its part of the heads."""

OF_A_STRUCTURE = 8 * 11
"""Bytes of a tuple in the structure of its window: its time, place and draw, its key in the queue, its
slot with the room beside it, the word of its key, and a quarter of that for entries of tuples that
are gone. A buffer takes less, a hash and trees about as much."""

LEAST_PART = 16
"""Tuples of a part at least: smaller ones would cost more than they save."""


def part_of(memory: float, streams: int) -> int:
    """How many tuples of a batch are taken at a time, where so many are held in all."""
    return max(LEAST_PART, int(memory / (PARTS_PER_STREAM * streams)))


def pane_ticks(shortest: int, panes: int = PANES_PER_WINDOW) -> int:
    """How many ticks a pane has, of so many in the shortest window."""
    return max(1, shortest // panes)


def panes_for_totals(shortest: int, probes: float, panes: int) -> int:
    """Into how many panes the shortest window is cut, so many at most.

    Each has enough probes then of every stream, which has so many per tick.
    """
    while panes > 1 and probes * pane_ticks(shortest, panes) < ENOUGH_PROBES:
        panes //= 2
    return panes


def room_to_wait(asked: Sequence[float], most: float) -> list[float]:
    """What each input has of the room for arrivals that wait: as much to each, or what it asks for.

    So those of slow streams wait whole, and are kept; those of fast ones are drawn to probe.

    Examples:
        >>> room_to_wait([10, 200, 300], 110)
        [10, 50.0, 50.0]
    """
    given, left = list(asked), most
    by_size = sorted(range(len(asked)), key=lambda at: asked[at])
    for number, at in enumerate(by_size):
        given[at] = min(asked[at], left / (len(asked) - number))
        left -= given[at]
    return given


CLEARLY = 1.25
"""A rate has changed when it is so many times as high, or as low."""


def block_panes(retention: int, pane: int) -> int:
    """How many panes the blocks have in which the arrivals of an input are counted."""
    return max(1, retention // pane // MOST_BLOCKS)


def counted_ticks(retention: int, pane: int) -> int:
    """For how many ticks at most arrivals of an input are counted when a pane is decided.

    [ start of a block .. start of the pane - retention ......... start of the pane .. its end )
    """
    return (-(-max(0, retention) // pane) + block_panes(retention, pane)) * pane


@dataclass(frozen=True)
class Least:
    """What one input gets at least: an amount, or a share of what there is."""

    amount: float
    is_share: bool = False

    def of(self, whole: float) -> float:
        """The amount, out of so much."""
        return self.amount * whole if self.is_share else self.amount

    def share(self, own: int, whole: int) -> Least:
        """For a part of what there is: so many of so many."""
        return self if self.is_share else Least(self.amount * own / whole)


def floors(least: Sequence[Least], inputs: int, whole: float | None) -> list[float]:
    """What each input gets at least, out of so much; in proportion where there is not even that."""
    if whole is None or not least:
        return [0.0] * inputs
    amounts = [own.of(whole) for own in least]
    scale = min(1.0, whole / sum(amounts)) if sum(amounts) > 0 else 1.0
    return [amount * scale for amount in amounts]


@dataclass(frozen=True)
class Expected:
    """What the inputs of a join are expected to get, at the rates that the planner knows.

    Attributes:
        case: what is short, in words.
        rates: arrivals per tick.
        windows: tuples of the full windows.
        waiting: tuples that wait, for their pane to be over and for late ones.
        waited: those of them that there is room for.
        probing: arrivals per tick that probe.
        kept: tuples that are kept.
        recall: the share of all results that this gives.
        row_bytes: what a tuple is assumed to take where memory is in bytes.
        is_width_assumed: whether that is a guess, for columns are of any width.
    """

    case: str
    rates: tuple[float, ...]
    windows: tuple[float, ...]
    probing: tuple[float, ...]
    kept: tuple[float, ...]
    recall: float
    waiting: tuple[float, ...] = ()
    waited: tuple[float, ...] = ()
    row_bytes: int = 0
    is_width_assumed: bool = False


@dataclass(frozen=True)
class Shedding:
    """What a window join may hold and do when there is not enough for all.

    Attributes:
        memory: what its windows, and arrivals that wait, may hold together; None: as much as it
            takes.
        is_in_bytes: whether memory counts bytes, not tuples.
        service_rate: arrivals of all inputs together that may probe per tick; None: all of them.
        may_skip: whether arrivals beyond that do not probe, rather than the query fails.
        strategy: how what there is is divided, one of STRATEGIES.
        least_windows: per input, what is kept of its window at least.
        least_rates: per input, how many of its arrivals probe at least.
        seed: of the draws.
        is_estimated: whether an aggregate above estimates totals, so that results carry
            `hidden_fields`.
        panes: into how many panes the shortest window is cut.
        parts: into how many parts memory and service rate have been divided: the buckets of a
            stage on Spark. The amounts above are those of one part.
        expected: what the inputs will get, for EXPLAIN; None where rates are not known.
    """

    memory: float | None = None
    is_in_bytes: bool = False
    service_rate: float | None = None
    may_skip: bool = True
    strategy: str = BEST
    least_windows: tuple[Least, ...] = ()
    least_rates: tuple[Least, ...] = ()
    seed: int = 0
    is_estimated: bool = False
    panes: int = PANES_PER_WINDOW
    parts: int = 1
    expected: Expected | None = None

    @property
    def sheds(self) -> bool:
        """Whether the answer may be a part of the whole one."""
        return self.memory is not None or (self.service_rate is not None and self.may_skip)

    def most_tuples(self, row_bytes: int) -> float | None:
        """The tuples that may be held, at so many bytes each; None for as many as come."""
        if self.memory is None or not self.is_in_bytes:
            return self.memory
        return self.memory // row_bytes

    def keeps_too_little(self, inputs: int, row_bytes: int) -> bool:
        """Whether it keeps less than a tuple for each of its inputs."""
        memory = self.most_tuples(row_bytes)
        return memory is not None and memory < inputs

    def gives_nothing(self, inputs: int, row_bytes: int) -> bool:
        """Whether totals are estimated, and not one tuple of some input is sure to wait, or be kept.

        Those that wait may have one part in as many as there are inputs, as much to each of these.
        """
        memory = self.most_tuples(row_bytes) if self.is_estimated else None
        if memory is None:
            return False
        least = [own.of(memory) if own.is_share else own.amount for own in self.least_windows]
        return memory < inputs * inputs or min(least, default=1.0) < 1

    def skips_a_stream(self, inputs: int, shortest: int) -> bool:
        """Whether totals are estimated, and some input may not even have a few probes per window.

        One in each pane of usual length, which are enough in one as long as the shortest window.
        """
        rate = self.service_rate if self.is_estimated and self.may_skip else None
        return rate is not None and rate * pane_ticks(shortest) < inputs

    def allocated(self, loads: Sequence[StreamLoad], resources: Resources) -> Allocation:
        """What inputs get of what there is, by the strategy, each its minimum before anything else."""
        least_windows = floors(self.least_windows, len(loads), resources.memory)
        least_rates = floors(self.least_rates, len(loads), self.service_rate)
        asked = [
            replace(load, least_rate=rate, least_window=window)
            for load, rate, window in zip(loads, least_rates, least_windows, strict=True)
        ]
        if self.strategy == BEST:
            return allocate(asked, resources)
        strategy = BY_NAME[self.strategy]
        return allocate_by(asked, resources, processor=strategy, memory=strategy)

    def probes_needed(self, there_are: float, inputs: int) -> int:
        """Probes that each input gets at least if a pane has this many."""
        if not self.is_estimated:
            return 0
        return min(ENOUGH_PROBES, max(1, int(there_are / inputs)))

    def fits(self, tuples: int) -> bool:
        """Whether there is room for this many tuples, however wide they are."""
        return self.memory is None or (not self.is_in_bytes and tuples <= self.memory)

    def part(self, parts: int) -> Shedding:
        """What one of several equal parts of the join may hold and do."""
        return replace(self.share_of(self, 1, parts), parts=self.parts * parts)

    def share_of(self, whole: Shedding, own: int, of_all: int) -> Shedding:
        """The same with `own` of `of_all` equal parts of what the whole has.

        Multiplied before it is divided, so that whole numbers stay whole: with one token per part, a
        share gets exactly one for each of its own parts.
        """
        rate = whole.service_rate
        return replace(
            self,
            memory=None if whole.memory is None else whole.memory * own / of_all,
            least_windows=tuple(least.share(own, of_all) for least in whole.least_windows),
            service_rate=None if rate is None else rate * own / of_all,
            least_rates=tuple(least.share(own, of_all) for least in whole.least_rates),
        )


def draw_column(number: int) -> str:
    """The hidden column that tells which draw put the tuple of an input into a combination."""
    return f"$draw_{number}"


def chance_column(number: int) -> str:
    """The hidden column with the chance of that draw."""
    return f"$chance_{number}"


def is_hidden(column: str) -> bool:
    """Whether a column is one of the hidden ones."""
    return column.startswith((draw_column(0)[:-1], chance_column(0)[:-1]))


def hidden_fields(inputs: int) -> tuple[Field, ...]:
    """The hidden columns of the results of a join of so many inputs, in their order."""
    return tuple(
        field
        for number in range(inputs)
        for field in (Field(draw_column(number), "bigint"), Field(chance_column(number), "double"))
    )
