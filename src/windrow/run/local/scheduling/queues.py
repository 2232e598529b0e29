"""What goes from operator to operator: rows, and clocks, in one queue each, first in first out.

    scan --[rows, clock 7]--> filter --[rows]--> stage --> ..

A clock of t on a queue says that nothing below t follows on it. Clocks are in terms of the query's
watermark; a stage subtracts the delays of the operators below it by itself (`operators/driver.py`).

The paper's words for the same: a tuple carries minTS and maxTS, the least and the greatest time of
the tuples that it is made of. In our rows `time` is the tuple's maxTS, in the order of which
operators take it into account; `end` follows from its minTS: with one window w, end = minTS + w + 1,
with several the least of these over its tuples. A clock is the maxTS that an operator has come to.

    minTS      maxTS = time               end = minTS + w + 1
    ---+---------+============================)-------------->
                 alive, and taken into account when the clock has passed `time`
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from windrow.operators.changes import ChangeBatch


@dataclass(frozen=True, slots=True)
class Clock:
    """Nothing below this instant follows on the queue."""

    instant: int


Entry: TypeAlias = ChangeBatch | Clock
Queue: TypeAlias = deque[Entry]


@dataclass(frozen=True)
class Round:
    """One micro-batch: what arrived, between two watermarks of the query.

    `ended` are the streams that will deliver nothing any more.
    """

    arrived: Mapping[str, pa.RecordBatch]
    before: int
    after: int
    ended: frozenset[str] = field(default_factory=frozenset)
