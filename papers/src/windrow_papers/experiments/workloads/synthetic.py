"""Synthetic streams as in section 4.2 of the 2002 paper: exponential gaps, few different values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow_papers.experiments.workloads.streams import SECOND, Int64s, Streams

SLOW_PER_S, FAST_PER_S, SWITCH_EVERY = 10.0, 1_000.0, 100
"""The stream of figure 9(c): it changes between two rates every so many of its tuples."""


def synthetic(rates_per_s: Sequence[float], *, values: int, seconds: float, seed: int) -> Streams:
    """Streams with these rates over so many seconds; keys are uniform integers below `values`."""
    times = [
        _within(_arrivals(rate, seconds, seed=seed, stream=stream), seconds)
        for stream, rate in enumerate(rates_per_s)
    ]
    return _with_keys(times, values, seed)


def synthetic_of_length(
    rates_per_s: Sequence[float], *, values: int, tuples: int, seed: int
) -> Streams:
    """Streams with these rates and so many tuples each, however long that takes them."""
    times = [
        _ticks(np.random.default_rng([seed, stream, 0]).exponential(1 / rate, tuples))
        for stream, rate in enumerate(rates_per_s)
    ]
    return _with_keys(times, values, seed)


def with_switching_stream(
    rate_per_s: float, streams: int, *, values: int, tuples: int, seed: int
) -> Streams:
    """Streams at one rate, but the last switches between 10 and 1,000 per s every 100 tuples.

    Each has so many tuples. The slow stretches of the last make it last far longer.
    """
    steady = synthetic_of_length(
        [rate_per_s] * (streams - 1), values=values, tuples=tuples, seed=seed
    )
    stretch = np.arange(tuples) // SWITCH_EVERY
    rates = np.where(stretch % 2 == 0, SLOW_PER_S, FAST_PER_S)
    random = np.random.default_rng([seed, streams - 1, 0])
    return _with_keys([*steady.times, _ticks(random.exponential(1 / rates))], values, seed)


def _arrivals(rate_per_s: float, seconds: float, *, seed: int, stream: int) -> Int64s:
    """Times of a stream that surely last beyond the end: six standard deviations more."""
    expected = rate_per_s * seconds
    count = int(expected + 6 * np.sqrt(expected) + 10)
    gaps_s = np.random.default_rng([seed, stream, 0]).exponential(1 / rate_per_s, count)
    return _ticks(gaps_s)


def _ticks(gaps_s: np.ndarray) -> Int64s:
    return np.cumsum(gaps_s * SECOND).astype(np.int64)


def _within(times: Int64s, seconds: float) -> Int64s:
    return times[times < seconds * SECOND]


def _with_keys(times: Sequence[Int64s], values: int, seed: int) -> Streams:
    keys = [
        np.random.default_rng([seed, stream, 1]).integers(0, values, len(own))
        for stream, own in enumerate(times)
    ]
    return Streams(tuple(times), tuple(keys))
