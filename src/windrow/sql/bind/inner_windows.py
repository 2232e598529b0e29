"""Windows of streams inside derived tables, and a second one outside of them.

A window says when rows leave, and which rows meet. A stream that is joined inside has its window
used there. One that is only selected from hands it on:

    (SELECT k FROM a [RANGE 3]) q, b [RANGE 5] r           as a [RANGE 3] q, b [RANGE 5] r
    (SELECT .. FROM a [RANGE 3] x, b [RANGE 3] y ..) q [RANGE 5]
                                                           rows come at max(t), and stay for 5
    (SELECT k FROM a [RANGE 3]) q [RANGE 5]                whichever counts, the other says nothing:
                                                           refused
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from windrow.errors import PlanError, Span
from windrow.sql.bind.scope import InnerWindow, Scope, Source
from windrow.sql.bind.window_checks import example_length
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import span_of, text_of


def windows_handed_on(
    sources: Sequence[Source], uniform: InnerWindow | None
) -> tuple[InnerWindow, ...]:
    """The windows of a plain SELECT that no join of it has used: those of a source that is alone.

    `uniform` is its `WINDOW = w`, if it has one.
    """
    if len(sources) != 1:
        return ()
    (source,) = sources
    if source.rows is not None:
        return (InnerWindow(None, source.rows.text, source.rows.span),)
    if source.inside:
        return source.inside
    if source.range_ticks is not None:
        return (InnerWindow(source.range_ticks, source.range_text, source.span),)
    return (uniform or InnerWindow(None, "", source.span),)


def with_window_inside(source: Source, inside: tuple[InnerWindow, ...]) -> Source:
    """A derived table with the one window that all its streams hand on as its own.

    Where they hand on several, or some none, what reads it says what that means.
    """
    stated = replace(source, inside=inside if any(window.text for window in inside) else ())
    if len({window.ticks for window in stated.inside}) != 1:
        return stated
    return replace(stated, range_ticks=inside[0].ticks, range_text=inside[0].text)


def with_lives(scope: Scope) -> Scope:
    """The sources with the longest life of their rows as a window, where these end by themselves.

    Rows that are alive together are no further apart than that. An outer join looks for matches
    within it, and leaves out what has ended by then.
    """
    return replace(scope, sources=tuple(map(_with_life, scope.sources)))


def _with_life(source: Source) -> Source:
    if not source.has_ends or source.range_ticks is not None:
        return source
    return replace(source, range_ticks=source.node.alive_ticks, range_text="(windows inside)")


def refuse_second_window(
    source: Source, inside: Iterable[InnerWindow], text: str, place: Span | None
) -> None:
    """Refuses a window outside of a derived table whose streams hand on windows of their own."""
    for window in inside:
        if window.text:
            raise PlanError(
                "second-window",
                f"{source.alias} has {text} outside and {window.text} inside",
                reason=f"rows come into {source.alias} when they come into their stream, whatever"
                " its window; only one of the two can say when they leave",
                hint=f"write {window.text} inside and nothing outside, or {text} outside and nothing"
                " inside",
                span=place,
            )


def refuse_uniform_window(clause: exp.Expr, source: Source, sql: str) -> None:
    """Refuses `WINDOW = w` over one derived table alone whose rows leave by windows inside it."""
    leave = source.leaves_by_itself or any(window.text for window in source.inside)
    if source.stream or not leave:
        return
    hint = "leave it out"
    if source.changelog_keys is None:
        length = example_length(source.time_type)
        hint += (
            "; or, to let rows stay for so long from when they come, write"
            f" {source.alias} [RANGE {length}] over streams without windows"
        )
    raise PlanError(
        "second-window",
        f"{text_of(clause, sql)} is stated over {source.alias}, whose rows leave by what is inside it",
        reason="it gives a window to streams that have none, and there is no other stream here",
        hint=hint,
        span=span_of(clause),
    )


def refuse_windows_apart(sources: Sequence[Source]) -> None:
    """Refuses plain joins of a derived table whose streams hand on windows that are not one."""
    for source in sources:
        stated = [window for window in source.inside if window.text]
        if not stated or source.range_ticks is not None:
            continue
        length = example_length(source.time_type)
        texts = list(dict.fromkeys(window.text for window in stated))
        raise PlanError(
            "windows-inside",
            f"the rows of {source.alias} do not all leave by one window: inside it there is"
            f" {' and '.join(texts)}"
            + (", and a stream without any" if len(stated) < len(source.inside) else ""),
            reason="what is not a changelog joins rows by how far apart they are, which is one"
            " length for all rows of a source",
            hint=f"write one window outside, {source.alias} [RANGE {length}], and none inside; or"
            " give every stream a window and end the query with EMIT CHANGES",
            span=stated[0].span,
        )


def refuse_windows_inside_match(sources: Sequence[Source]) -> None:
    """Refuses windows inside the sources of a bestmatch join: theirs say what is best, and when."""
    for source in sources:
        for window in source.inside:
            if window.text:
                raise PlanError(
                    "windows-inside",
                    f"{window.text} stands inside {source.alias}, which a bestmatch join reads",
                    reason="a window of a bestmatch join says among which tuples a pair is best",
                    hint=f"write it outside: (SELECT ..) {source.alias} {window.text}",
                    span=window.span,
                )


def refuse_windows_of_lives(clauses: Sequence[exp.Expr], scope: Scope) -> None:
    """Refuses windows from rows that are not there from their event time on.

    So it is with those of an outer, semi or anti join that leave by the windows inside it.
    """
    for source in scope.sources:
        if len(scope.sources) < 2 or not source.has_ends or source.node.begins_at_event_time:
            continue
        for clause in clauses:
            sides = [clause.args.get(side) for side in ("left", "right")]
            names = {side.name.lower() for side in sides if side is not None}
            if names and source.alias.lower() not in names:
                continue
            length = example_length(source.time_type)
            other = next(other for other in scope.sources if other is not source)
            time = other.time or f"{other.alias}.at"
            raise unsupported(
                "window-with-outer-join",
                f"a window from the rows of {source.alias}, an outer, semi or anti join that takes"
                " rows back, is not supported",
                "leave the window out: its rows join while they are there; or show the time in"
                f" {source.alias} and compare it as any column: {source.alias}.at BETWEEN"
                f" {time} - {length} AND {time} + {length}",
                span_of(clause),
            )
