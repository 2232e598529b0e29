"""The user's options and a query's hints: checked, merged, and refused where they contradict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from windrow.errors import PlanError, Span, UnsupportedError, WindrowError, nearest
from windrow.physical.algorithms import (
    ALGORITHMS,
    ASYMMETRIC,
    DEFAULT,
    HASH,
    MATWIN,
    PAGED,
    PIPELINE,
    choice,
    choices,
)
from windrow.physical.option import structure_names
from windrow.physical.options import ROWS, Options
from windrow.physical.structures import TREES
from windrow.plan.nodes.query import Hint, Query


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
            _check_name(name)
            value = ROWS[name].read(hint.text)
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
    defaults = Options()
    for name, row in ROWS.items():
        value = getattr(options, name)
        if value is not None or getattr(defaults, name) is not None:
            row.check(name, value)
    return options


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
    """Refuses what works only in process, at its hint if it was one."""
    for name, row in ROWS.items():
        refused, value = row.in_process, getattr(options, name)
        if refused is None or value is None or refused.value not in {None, value}:
            continue
        places = [hint.span for hint in hints if hint.name.lower() == name]
        raise UnsupportedError(
            "unsupported-option",
            f"{name if refused.value is None else f'{name} = {value!r}'} works only in process",
            reason=refused.reason,
            hint=refused.instead,
            span=places[0] if places else None,
        )


def _check_name(name: str) -> None:
    if name not in ROWS:
        raise PlanError(
            "unknown-option",
            f"there is no option {name!r}",
            hint=f"one of {nearest(name, ROWS)}",
        )


_OF_SHEDDING = ("shed_strategy", "shed_least", "shed_least_rate", "seed")


def check_together(options: Options, places: Mapping[str, Span | None]) -> None:
    """Refuses options of which one needs, or excludes, another; `places` is where their hints stand."""
    asked = options.asked_algorithm
    if options.structure and asked != ASYMMETRIC:
        raise PlanError(
            "structure-of-another-algorithm",
            f"the algorithm {options.algorithm} has no structure to choose",
            reason=f"structure = {options.structure!r} is for the algorithm {ASYMMETRIC}",
            hint="leave out one of the two",
            span=places.get("structure"),
        )
    _check_sizes(options, places)
    if options.order and asked is not None and not _has_order(asked):
        raise PlanError(
            "order-of-another-algorithm",
            f"the algorithm {asked} has no order to choose",
            reason=f"order = {options.order!r} is for one of"
            f" {', '.join(filter(_has_order, choices()))}",
            hint="leave out one of the two",
            span=places.get("order"),
        )
    if options.on_memory is not None and options.memory is None:
        raise PlanError(
            "on-memory-without-memory",
            f"on_memory is {options.on_memory!r}, but memory is not set",
            reason="without memory a query may hold as much as its windows need",
            hint=f"write both: /*+ memory(512 MB), on_memory({options.on_memory}) */"
            if "on_memory" in places
            else "set both, for instance memory = '512 MB'",
            span=places.get("on_memory"),
        )
    if options.algorithm in PAGED and not options.spills:
        raise PlanError(
            "pages-without-spilling",
            f"the algorithm {options.algorithm} has pages for what memory does not hold, but"
            " nothing goes to disk",
            reason="memory is not bounded"
            if options.memory is None
            else f"on_memory is {options.on_memory or 'fail'!r}",
            hint=f"set memory, and on_memory to 'spill', or use algorithm {MATWIN}",
            span=places.get("algorithm"),
        )
    _check_spilling(options, places)
    if options.on_service_rate is not None and options.service_rate is None:
        raise PlanError(
            "on-service-rate-without-service-rate",
            f"on_service_rate is {options.on_service_rate!r}, but service_rate is not set",
            reason="without service_rate every tuple probes",
            hint="set both, for instance service_rate = '1000 per second'",
            span=places.get("on_service_rate"),
        )
    _check_shedding(options, places)


def _has_order(asked: str) -> bool:
    """Whether new tuples meet streams in an order by an algorithm, or a pipeline takes them in it."""
    found = choice(asked)
    return found is not None and (found[0] == DEFAULT or ALGORITHMS[found[0]].kind == PIPELINE)


def _check_spilling(options: Options, places: Mapping[str, Span | None]) -> None:
    """Refuses to spill by an algorithm that has more in memory than rows."""
    asked = options.asked_algorithm
    found = choice(asked) if options.spills and asked is not None else None
    if found is None or ALGORITHMS[found[0]].spills:
        return
    algorithm = ALGORITHMS[found[0]]
    kept = "the time and key of every tuple"
    if algorithm.kind == PIPELINE:
        kept += ", and partial combinations,"
    raise PlanError(
        "algorithm-cannot-spill",
        f"the algorithm {asked} cannot move what it holds to disk",
        reason=f"it keeps {kept} in memory, apart from the rows",
        hint=f"leave algorithm out, or use algorithm {DEFAULT}; or let the query fail beyond its"
        " memory: on_memory = 'fail'",
        span=places.get("algorithm") or places.get("structure"),
    )


def _check_shedding(options: Options, places: Mapping[str, Span | None]) -> None:
    """Refuses to say how to shed what is not shed."""
    needed = {
        "shed_least": (options.sheds_memory, "on_memory = 'shed'"),
        "shed_least_rate": (options.sheds_probes, "on_service_rate = 'shed'"),
    }
    either = (options.sheds, "on_memory = 'shed' or on_service_rate = 'shed'")
    for name in _OF_SHEDDING:
        does_shed, by = needed.get(name, either)
        if getattr(options, name) is not None and not does_shed:
            raise PlanError(
                "nothing-is-shed",
                f"{name} is set, but nothing is shed",
                hint=f"set {by}, or leave it out",
                span=places.get(name),
            )


SIZES = {"bucket_size": (HASH,), "node_size": TREES}
"""The options that say how large the parts of structures are, and of which structures."""


def _check_sizes(options: Options, places: Mapping[str, Span | None]) -> None:
    """Refuses sizes of buckets and nodes that nothing asked for has."""
    asked = options.structure
    sized = [name for name in SIZES if getattr(options, name) is not None]
    for name in sized:
        kinds = SIZES[name]
        if asked is not None and not set(kinds) & set(structure_names(asked)):
            raise PlanError(
                "size-of-no-structure",
                f"{name} = {getattr(options, name)}, but structure = {asked!r} has no"
                f" {' or '.join(kinds)}",
                hint=f"leave {name} out, or keep a window in a {kinds[0]}",
                span=next((places[one] for one in SIZES if one in places), None),
            )
    if sized and options.asked_algorithm not in {None, ASYMMETRIC}:
        raise PlanError(
            "structure-of-another-algorithm",
            f"the algorithm {options.asked_algorithm} has no structure whose size to choose",
            reason=f"{sized[0]} is for the algorithm {ASYMMETRIC}",
            hint="leave out one of the two",
            span=places.get(sized[0]),
        )
