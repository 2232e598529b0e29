"""What EXPLAIN says of a join that sheds: what, how much of it, and what is left of the answer.

And what is wrong with one, where both the planner and a runner may find it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from windrow.allocation.loads import Case
from windrow.errors import DataError, PlanError
from windrow.physical.estimates import show_count, show_rate
from windrow.physical.explain.facts import Fact, lag_terms, largest_lateness
from windrow.physical.load_shedding.limits import BEST, Expected, Least, Shedding, pane_ticks
from windrow.plan.units import show_bytes, show_ticks

if TYPE_CHECKING:
    from windrow.physical.nodes.time_join import SheddingJoin


LEAST_PART = 0.005
"""A smaller part of the answer is not told by its percentage, which would be 0."""

_DIVIDED = {
    BEST: "so that the most results are expected",
    "equal": "as much to each stream",
    "rates": "in proportion to the arrival rates",
    "windows": "in proportion to the windows",
    "inverse": "in inverse proportion to the arrival rates",
}


def shed_facts(node: SheddingJoin) -> list[Fact]:
    """What is shed, by which rule, and what is expected of it."""
    return [
        ("sheds", _what(node, node.shedding)),
        ("divided", _divided(node, node.shedding)),
        ("expected", _expected(node, node.shedding)),
        ("on Spark", _on_spark(node.shedding)),
    ]


def shed_probes(node: SheddingJoin) -> str:
    """How many arrivals may probe, where someone has said it."""
    shedding = node.shedding
    if not shedding.service_rate:
        return ""
    beyond = "a random sample does" if shedding.may_skip else "the query fails"
    rate = show_rate(shedding.service_rate, node.time_type)
    return f"at most {rate} probe; if more arrive, {beyond}"


def shed_state(node: SheddingJoin) -> list[str]:
    """What it holds."""
    shedding = node.shedding
    pane = show_ticks(node.pane, node.time_type)
    lag = " + ".join([pane, *lag_terms(node, max(child.delay for child in node.inputs))])
    waiting = [
        f"arrivals wait until the watermark has passed their pane of {_length(node)}:",
        f"per stream up to its rate x ({lag}) + one batch",
    ]
    if shedding.memory is None:
        return waiting
    marked = "structures hold up to 25% more entries, for expired tuples"
    return [
        *waiting,
        f"waiting arrivals have 1 / {len(node.inputs)} of the memory, and what windows leave;"
        " beyond that a"
        " random sample of them waits",
        *([marked] if node.is_in_structures else []),
    ]


def shed_limit(node: SheddingJoin) -> list[str]:
    """The memory that all of it shares, where that is limited."""
    if node.shedding.memory is None:
        return []
    limit = show_memory(node.shedding)
    return [f"windows and waiting arrivals together <= {limit}, plus the batch being processed"]


def shed_warnings(node: SheddingJoin) -> tuple[str, ...]:
    """How little of the answer is expected, and what to raise for more of it."""
    expected, rate = node.shedding.expected, _too_many(node)
    if rate:
        return (f"{rate}: raise service_rate",)
    if expected is None or not node.shedding.sheds or expected.recall >= 1:
        return ()
    part = f"only about {_recall(expected)}" if expected.recall >= LEAST_PART else "less than 1%"
    raised = {Case.processor: "service_rate", Case.memory: "memory"}
    what = raised.get(Case(expected.case), "memory and service_rate")
    return (f"{part} of the results are expected: raise {what}",)


def waiting_ticks(node: SheddingJoin) -> int:
    """For how many ticks arrivals wait: for their pane to be over, and for late ones."""
    below = max(child.delay for child in node.inputs)
    return node.pane + below + largest_lateness(node.scans)


def shed_emission(node: SheddingJoin) -> str:
    """When the results of a join that sheds come."""
    pane = show_ticks(node.pane, node.time_type)
    over = f"each combination once the pane of its last tuple is over ({_length(node)})"
    return f"{over}; adds a delay of {pane}"


def _length(node: SheddingJoin) -> str:
    """The length of a pane with its unit, where event time has plain numbers too."""
    pane = show_ticks(node.pane, node.time_type)
    return f"{pane} tick{'' if node.pane == 1 else 's'}" if node.time_type == "bigint" else pane


def show_memory(shedding: Shedding) -> str:
    """The memory as text."""
    assert shedding.memory is not None
    if shedding.is_in_bytes:
        return f"{show_bytes(int(shedding.memory))}, each tuple as wide as the widest so far"
    return f"{int(shedding.memory):,} tuples"


def _what(node: SheddingJoin, shedding: Shedding) -> list[str]:
    lines = []
    if shedding.memory is not None:
        lines.append(
            "memory: a random sample of each window is kept if all tuples, waiting arrivals"
            f" included, are more than {show_memory(shedding)}"
        )
    if shedding.service_rate is not None:
        rate = show_rate(shedding.service_rate, node.time_type)
        beyond = (
            "beyond that a random sample of the arrivals probes, and all of them may be kept"
            if shedding.may_skip
            else "beyond that the query fails"
        )
        lines.append(
            f"probes: at most {rate}, and a window's worth or one per stream in a burst; {beyond}"
        )
    lines.append(
        "pane by pane: what is kept goes into its window's structure, whether it probes or not"
        if node.is_in_structures
        else "pane by pane, by backward evaluation"
    )
    if shedding.sheds:
        lines.append(
            f"drawn by a hash of the tuple and of seed {shedding.seed}: the same after a restart,"
            " and in"
            " any order of arrival"
            + ("" if shedding.memory is None else " while all that waits fits beside the windows")
        )
    return lines


def _divided(node: SheddingJoin, shedding: Shedding) -> list[str]:
    if not shedding.sheds:
        return []
    lines = [f"{_DIVIDED[shedding.strategy]} (shed_strategy = {shedding.strategy})"]
    if shedding.memory is not None:
        kept = _least(node, shedding.least_windows, lambda own: f"{own:g} tuples", "memory")
        lines += [f"kept at least: {own}" for own in kept]
    if shedding.service_rate is not None:
        per_tick = partial(show_rate, time_type=node.time_type)
        probing = _least(node, shedding.least_rates, per_tick, "service rate")
        lines += [f"probing at least: {own}" for own in probing]
    return lines


def _least(
    node: SheddingJoin, least: Sequence[Least], show: Callable[[float], str], of_what: str
) -> list[str]:
    """What each stream gets at least, in one line; none where that is nothing."""
    if not any(own.amount for own in least):
        return []
    named = [
        f"{alias} {f'{own.amount:.0%}' if own.is_share else show(own.amount)}"
        for alias, own in zip(node.aliases, least, strict=True)
    ]
    return [", ".join(named) + (f" of the {of_what}" if "%" in named[-1] else "")]


def _expected(node: SheddingJoin, shedding: Shedding) -> list[str]:
    expected, time_type = shedding.expected, node.time_type
    if too_many := _too_many(node):
        return [f"{too_many} (on_service_rate = fail)"]
    if not shedding.sheds:
        return []
    if expected is None:
        return ["not estimated: not all rates are known; progress figures show the recall"]
    lines = [f"{expected.case}: recall {_recall(expected)}"]
    if shedding.is_in_bytes:
        guessed = "; texts and nested values are guessed" if expected.is_width_assumed else ""
        lines.append(f"a tuple is assumed to take {show_bytes(expected.row_bytes)}{guessed}")
    if expected.recall < 1:
        lines += [
            _of_input(expected, at, alias, time_type) for at, alias in enumerate(node.aliases)
        ]
        is_decided = node.estimate is not None and node.estimate.is_decisive
        if is_decided and not node.is_in_structures:
            lines.append("look-ups and their order were chosen for these rates and windows")
    return lines


def _recall(expected: Expected) -> str:
    """As text; whole only where it is."""
    return "100%" if expected.recall == 1 else f"{min(expected.recall, 0.99):.0%}"


def _too_many(node: SheddingJoin) -> str:
    """That more arrive than may probe, where the query fails then; "" elsewhere."""
    shedding, time_type = node.shedding, node.time_type
    allowed = None if shedding.may_skip else shedding.service_rate
    if shedding.expected is None or allowed is None or sum(shedding.expected.rates) <= allowed:
        return ""
    return (
        f"the query fails: {show_rate(sum(shedding.expected.rates), time_type)} arrive, more than the"
        f" service rate of {show_rate(allowed, time_type)}"
    )


def _of_input(expected: Expected, at: int, alias: str, time_type: str) -> str:
    waiting, waited = expected.waiting[at], expected.waited[at]
    return (
        f"{alias}: {show_rate(expected.probing[at], time_type)} of"
        f" {show_rate(expected.rates[at], time_type)} probe,"
        f" {show_count(expected.kept[at])} of {show_count(expected.windows[at])} tuples are kept"
        + (f", {show_count(waited)} of {show_count(waiting)} wait" if waited < waiting else "")
    )


def _on_spark(shedding: Shedding) -> list[str]:
    lines = []
    totals = "for totals each bucket needs a sample of its own"
    if shedding.memory is not None and shedding.is_estimated and not shedding.fits(0):
        lines.append(f"memory is divided evenly among the buckets: {totals}")
    elif shedding.memory is not None:
        lines += [
            "memory is divided among the buckets by what each would hold, so that a frequent key"
            " has the"
            " room that others leave:",
            "a batch run counts its rows first, while streaming each micro-batch tells all buckets",
        ]
        if shedding.is_estimated:
            lines.append(f"where not all fits it is divided evenly: {totals}")
    if shedding.service_rate is not None:
        lines.append(
            "probes are divided among the buckets pane by pane, by what each is sent: a frequent"
            " key has"
            " those that others leave"
        )
    return [*lines, "the bounds hold for the query"]


def check_enough(join: SheddingJoin, buckets: int = 1) -> None:
    """Refuses a join, or that of each of several buckets, that has too little to hold or to do.

    Raises:
        PlanError: it has.
    """
    shedding, inputs = join.shedding, len(join.inputs)
    if shedding.gives_nothing(inputs, join.shed_row_bytes):
        raise PlanError(
            "too-little-for-totals",
            f"the memory keeps less than one tuple of some of {_streams(join, buckets)}",
            reason="totals are estimated from what is kept of every stream",
            hint=f"raise memory or shed_least{_or_fewer(buckets)}",
        )
    if shedding.skips_a_stream(inputs, join.shortest):
        raise _too_few_probes_for_totals(join, buckets)
    if shedding.keeps_too_little(inputs, join.shed_row_bytes):
        raise _too_little_memory(join, buckets)


def check_enough_for_rows(join: SheddingJoin, shedding: Shedding, row_bytes: int) -> None:
    """The same of memory in bytes, once it is known how wide tuples are.

    Raises:
        DataError: it does not suffice.
    """
    inputs, parts, memory = len(join.inputs), shedding.parts, shedding.memory
    keeps_nothing = shedding.gives_nothing(inputs, row_bytes)
    is_too_little = keeps_nothing or shedding.keeps_too_little(inputs, row_bytes)
    if memory is None or not is_too_little:
        return
    least = inputs * inputs if shedding.is_estimated else inputs
    shares = [own.amount for own in shedding.least_windows if own.is_share and own.amount > 0]
    least = max(least, math.ceil(1 / min(shares))) if shedding.is_estimated and shares else least
    raise DataError(
        "too-little-for-rows",
        f"the memory of {show_bytes(int(memory * parts))} is too little for a tuple of each of"
        f" {_streams(join, parts)}",
        reason=f"a tuple of {show_bytes(row_bytes)} has come, its index included",
        hint=f"raise memory to {show_bytes(parts * least * row_bytes)} or more{_or_fewer(parts)}",
    )


def _too_few_probes_for_totals(join: SheddingJoin, buckets: int) -> PlanError:
    time_type, pane = join.time_type, pane_ticks(join.shortest)
    rate = show_rate((join.shedding.service_rate or 0.0) * buckets, time_type)
    least = show_rate(buckets * len(join.inputs) / pane, time_type)
    return PlanError(
        "too-little-for-totals",
        f"the service rate of {rate} is less than one probe of each of {', '.join(join.aliases)} per"
        f" {show_ticks(pane, time_type)}{_in_each(buckets)}",
        reason="totals are estimated from probes of every stream, eight of each per window or more",
        hint=f"raise service_rate to about {least}, or widen the windows{_or_fewer(buckets)}",
    )


def _too_little_memory(join: SheddingJoin, buckets: int) -> PlanError:
    shedding, memory = join.shedding, round((join.shedding.memory or 0.0) * buckets)
    each = len(join.inputs) * (join.shed_row_bytes if shedding.is_in_bytes else 1)
    shown = show_bytes if shedding.is_in_bytes else _tuples
    said = (
        f"the memory of {shown(memory)} is less than one tuple of each of {_streams(join, buckets)}"
    )
    if buckets == 1:
        return PlanError(
            "too-little-for-streams",
            said,
            reason="waiting tuples count towards the memory, and a result needs one of every stream",
            hint=f"raise memory to {shown(each)} or more",
        )
    return PlanError(
        "too-little-for-buckets",
        said,
        reason="the memory is divided among the buckets of the join",
        hint=f"set buckets = {max(1, memory // each)} or fewer, or memory to"
        f" {shown(each * buckets)} or more",
    )


def _streams(join: SheddingJoin, buckets: int) -> str:
    return f"{', '.join(join.aliases)}{_in_each(buckets)}"


def _in_each(buckets: int) -> str:
    return "" if buckets == 1 else f" in each of {buckets} buckets"


def _or_fewer(buckets: int) -> str:
    return "" if buckets == 1 else ", or set fewer buckets"


def _tuples(count: int) -> str:
    return f"{count:,} tuple{'' if count == 1 else 's'}"
