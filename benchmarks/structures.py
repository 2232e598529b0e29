"""Window structures from 1,000 to 1,000,000 tuples: counted work and time of each operation.

    python -m benchmarks.structures [--most 1000000]

Keys are random 64-bit words, each once; probes ask for keys that are there. A window slides: each
insertion comes with an expiry of the oldest. Work is what the structures count: keys compared,
entries touched, entries moved. Nanoseconds are of the processor, least of some rounds in which all
sizes take turns, so that a busy spell is no single one's. A hash is to be flat in work, and in
time within 4 times (a window of 1,000 tuples lies in the first cache, one of 1,000,000 in none);
probes of trees grow with the logarithm.
"""

from __future__ import annotations

import argparse
import json
import math
import time

import numpy as np

from windrow.kernels.structures.store import Int64s, Store
from windrow.kernels.structures.window import (
    STRUCTURES,
    filled_store,
    search_only,
    update_only,
    work_of,
)
from windrow.physical.structures import USUAL

LEAST = 1_000
OPERATIONS = 50_000
ROUNDS = 7
NAMES = ("hash", "btree", "ttree")


class Window:
    """A structure that holds so many tuples, and what its operations have cost at least."""

    def __init__(self, name: str, held: int) -> None:
        self.name, self.held = name, held
        self.random = np.random.default_rng([7, held])
        keys = self.random.integers(-(2**63), 2**63 - 1, held)
        self.keys = keys
        self.store: Store = filled_store(STRUCTURES[name], USUAL.of(name), keys)
        self.probe_ns = self.slide_ns = math.inf
        self.probe_work = self.slide_work = 0.0
        # Slid once over: buckets and nodes are as full as they will be. (The first one compiles.)
        self.slide(self.random.integers(-(2**63), 2**63 - 1, held))

    def slide(self, keys: Int64s) -> None:
        """Inserts keys, the oldest going each time."""
        self.store = update_only(self.store, keys)
        self.keys = np.concatenate([self.keys, keys])[-self.held :]

    def measure(self) -> None:
        """Probes by key, then slides, once."""
        asked = self.random.choice(self.keys, OPERATIONS)
        before, began = work_of(self.store), time.thread_time_ns()
        found = search_only(self.store, asked, asked)
        self.probe_ns = min(self.probe_ns, (time.thread_time_ns() - began) / OPERATIONS)
        if found < OPERATIONS:
            raise SystemExit(f"{self.name} finds {found} of {OPERATIONS} keys that are there")
        between = work_of(self.store)
        self.probe_work = (sum(between) - sum(before)) / OPERATIONS
        coming = self.random.integers(-(2**63), 2**63 - 1, OPERATIONS)
        began = time.thread_time_ns()
        self.store = update_only(self.store, coming)
        self.slide_ns = min(self.slide_ns, (time.thread_time_ns() - began) / OPERATIONS)
        self.slide_work = (sum(work_of(self.store)) - sum(between)) / OPERATIONS
        self.keys = np.concatenate([self.keys, coming])[-self.held :]

    def figures(self) -> dict[str, float]:
        return {
            "tuples": self.held,
            "probe_work": round(self.probe_work, 2),
            "probe_ns": round(self.probe_ns, 1),
            "slide_work": round(self.slide_work, 2),
            "slide_ns": round(self.slide_ns, 1),
        }


def measure(most: int) -> dict[str, object]:
    """Per structure the figures of every size, and how the largest compares with the smallest."""
    sizes = [held for held in (LEAST, 10_000, 100_000, 1_000_000) if held <= most]
    windows = [Window(name, held) for name in NAMES for held in sizes]
    for _ in range(ROUNDS):
        for window in windows:
            window.measure()
    found: dict[str, object] = {}
    for name in NAMES:
        own = [window.figures() for window in windows if window.name == name]
        first, last = own[0], own[-1]
        ratios = {
            key: round(last[key] / first[key], 2)
            for key in ("probe_work", "probe_ns", "slide_work", "slide_ns")
        }
        found[name] = {"sizes": own, "largest / smallest": ratios}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Window structures of growing windows.")
    parser.add_argument("--most", type=int, default=1_000_000)
    print(json.dumps(measure(parser.parse_args().most)))
