"""What EXPLAIN tells of a node, as facts of a label and lines, and what streams promise, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from windrow.plan.units import show_ticks

if TYPE_CHECKING:
    from windrow.physical.nodes.scan_stream import ScanStream


Fact: TypeAlias = tuple[str, list[str]]

Show: TypeAlias = Callable[[str], str]
"""Gives a flat column name as the user knows it."""


def said(*facts: Fact) -> list[Fact]:
    """The facts that have something to say."""
    return [fact for fact in facts if fact[1]]


LEAD = "lead"
"""What EXPLAIN calls the distance from a stream's watermark to its newest row, where no lateness
bounds it."""


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
