"""Small joins that shed, their streams, and runs of them cut in any way."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa

from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.load_shedding.limits import Least, Shedding
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import MAX_TICK, Field, Schema

WINDOW, SPAN = 80, 250


def node(size=2, window=WINDOW):
    names = tuple("abc"[:size])
    bounds = [Bound(i, j, window, window) for i in range(size) for j in range(i + 1, size)]
    kept = tuple((f"{name}.v",) for name in names)
    return SheddingJoin(
        tuple(ScanStream(n, n, (), Schema(()), "ts", "bigint", 0) for n in names),
        names, (KeyClass(tuple(f"{n}.k" for n in names), "bigint"),),
        WindowGraph(names, tuple(bounds)), kept, "hash",
        Schema(tuple(Field(name, "bigint") for part in kept for name in part)),
        shedding=Shedding(),
    )  # fmt: skip


def ahead(operator, batches, parts, lead):
    """The same, one stream ahead of the other: its part of so many comes `lead` parts earlier.

    Gives the results, and the most that was stored after a step.
    """
    found, most = Counter(), 0
    edges = np.linspace(0, SPAN, parts + 1).astype(int)
    for step in range(parts + lead):
        for port, batch in enumerate(batches):
            part = step if port == 0 else step - lead
            if 0 <= part < parts:
                low, high = edges[part], edges[part + 1]
                is_in = (batch.times >= low) & (batch.times < high)
                rows = [None] * len(batches)
                rows[port] = batch.take(np.flatnonzero(is_in))
                found += taken(operator.push(rows))
        if step >= lead:
            found += taken(operator.advance(int(edges[step - lead + 1])))
        found += taken(operator.settle())
        most = max(most, operator.counters.stored)
    found += taken(operator.advance(MAX_TICK))
    found += taken(operator.settle())
    return found, most, operator


def bytes_held(operator):
    """Bytes of all chunks of an operator, and of the structures beside them."""
    chunks = {id(part.chunk): part.chunk for own in operator.buffers() for part in own.slices}
    beside = sum(own.nbytes for own in getattr(operator, "_structures", ()))
    return beside + sum(chunk.memory_bytes for chunk in chunks.values())


def shedding(seed=0, least=None, size=2, **there_is: float):
    minima = () if least is None else (Least(least, is_share=True),) * size
    return Shedding(seed=seed, least_windows=minima, least_rates=minima, **there_is)


def streams(size=2, rows=225, keys=5):
    """Random tuples, equal ones among them, in no order of time."""
    dice = np.random.default_rng(4)
    made = []
    for name in "abc"[:size]:
        columns = {
            f"{name}.k": pa.array(dice.integers(0, keys, rows)),
            f"{name}.v": pa.array(dice.integers(0, 3, rows)),
        }
        made.append(ChangeBatch(pa.record_batch(columns), dice.integers(0, SPAN, rows)))
    return made


def taken(batches):
    found = Counter()
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns.columns]
        found.update(zip(*columns, batch.times.tolist(), strict=True))
    return found


def run(operator, batches, cuts=1, restored=None):
    """All rows, in so many parts by time; `restored` makes a new operator between the parts."""
    found, most = Counter(), 0
    edges = np.linspace(0, SPAN, cuts + 1).astype(int)
    for low, high in pairwise(edges):
        for port, batch in enumerate(batches):
            ports = [None] * len(batches)
            ports[port] = batch.take(np.flatnonzero((batch.times >= low) & (batch.times < high)))
            found += taken(operator.push(ports))
        found += taken(operator.advance(int(high)))
        found += taken(operator.settle())
        most = max(most, operator.counters.stored)
        if restored is not None:
            before, operator = operator, restored()
            operator.restore(before.snapshot())
    found += taken(operator.advance(MAX_TICK))
    found += taken(operator.settle())
    return found, most, operator
