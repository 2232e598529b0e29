"""What EXPLAIN tells of a node, as facts of a label and lines; promises, windows and bounds in words.

All lengths are ticks inside; they are shown in the unit of the query's event time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from windrow.plan.units import show_ticks
from windrow.plan.windows import UNBOUNDED, Bound, WindowGraph

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.nodes.scans import ScanStream


Fact: TypeAlias = tuple[str, list[str]]

Show: TypeAlias = Callable[[str], str]
"""Gives a flat column name as the user knows it."""


def said(*facts: tuple[str, str | list[str]]) -> list[Fact]:
    """The facts that have something to say, each by a line or by several."""
    every = ((label, [told] if isinstance(told, str) else told) for label, told in facts if told)
    return list(every)


ONCE_FINAL = "each row once no later row can change it"
"""When rows come that wait until they are final."""

LEAD = "lead"
"""What EXPLAIN calls the distance from a stream's watermark to its newest row, where no lateness
bounds it."""


DISTANCE = "distance"
"""What EXPLAIN calls how far a stream runs ahead of the slowest one."""


def show_promises(scan: ScanStream) -> str:
    """`lateness 5s`, `read-ahead 3 rows`, `punctuations in done`, or several of them."""
    amounts = [f"{name} {amount}" for name, amount in _amounts(scan).items()]
    return ", ".join([*amounts, *_punctuations(scan)])


def say_promises(scan: ScanStream) -> str:
    """`a lateness of 5s`, `a read-ahead of 3 rows`, `punctuations in done`, or several of them."""
    amounts = [f"a {name} of {amount}" for name, amount in _amounts(scan).items()]
    return " and ".join([*amounts, *_punctuations(scan)])


def _amounts(scan: ScanStream) -> dict[str, str]:
    amounts = {}
    if scan.lateness is not None:
        amounts["lateness"] = show_ticks(scan.lateness, scan.time_type)
    if scan.read_ahead is not None:
        amounts["read-ahead"] = f"{scan.read_ahead} row{'s' if scan.read_ahead > 1 else ''}"
    return amounts


def _punctuations(scan: ScanStream) -> list[str]:
    return [] if scan.punctuation is None else [f"punctuations in {scan.punctuation}"]


def show_watermarks(sources: Sequence[ScanStream]) -> str:
    """How the streams' watermarks follow from their promises."""
    rules = []
    if any(source.lateness is not None for source in sources):
        rules.append("newest time seen - lateness")
    if any(source.read_ahead is not None for source in sources):
        rules.append("the least time of the last rows read ahead")
    if any(source.punctuation is not None for source in sources):
        rules.append("the last punctuation + 1 tick")
    return " or ".join(rules)


def has_lead(sources: Sequence[ScanStream]) -> bool:
    """Whether a stream's watermark may trail its newest row by more than any lateness says."""
    return any(source.lateness is None for source in sources)


def largest_lateness(sources: Sequence[ScanStream]) -> int:
    """The largest lateness that is promised, in ticks; 0 where none is."""
    return max(source.lateness or 0 for source in sources)


def remedy(scan: ScanStream, names: str, gap: int) -> str:
    """What to do about a row of the named streams that came so many ticks below the watermark."""
    if scan.lateness is not None:
        return f"raise the lateness of {names} by {show_ticks(gap, scan.time_type)} or more"
    if scan.read_ahead is not None:
        return f"raise the read-ahead of {names}"
    return f"have punctuations of {names} sent after all rows up to their time"


def show_bound(left: str, right: str, lo: int, hi: int, time_type: str) -> str:
    """t(right) - t(left) in [-lo, hi]: `a-b within 1h`, or with its direction if it has one."""
    difference = f"t({right}) - t({left})"
    if lo >= UNBOUNDED:
        return f"{difference} <= {show_ticks(hi, time_type)}"
    if hi >= UNBOUNDED:
        return f"{difference} >= {show_ticks(-lo, time_type)}"
    if lo == hi:
        return f"{left}-{right} within {show_ticks(hi, time_type)}"
    return f"{difference} in [{show_ticks(-lo, time_type)}, {show_ticks(hi, time_type)}]"


def stated_windows(graph: WindowGraph, time_type: str) -> list[str]:
    """The windows as the user wrote them, each with its meaning."""
    names = graph.streams
    by_text: dict[str, list[Bound]] = {}
    for bound in graph.stated:
        by_text.setdefault(bound.text, []).append(bound)
    lines = []
    for text, bounds in by_text.items():
        meanings = [_meaning(names, bound, time_type) for bound in bounds]
        if len(bounds) > 1 and len(by_text) == 1 and graph.form == "uniform clique":
            meanings = [f"every pair within {show_ticks(bounds[0].hi, time_type)}"]
        lines.append(f"{text}{': ' if text else ''}{', '.join(meanings)}")
    return lines


def window_meanings(graph: WindowGraph, time_type: str) -> list[str]:
    """What the windows mean, where nobody wrote them so."""
    return list(dict.fromkeys(_meaning(graph.streams, bound, time_type) for bound in graph.stated))


def _meaning(names: tuple[str, ...], bound: Bound, time_type: str) -> str:
    """What a bound says; one that is the same both ways names the streams in the order of FROM."""
    left, right = bound.left, bound.right
    if bound.lo == bound.hi:
        left, right = sorted((left, right))
    return show_bound(names[left], names[right], bound.lo, bound.hi, time_type)


def closure_facts(graph: WindowGraph, time_type: str) -> list[Fact]:
    """What follows from the windows together: those of pairs that have none, and narrower ones."""
    implied, tightened, names = [], [], graph.streams
    for a, b in combinations(range(len(names)), 2):
        closed, stated = ((of[b][a], of[a][b]) for of in (graph.upper, graph.direct))
        if (a, b) not in graph.stated_pairs:
            implied.append(show_bound(names[a], names[b], *closed, time_type))
        elif closed != stated:
            tightened.append(show_bound(names[a], names[b], *closed, time_type))
    return [("implied", implied), ("tightened", tightened)]


def event_time(node: PhysicalNode, alias: str) -> str:
    """The event time of an input as the user knows it: its time column, or t(alias)."""
    origin = node.origin
    return (
        f"{alias}.{origin.time}" if origin is not None and origin.alias == alias else f"t({alias})"
    )


def lag_terms(node: PhysicalNode, below: int) -> list[str]:
    """What the watermark trails the newest row of an input of a node by, as terms of a sum.

    That is the largest lateness, the lead that other promises leave, the delay `below`, and how
    far the stream runs ahead of the slowest one.
    """
    sources = node.scans
    time_type = sources[0].time_type
    lateness = largest_lateness(sources)
    terms = [f"lateness {show_ticks(lateness, time_type)}"] if lateness else []
    if has_lead(sources):
        terms.append(LEAD)
    if below:
        terms.append(f"delay {show_ticks(below, time_type)}")
    return [*terms, DISTANCE] if len(sources) > 1 else terms


def plus(base: str, ticks: int, time_type: str) -> str:
    """`a.ts + 1h`, `a.ts - 5s`, or `a.ts` alone."""
    if ticks == 0:
        return base
    return f"{base} {'+' if ticks > 0 else '-'} {show_ticks(abs(ticks), time_type)}"


def drop_condition(
    node: PhysicalNode, alias: str, retention: int, delayed: int, time_type: str
) -> str:
    """When a row of an input goes; `delayed` is what the operator's watermark trails by."""
    watermark = plus("watermark", -delayed, time_type)
    return f"drop {alias} when {watermark} > {plus(event_time(node, alias), retention, time_type)}"


def source_name(node: PhysicalNode) -> str:
    """What the rows of a node are called: the stream, the derived table, or what they are made of."""
    sources = list(dict.fromkeys(source.alias for source in node.scans))
    if len(sources) == 1:
        return sources[0]
    shown = [name for name in node.schema.names if "$" not in name]
    derived = {name.split(".", 1)[0] for name in shown}
    if len(derived) == 1 and not derived & set(sources) and all("." in name for name in shown):
        return derived.pop()
    return f"{'combinations' if node.is_joined else 'rows'} of {', '.join(sources)}"


def lifetime(below: PhysicalNode, alive: int | None) -> str:
    """From when to when a row of a node is alive; `alive` as `alive_ticks` gives it."""
    if alive is None:
        return "until the answer below takes them back"
    return below.lifetime(show_ticks(alive, below.time_type))


class HeldRows(str):
    """The most rows of an input that are held after a batch, in words; with what it is made of.

    Attributes:
        name: how the rows are called.
        rows: the node that gives them.
        retention: for how many ticks behind the watermark a row may still be needed.
        ticks: of event time that the rows held span, as far as that is known beforehand: with lateness
            and delays, without how far a stream runs ahead of others; 0 where a lead is not bounded.
        length: the same as text.
        beside: what is held beside them, as the text ends.
    """

    __slots__ = ("beside", "length", "name", "retention", "rows", "ticks")
    name: str
    rows: PhysicalNode
    retention: int
    ticks: int
    length: str
    beside: str

    def also(self, text: str) -> HeldRows:
        """The same, with something beside the rows."""
        made = HeldRows(f"{self}{text}")
        for own in self.__slots__:
            setattr(made, own, getattr(self, own))
        made.beside += text
        return made


def alive_bound(
    node: PhysicalNode, rows: PhysicalNode, alias: str, alive: int, below: int
) -> HeldRows:
    """The most rows that are held by what tells that they expire, one tick after they were alive.

    ---[=======================|--------)-----> held until the watermark has passed its expiry
       t                   t + alive  + 1 tick
    """
    return state_bound(node, rows, alias, alive, below, 1)


def state_bound(
    node: PhysicalNode, rows: PhysicalNode, alias: str, retention: int, below: int, beyond: int = 0
) -> HeldRows:
    """The most rows of an input that are held after a batch; `rows` is the input.

    `beyond` are ticks that rows are held beyond their retention.

        watermark - retention        watermark                       newest
        ------[=========================|===============================]---> time
                  retention                lateness + distance + delay

    The watermark trails the newest row by the largest lateness, and further by how far this
    stream runs ahead of the slowest one. With a negative retention a row meets only what lies
    before it, and goes before the watermark comes to it; where that is all rows, none is held:

        watermark        watermark - retention                       newest
        ------|--------------------[====================================]---> time
    """
    time_type = node.time_type
    lag = lag_terms(node, below)
    terms = [show_ticks(retention, time_type)] if retention > 0 else []
    terms += [f"{beyond} tick{'s' if beyond > 1 else ''}"] if beyond else []
    summed = terms + lag or [show_ticks(0, time_type)]
    length = " + ".join(summed)
    if retention < 0:
        length = f"max(0, {length} - {show_ticks(-retention, time_type)})"
    elif len(summed) > 1:
        length = f"({length})"
    rate = " x ".join([f"rate({alias})", *rows.matches])
    made = HeldRows(f"{alias} <= {rate} x {length} + one batch")
    made.name, made.rows, made.retention, made.beside = alias, rows, retention + beyond, ""
    lead = largest_lateness(node.scans) + below
    made.ticks = 0 if has_lead(node.scans) else max(0, retention + beyond + lead)
    is_fine = time_type not in {"bigint", "date"}  # a tick more or less of a microsecond is none
    made.length = _span(max(0, made.ticks - beyond) if is_fine else made.ticks, time_type)
    return made


def _span(ticks: int, time_type: str) -> str:
    """A length with its unit, where event time has plain numbers too."""
    if time_type == "bigint":
        return f"{ticks:,} tick{'' if ticks == 1 else 's'}"
    return show_ticks(ticks, time_type)
