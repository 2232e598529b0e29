"""The user's options and the hints in a query, checked by the table of options and merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from windrow.errors import PlanError, Span, UnsupportedError, WindrowError, nearest
from windrow.optimize.option_conflicts import check_together
from windrow.physical.options import ROWS, Options
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
    """Refuses what works in process alone, at its hint if it was one."""
    for name, row in ROWS.items():
        refused, value = row.in_process, getattr(options, name)
        if refused is None or value is None or refused.value not in {None, value}:
            continue
        places = [hint.span for hint in hints if hint.name.lower() == name]
        raise UnsupportedError(
            "unsupported-option",
            f"{name if refused.value is None else f'{name} = {value!r}'} works in process alone",
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
