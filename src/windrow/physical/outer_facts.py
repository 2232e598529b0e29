"""What EXPLAIN says of a window join that is not inner, beyond what it says of every one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.physical.bounds_text import event_time, plus
from windrow.plan.durations import show_ticks
from windrow.plan.nodes import KIND_NAMES

if TYPE_CHECKING:
    from windrow.physical.nodes.window_join import WJoin

Fact = tuple[str, list[str]]


def kind_facts(spec: WJoin, below: int, time_type: str) -> list[Fact]:
    """The kind of join, and when its rows that come alone are final; none for an inner join.

    `below` is what the operator's watermark trails by.
    """
    if spec.kind == "inner":
        return []
    facts: list[Fact] = [("kind", [f"{KIND_NAMES[spec.kind]}: {_answer(spec)}"])]
    if spec.at_once:
        return facts
    if any(child.has_ends for child in spec.inputs):
        alone = "is matched" if spec.kind == "semi" else "is unmatched"
        other = "some match" if spec.kind == "semi" else "no match"
        names = " or ".join(spec.aliases[port] for port in spec.tracked)
        facts.append(("by instant", [f"a tuple of {names} {alone} while {other} of it is alive"]))
    watermark = plus("watermark", -below, time_type)
    lines = []
    for port in spec.tracked:
        time = event_time(spec.inputs[port], spec.aliases[port])
        last = plus(time, spec.retention(port), time_type)
        lines.append(f"no match of {spec.aliases[port]} can follow once {watermark} > {last}")
    return [*facts, ("final", lines)]


def match_state(spec: WJoin) -> list[str]:
    """What is kept beside the rows: who has found a match, and by instant when it is alive."""
    by_instant = any(child.has_ends for child in spec.inputs)
    what = "the number and the matched times" if by_instant else "the number"
    return [
        f"{spec.aliases[port]}: {what} of each tuple that has a match, dropped with the tuple"
        for port in spec.awaited
    ]


def emission(spec: WJoin, time_type: str) -> str:
    """When which rows of a window join come, and the delay that they add."""
    by_instant = any(child.has_ends for child in spec.inputs)
    waits = max([0, *map(spec.retention, spec.awaited)])
    delay = f"adds a delay of {show_ticks(waits, time_type)}" if waits else "adds no delay"
    if spec.kind == "anti" or (spec.kind == "semi" and by_instant):
        return f"each tuple when it is final; {delay}"
    if spec.kind == "semi":
        return f"each tuple in the batch of its first match; {delay}"
    pairs = "each combination in the batch of its last tuple"
    if spec.at_once:
        return f"{pairs}, each tuple with NULLs in its own; {delay}"
    return f"{pairs}{', unmatched tuples when final' if spec.tracked else ''}; {delay}"


def _answer(spec: WJoin) -> str:
    first, second = spec.aliases
    if spec.kind == "semi":
        return f"each tuple of {first} that one of {second} matches, once"
    if spec.kind == "anti":
        return f"each tuple of {first} that none of {second} matches"
    kept = [spec.aliases[port] for port in spec.tracked]
    if spec.at_once:
        whose = " and of ".join(kept)
        return f"the pairs, and each tuple of {whose} with NULLs, for what reads it to judge"
    other = second if kept == [first] else first
    missing = f"none of {other}" if len(kept) == 1 else "none of the other"
    return (
        f"the pairs, and each tuple of {' and of '.join(kept)} that {missing} matches, with NULLs"
    )
