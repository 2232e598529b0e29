"""The compiled structures on the bench: filled with random keys, run, metered."""

from __future__ import annotations

import time

import numpy as np

from windrow.calibration.measuring import RATES, SECONDS_WORTH, Metered
from windrow.kernels.structures.runs import filled_store, search_only, update_only, work_of
from windrow.kernels.structures.store import Numbers, Store
from windrow.kernels.structures.window import STRUCTURES
from windrow.optimize.cost.directions import INSERT_AND_REMOVE
from windrow.optimize.cost.structures import Sizes, Structure

SEED = 2003
_WARM_UP = 16
_MOST = RATES[-1] * SECONDS_WORTH


class CompiledBench:
    """A structure that holds a window; a probe meets one tuple of it on average."""

    def __init__(self, structure: Structure, window: int, sizes: Sizes) -> None:
        dice = np.random.default_rng(SEED)
        self._look_ups = look_ups(structure)
        self._store = filled(structure, sizes, dice.integers(0, window, window))
        self._probed = dice.integers(0, window, _MOST)
        # Keys come again only after the window has forgotten them: it stays a random one.
        self._coming = dice.integers(0, window, max(2 * window, _MOST))
        self._call_s = 0.0
        # The first call compiles. What a call of nothing takes is no operation's.
        self.search(_WARM_UP)
        self.update(_WARM_UP)
        self._call_s = min(self.search(0).seconds for _ in range(_WARM_UP))

    def search(self, count: int) -> Metered:
        """So many probes by key."""
        keys, before = self._probed[:count], work_of(self._store)
        began = time.thread_time()
        search_only(self._store, keys, keys)
        return self._metered(time.thread_time() - began, before, operations=count)

    def update(self, count: int) -> Metered:
        """So many arrivals: each is inserted, and the oldest goes."""
        keys, before = self._coming[:count].copy(), work_of(self._store)
        self._coming = np.roll(self._coming, -count)
        began = time.thread_time()
        self._store = update_only(self._store, keys)
        return self._metered(
            time.thread_time() - began, before, operations=INSERT_AND_REMOVE * count
        )

    def _metered(self, seconds: float, before: tuple[int, int, int], *, operations: int) -> Metered:
        done = sum(work_of(self._store)) - sum(before)
        own = max(0.0, seconds - self._call_s)
        return Metered(own, done + operations * self._look_ups)


def filled(structure: Structure, sizes: Sizes, keys: Numbers) -> Store:
    """A structure that holds tuples with these keys, in the order in which they came."""
    return filled_store(STRUCTURES[structure.name], part_size(structure, sizes), keys)


def part_size(structure: Structure, sizes: Sizes) -> int:
    """How large the parts of a structure are: its buckets, or its nodes; a buffer has none."""
    match structure:
        case Structure.buffer:
            return 1
        case Structure.hash:
            return sizes.bucket
        case Structure.btree | Structure.ttree:
            return sizes.node


def look_ups(structure: Structure) -> int:
    """What any operation costs beside the tuples that it compares, touches and moves.

    A hash table finds the bucket of the key.
    """
    return 1 if structure is Structure.hash else 0
