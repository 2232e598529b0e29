"""How long rows are alive and how many of them are held, in words, for EXPLAIN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windrow.physical.bounds_text import lag_terms
from windrow.plan.durations import show_ticks

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode


def source_name(spec: PhysicalNode) -> str:
    """What the rows of a spec are called: the stream, the derived table, or `rows` of a join."""
    sources = {source.alias for source in spec.scans}
    if len(sources) == 1:
        return sources.pop()
    prefixes = {name.split(".", 1)[0] for name in spec.schema.names if "$" not in name}
    return prefixes.pop() if len(prefixes) == 1 and not prefixes & sources else "rows"


def lifetime(below: PhysicalNode, alive: int | None) -> str:
    """From when to when a row of a node is alive; `alive` as `alive_ticks` gives it."""
    if alive is None:
        return "until the answer below takes them back"
    return below.lifetime(show_ticks(alive, below.time_type))


def alive_bound(spec: PhysicalNode, rows: PhysicalNode, alias: str, alive: int, below: int) -> str:
    """The most rows that are held by what tells that they expire, one tick after they were alive.

    ---[=======================|--------)-----> held until the watermark has passed its expiry
       t                   t + alive  + 1 tick
    """
    return state_bound(spec, rows, alias, alive, below, ["1 tick"])


def state_bound(
    spec: PhysicalNode,
    rows: PhysicalNode,
    alias: str,
    retention: int,
    below: int,
    beyond: Sequence[str] = (),
) -> str:
    """The most rows of an input that are held after a batch; `rows` is the input.

    `beyond` are terms of the time that rows are held beyond their retention.

        watermark - retention        watermark                       newest
        ------[=========================|===============================]---> time
                  retention                lateness + distance + delay

    The watermark trails the newest row by the largest lateness, and further by how far this
    stream runs ahead of the slowest one. With a negative retention a row meets only what lies
    before it, and goes before the watermark comes to it; where that is all rows, none is held:

        watermark        watermark - retention                       newest
        ------|--------------------[====================================]---> time
    """
    time_type = spec.time_type
    terms = [*([show_ticks(retention, time_type)] if retention > 0 else []), *beyond]
    length = " + ".join(terms + lag_terms(spec, below) or [show_ticks(0, time_type)])
    if retention < 0:
        length = f"max(0, {length} - {show_ticks(-retention, time_type)})"
    else:
        length = f"({length})"
    rate = " x ".join([f"rate({alias})", *rows.matches])
    return f"{alias} <= {rate} x {length} + one batch"
