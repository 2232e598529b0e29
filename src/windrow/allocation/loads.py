"""What streams ask for, what there is, what they get, and how many of all results that gives.

The last tuple of a combination to arrive finds the others in their windows. With n streams

    output = selectivity * sum over i of  rate[i] * product over j != i of  window[j]

which is the paper's equation 12 for two. Where a window is a random part of the full one, and the
arrivals that probe are a random part of all, each combination is found with the probability that
its last tuple probes and its others were kept. So the same formula with the effective rates and the
kept windows is the expected output, and its ratio to the full one the expected recall.

Where a probe meets a share of those in the windows only, for what is of its own instant may count as
later, its rate counts with that share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import mul

from windrow.errors import WindrowError


class AllocationError(WindrowError, ValueError):
    """Memory or processor cannot be divided as asked; the one who asked acts."""


ALIKE = 0.9
"""A probe that meets such a share of what another meets, or more, is taken to meet as much."""


@dataclass(frozen=True)
class StreamLoad:
    """A stream that joins with others.

    Attributes:
        rate: arrivals per unit of time; each is to probe the other windows.
        window: tuples of its full window.
        least_rate: arrivals that the application requires to probe.
        least_window: tuples that it requires to be kept.
        meets: of all combinations of tuples in the other windows, the share that a probe meets. The
            last of several tuples of one instant meets the others, and they do not meet it.
        at_hand: tuples of the window that are there to be kept; None for all. Those that were let go
            earlier do not come back, and what is set aside for them would be of no use.
    """

    rate: float
    window: float
    least_rate: float = 0.0
    least_window: float = 0.0
    meets: float = 1.0
    at_hand: float | None = None

    def __post_init__(self) -> None:
        _check_numbers(self)

    @property
    def most_kept(self) -> float:
        """Tuples of the window that memory could be used for."""
        return self.window if self.at_hand is None else min(self.window, self.at_hand)


@dataclass(frozen=True)
class Resources:
    """What there is for one join; None for as much as it takes.

    Attributes:
        memory: tuples that all windows may hold together.
        service_rate: arrivals, of all streams together, that can probe per unit of time.
    """

    memory: float | None = None
    service_rate: float | None = None

    def __post_init__(self) -> None:
        _check_numbers(self)


class Case(StrEnum):
    """The paper's table 2: what is short."""

    nothing = "nothing is short"
    processor = "the processor is short"
    memory = "memory is short"
    both = "processor and memory are short"


@dataclass(frozen=True)
class Allocation:
    """What each stream gets.

    Attributes:
        rates: arrivals per unit of time that probe: the effective rates.
        windows: tuples that are kept.
    """

    rates: tuple[float, ...]
    windows: tuple[float, ...]


def alike(shares: Sequence[float]) -> list[float]:
    """Shares that probes meet, of the largest: those that are nearly as large as that count as much.

    An instant more of a window of many is no reason to keep one stream alone: all else equal, keeping
    some of each makes better use of the memory that arrivals leave when their pane is decided.

    Examples:
        >>> alike([0.4, 0.38, 0.2])
        [1.0, 1.0, 0.5]
    """
    largest = max(shares)
    return [1.0 if own >= ALIKE * largest else own / largest for own in shares]


def everything(loads: Sequence[StreamLoad]) -> Allocation:
    """What streams get when nothing is short."""
    return Allocation(tuple(one.rate for one in loads), tuple(one.most_kept for one in loads))


def case_of(loads: Sequence[StreamLoad], resources: Resources) -> Case:
    """Which of the four cases streams and resources make."""
    is_processor_short = _is_short(resources.service_rate, [one.rate for one in loads])
    is_memory_short = _is_short(resources.memory, [one.most_kept for one in loads])
    if is_processor_short:
        return Case.both if is_memory_short else Case.processor
    return Case.memory if is_memory_short else Case.nothing


def _check_numbers(given: StreamLoad | Resources) -> None:
    for name, value in vars(given).items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            told = f"{name.replace('_', ' ')} is {value:g}"
            raise AllocationError("bad-allocation-number", told, hint="it must be 0 or more")


def _is_short(there_is: float | None, asked: Sequence[float]) -> bool:
    return there_is is not None and sum(asked) > there_is


def output_rate(
    allocation: Allocation, selectivity: float = 1.0, loads: Sequence[StreamLoad] = ()
) -> float:
    """The expected results per unit of time, of all combinations of which a share matches.

    The streams know what a probe meets; without them it meets all.

    Examples:
        >>> output_rate(Allocation(rates=(100.0, 0.0), windows=(500.0, 1000.0)), 0.01)
        1000.0
    """
    rates = meeting_rates(loads, allocation.rates) if loads else allocation.rates
    others = products_of_others(allocation.windows)
    found: float = sum(map(mul, rates, others))
    return selectivity * found


def expected_recall(loads: Sequence[StreamLoad], allocation: Allocation) -> float:
    """The expected share of the results of the full join; 1 where that has none."""
    full = output_rate(everything(loads), loads=loads)
    return output_rate(allocation, loads=loads) / full if full > 0 else 1.0


def meeting_rates(loads: Sequence[StreamLoad], rates: Sequence[float]) -> list[float]:
    """Effective rates, each with the share of the others' combinations that a probe meets."""
    return [load.meets * rate for load, rate in zip(loads, rates, strict=True)]


def products_of_others(windows: Sequence[float]) -> list[float]:
    """For each stream, the combinations of tuples in the other streams' windows.

    Without a division, which an empty window would spoil.
    """
    return [math.prod(windows[:at]) * math.prod(windows[at + 1 :]) for at in range(len(windows))]
