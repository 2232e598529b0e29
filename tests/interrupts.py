"""Interrupts at random moments, over every kind of query: run in a process of its own.

    python tests/interrupts.py SEED COUNT [KIND ...]

Each interrupt is a SIGINT that a thread sends while a query runs. It must come out as one
KeyboardInterrupt; the result then goes on to exactly the answer that it has without interrupts, and
another query of the same session gives its own. What went otherwise is printed, a line per kind.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from bags import bag

import windrow
from windrow import WindrowError

ROWS = 6_000
FEW_ROWS = 300
"""For what takes long: shedding decides instant by instant."""

CALM = "SELECT COUNT(*) AS n FROM a [RANGE 5]"

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "join": ("SELECT a.x, b.x AS y FROM a, b WHERE a.k = b.k WINDOW = 20", {}),
    "three streams": (
        "SELECT a.x, c.x AS y FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 3",
        {},
    ),
    "sliding aggregate": (
        "SELECT k, COUNT(*) AS n, SUM(x) AS s, MAX(x) AS m, MEDIAN(x) AS e, STDDEV(x) AS d,"
        " COUNT(DISTINCT x) AS u FROM a [RANGE 50] GROUP BY k",
        {},
    ),
    "distinct": ("SELECT DISTINCT k FROM a [RANGE 50]", {}),
    "set operation": ("SELECT k FROM a [RANGE 30] EXCEPT ALL SELECT k FROM b [RANGE 40]", {}),
    "outer join": ("SELECT a.x, b.x AS y FROM a FULL JOIN b ON a.k = b.k WINDOW = 5", {}),
    "bestmatch": (
        "SELECT a.x, b.x AS y FROM a LEFT OUTER BESTMATCH JOIN b ON a.x MINDIST b.x"
        " WHERE a.k = b.k WINDOW = 20",
        {},
    ),
    "best now": (
        "SELECT a.x, b.x AS y FROM a [RANGE 9] BESTMATCH JOIN b [RANGE 9] ON a.x MINDIST b.x,"
        " a.z MINDIST b.z",
        {},
    ),
    "as-of": (
        "SELECT a.x, b.x AS y FROM a ASOF JOIN b MATCH_CONDITION (a.at >= b.at) ON a.k = b.k",
        {},
    ),
    "count windows": (
        "SELECT a.x, b.x AS y FROM a [ROWS 50], b [ROWS 50] WHERE a.k = b.k",
        {},
    ),
    "shedding": (
        "SELECT a.x, b.x AS y FROM a, b WHERE a.k = b.k WINDOW = 20",
        {"memory": "100 tuples", "on_memory": "shed"},
    ),
    "spilling": (
        "SELECT a.x, b.x AS y FROM a LEFT OUTER BESTMATCH JOIN b ON a.x MINDIST b.x WITHIN 50"
        " WINDOW = 100",
        {"memory": "40 kB", "on_memory": "spill"},
    ),
    "negative tuples": (
        "SELECT a.k, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 20] WHERE a.k = b.k GROUP BY a.k",
        {"scheduling": "nta"},
    ),
}
"""By kind, a query and its options."""


def table(seed: int, rows: int) -> pa.Table:
    """One stream of all queries."""
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "k": draw.integers(0, 50, rows),
            "x": draw.uniform(0, 1000, rows).round(),
            "z": draw.uniform(0, 1000, rows).round(),
            "at": np.sort(draw.integers(0, rows * 2, rows)),
        }
    )


def new_session(kind: str) -> windrow.Session:
    """A session with a list, an iterator and a table for streams."""
    rows = FEW_ROWS if kind == "shedding" else ROWS
    session = windrow.Session()
    for number, name in enumerate("abc"):
        batches = table(number, rows).to_batches(max_chunksize=rows // 12)
        kinds = {"a": batches, "b": (own for own in batches), "c": table(number, rows)}
        schema = batches[0].schema if name == "b" else None
        session.stream(name, kinds[name], time="at", schema=schema)
    return session


def interrupt_after(seconds: float) -> threading.Thread:
    """A thread that interrupts this process."""

    def kill() -> None:
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


def read_under_fire(
    ask: Callable[[], Any], draw: random.Random, limit_s: float, most: int
) -> tuple[list[pa.RecordBatch], int]:
    """The batches of a result that is asked for, and read on, after every interrupt; how many came."""
    result: Any = None
    got: list[pa.RecordBatch] = []
    interrupts = 0
    while result is None or not result.execution.is_at_end:
        try:
            shooter = interrupt_after(draw.uniform(0, limit_s)) if interrupts < most else None
            result = ask() if result is None else result
            # The list takes what next gives in one step of C: no interrupt falls in between.
            got.extend(result)
            while shooter is not None and shooter.is_alive():
                time.sleep(0.001)
        except KeyboardInterrupt:
            interrupts += 1
    return got, interrupts


def interrupted(kind: str, seed: int, count: int) -> Counter[str]:
    """What so many interrupts of a kind of query have led to."""
    query, options = KINDS[kind]
    draw = random.Random(seed)
    list(new_session(kind).sql(query, **options))  # compiles
    began = time.perf_counter()
    expected = bag(list(new_session(kind).sql(query, **options)))
    limit_s = time.perf_counter() - began
    calm = new_session(kind).sql(CALM).to_arrow()
    seen: Counter[str] = Counter()
    while seen["interrupts"] < count:
        session = new_session(kind)
        try:
            got, interrupts = read_under_fire(
                lambda session=session: session.sql(query, **options), draw, limit_s, min(count, 4)
            )
            seen["interrupts"] += interrupts
            seen["answers that are wrong"] += bag(got) != expected
            seen["sessions that are broken"] += session.sql(CALM).to_arrow() != calm
        except WindrowError as error:
            seen[str(error).partition("\n")[0]] += 1
    return +seen


def main(arguments: list[str], say: Callable[[str], object] = print) -> None:
    """Interrupts the kinds of queries that are named, or all."""
    seed, count, *kinds = arguments
    for kind in kinds or KINDS:
        seen = interrupted(kind, int(seed), int(count))
        interrupts = seen.pop("interrupts")
        say(f"{kind}: {dict(seen) if seen else 'right'} after {interrupts} interrupts")


if __name__ == "__main__":
    main(sys.argv[1:])
