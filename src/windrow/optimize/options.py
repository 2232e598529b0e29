"""The user's options and the hints in a query, checked and merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from windrow.errors import PlanError, Span, UnsupportedError, WindrowError, nearest
from windrow.optimize.choose.orders import asked_order
from windrow.optimize.choose.structures import SIZES, check_sizes, structure_names
from windrow.optimize.option_conflicts import check_together
from windrow.optimize.shedding.options import least_said, rate_said
from windrow.physical.algorithms import ALGORITHMS, choice, choices
from windrow.physical.match_algorithms import MATCH_ALGORITHMS
from windrow.physical.options import AUTO, IN_STEP, ITA, NTA, ROUND_ROBIN, TPA, Options
from windrow.physical.shedding.limits import STRATEGIES
from windrow.plan.nodes.query import Hint, Query
from windrow.plan.sizes import to_amount

ON_LATE = ("count", "keep", "fail")
ON_MEMORY = ("fail", "spill", "shed")
ON_SERVICE_RATE = ("fail", "shed")
POLLING = (IN_STEP, ROUND_ROBIN)
SCHEDULINGS = (AUTO, TPA, NTA, ITA)
NOT_BUILT = {
    "strategy": "the planner takes its one strategy",
}
"""Options that are part of the language and have no effect to offer yet: what happens instead."""

KNOWN = tuple(field.name for field in fields(Options))
MOST_BUCKETS = 10_000
NUMBERS = ("buckets", "seed", *SIZES)
"""The options whose hint is a number."""

FLAGS = {"true": True, "false": False}
"""What the hint of an option says that is on or off."""


def by_keyword(options: Mapping[str, Any]) -> Options:
    """Options that the user has set by keyword, each a known one; `with_hints` checks the values."""
    for name in options:
        _check_name(name)
    return Options(**options)


def with_hints(options: Options, hints: Iterable[Hint]) -> Options:
    """The options with the query's hints where the user set nothing by keyword, all checked."""
    defaults = Options()
    merged = checked(options)
    places: dict[str, Span | None] = {}
    for hint in hints:
        name = hint.name.lower()
        try:
            value: Any = _hint_value(name, hint.text)
            checked(replace(defaults, **{name: value}))
        except WindrowError as error:
            error.at(hint.span)
            raise
        if getattr(options, name) == getattr(defaults, name):
            merged = replace(merged, **{name: value})
            places[name] = hint.span
    check_together(merged, places)
    return merged


def checked(options: Options) -> Options:
    """The same options, or an error that names the one with a bad value."""
    if options.algorithm is not None:
        _check_algorithm(options.algorithm)
    if options.structure is not None:
        structure_names(options.structure)
    check_sizes(options)
    if options.order is not None:
        asked_order(options.order)
    if options.on_late not in ON_LATE:
        raise PlanError(
            "bad-option",
            f"on_late = {options.on_late!r} says nothing about late rows",
            hint="count (count and drop them), keep (write them aside) or fail (stop the query)",
        )
    if options.dead_letters is not None and not isinstance(options.dead_letters, str):
        raise PlanError(
            "bad-option",
            f"dead_letters = {options.dead_letters!r} names no folder",
            hint="give its path or URI as a text, for instance '/data/late'",
        )
    if options.memory is not None:
        to_amount(options.memory)
    if options.on_memory is not None and options.on_memory not in ON_MEMORY:
        raise PlanError(
            "bad-option",
            f"on_memory = {options.on_memory!r} says nothing about memory that is used up",
            hint="fail (stop the query), spill (keep old tuples on disk) or shed (keep a random part)",
        )
    _check_shedding(options)
    buckets = options.buckets
    if buckets is not None and (type(buckets) is not int or not 1 <= buckets <= MOST_BUCKETS):
        raise _bad_buckets(buckets)
    if options.polling is not None and options.polling not in POLLING:
        raise PlanError(
            "bad-option",
            f"polling = {options.polling!r} is no order in which streams are asked",
            hint=f"{IN_STEP} (the stream that is furthest behind first) or {ROUND_ROBIN} (each in"
            " its turn)",
        )
    if options.scheduling is not None and options.scheduling not in SCHEDULINGS:
        raise PlanError(
            "bad-option",
            f"scheduling = {options.scheduling!r} does not say how operators learn what has expired",
            hint=f"{TPA} (by time, which they probe), {NTA} (by negative tuples), {ITA} (only when"
            f" input arrives) or {AUTO} (as is cheaper)",
        )
    if not isinstance(options.updates, bool):
        raise PlanError(
            "bad-option",
            f"updates = {options.updates!r} says neither yes nor no",
            hint="true (a delete and an insert of one key at one instant are an update) or false",
        )
    return options


def _check_algorithm(asked: str) -> None:
    if isinstance(asked, str):
        if asked in MATCH_ALGORITHMS or choice(asked):
            return
        ALGORITHMS.check_installed(asked)
    raise PlanError(
        "unknown-algorithm",
        f"there is no algorithm {asked!r}",
        hint=f"one of {nearest(str(asked), (*choices(), *MATCH_ALGORITHMS))}",
    )


def check_updates(query: Query, options: Options) -> None:
    """Refuses to tell updates apart in an answer that takes nothing back."""
    if options.updates and not query.is_changelog:
        raise PlanError(
            "no-updates",
            "updates are asked for, but rows of the answer are never taken back",
            hint="leave updates out, or ask for the changelog: give every stream a window"
            " ([RANGE ..]) and end the query with EMIT CHANGES",
            span=next((hint.span for hint in query.hints if hint.name == "updates"), None),
        )


def check_on_spark(options: Options, hints: Iterable[Hint]) -> None:
    """Refuses what works in process alone, at its hint if it was one."""
    refused: dict[str, tuple[str, str, str]] = {}
    if options.polling is not None:
        reason = "Spark reads a part of every stream in each micro-batch"
        refused["polling"] = ("polling", reason, "leave it out")
    if options.scheduling == ITA:
        reason = "on Spark each stage advances to the watermark in every micro-batch"
        refused["scheduling"] = (f"scheduling = {ITA!r}", reason, f"leave it out, or say {NTA}")
    for name, (what, reason, instead) in refused.items():
        places = [hint.span for hint in hints if hint.name.lower() == name]
        raise UnsupportedError(
            "unsupported-option",
            f"{what} works in process alone",
            reason=reason,
            hint=instead,
            span=places[0] if places else None,
        )


def _check_shedding(options: Options) -> None:
    if options.service_rate is not None:
        rate_said(options.service_rate)
    if options.on_service_rate is not None and options.on_service_rate not in ON_SERVICE_RATE:
        raise PlanError(
            "bad-option",
            f"on_service_rate = {options.on_service_rate!r} says nothing about tuples beyond the rate",
            hint="fail (stop the query) or shed (probe with a random part of them)",
        )
    if options.shed_strategy is not None and options.shed_strategy not in STRATEGIES:
        raise PlanError(
            "bad-option",
            f"shed_strategy = {options.shed_strategy!r} is no way to divide memory or probes",
            hint=f"one of {nearest(str(options.shed_strategy), STRATEGIES)}",
        )
    for name in ("shed_least", "shed_least_rate"):
        given = getattr(options, name)
        if given is not None:
            least_said(name, given)
    if options.seed is not None and (type(options.seed) is not int or not _is_seed(options.seed)):
        raise _bad_seed(options.seed)


def _is_seed(number: int) -> bool:
    """Whether a number has 64 bits: of larger ones several would draw the same."""
    return -(1 << 63) <= number < 1 << 63


def _bad_seed(value: object) -> PlanError:
    return PlanError(
        "bad-option",
        f"seed = {value!r} is no seed",
        hint="a whole number of 64 bits, for instance 7",
    )


def _bad_buckets(value: object) -> PlanError:
    return PlanError(
        "bad-option",
        f"buckets = {value!r} is no number of parts",
        hint=f"a whole number from 1 to {MOST_BUCKETS}, for instance one per core",
    )


def _check_name(name: str) -> None:
    if name in NOT_BUILT:
        raise UnsupportedError(
            "unsupported-option",
            f"the option {name} is not supported yet",
            hint=f"leave it out: {NOT_BUILT[name]}",
        )
    if name not in KNOWN:
        raise PlanError(
            "unknown-option",
            f"there is no option {name!r}",
            hint=f"one of {nearest(name, KNOWN)}",
        )


def _hint_value(name: str, text: str) -> str | int:
    _check_name(name)
    if name == "updates":
        return FLAGS.get(text.lower(), text)
    if name not in NUMBERS:
        return text
    digits = text.removeprefix("-") if name == "seed" else text
    if not digits.isascii() or not digits.isdigit():
        return text  # `checked` refuses it
    return int(text)
