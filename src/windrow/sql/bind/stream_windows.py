"""Windows of single streams: those that count tuples, and those inside derived tables.

`[ROWS n]`, `[PARTITION BY k ROWS n]` and `WINDOW = n ROWS` are bound to columns, and refused where their
meaning would be unclear. What they mean stands in `plan/windows.py`.

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

from windrow.errors import (
    BindError,
    PlanError,
    Span,
    UnknownColumn,
    UnsupportedError,
    nearest,
)
from windrow.plan.windows import CountWindows, OwnWindow
from windrow.sql.bind.lengths import constant_length
from windrow.sql.bind.scope import FromItem, InnerWindow, Scope
from windrow.sql.bind.windows import example_length, goes_either_way, stated_twice
from windrow.sql.grammar.clauses import PairWindow, StreamWindow
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import span_of, text_of

MOST_ROWS = 2**62
"""Numbers of tuples have 64 bits; a window of so many would never lose one."""


def rows_window(window: StreamWindow, source: FromItem, sql: str) -> OwnWindow:
    """The window that `[ROWS n]` or `[PARTITION BY k, .. ROWS n]` gives a source."""
    partition = [_column(tree, source, sql) for tree in window.args.get("partition") or []]
    return OwnWindow(
        rows=_number(window.this, sql),
        partition=tuple(dict.fromkeys(partition)),
        text=text_of(window, sql),
        span=span_of(window),
    )


def count_windows(
    clauses: Sequence[exp.Expr], scope: Scope
) -> tuple[CountWindows | None, tuple[exp.Expr, ...]]:
    """The count windows of a SELECT, None for none, and the clauses that are of time.

    Raises:
        PlanError: count windows beside windows of time between streams, or beside a stream that
            has no window at all.
    """
    counted = tuple(clause for clause in clauses if clause.args.get("rows"))
    timed = tuple(clause for clause in clauses if not clause.args.get("rows"))
    if not counted and all(source.rows is None for source in scope.sources):
        return None, timed
    goes_either_way(clauses)
    within = None
    for clause in counted:
        if isinstance(clause, PairWindow):
            raise PlanError(
                "count-window-of-a-pair",
                f"{text_of(clause, scope.sql)} counts tuples between two streams",
                reason="the tuples of all joined streams are numbered together, not those of a pair",
                hint="write WINDOW = n ROWS for all of them, or [ROWS n] after each stream",
            ).at(span_of(clause))
        if within is not None:
            raise stated_twice(clause)
        within = _number(clause.this, scope.sql)
    if timed:
        raise _beside_time(timed[0], scope)
    own = tuple(
        source.rows or OwnWindow(ticks=source.range_ticks, text=source.range_text)
        for source in scope.sources
    )
    for source, window in zip(scope.sources, own, strict=True):
        if within is None and window.rows is None and window.ticks is None:
            length = example_length(source.time_type)
            raise PlanError(
                "no-window-per-stream",
                f"{source.alias} has no window of its own",
                reason="beside a count window, each stream says which of its tuples are there;"
                " without a window they would be kept forever",
                hint=f"add it in FROM: {source.alias} [ROWS 100] or {source.alias} [RANGE {length}]",
            ).at(source.span)
    text = text_of(counted[0], scope.sql) if counted else ""
    return CountWindows(own, within, text), timed


def refuse_count_windows(
    scope: Scope, clauses: Sequence[exp.Expr], over: str, instead: str, why: str = ""
) -> None:
    """Refuses count windows under what does not run over them yet: `over`, say "an aggregate".

    `instead` is what to write, and `why` the reason where it is more than that it is not built.
    """
    windows = [source.rows for source in scope.sources if source.rows is not None]
    places = [(window.text, window.span) for window in windows]
    places += [(text_of(c, scope.sql), span_of(c)) for c in clauses if c.args.get("rows")]
    for text, span in places:
        raise UnsupportedError(
            "unsupported-over-count-window",
            f"{over} over the count window {text} is not supported",
            reason=f"count windows are built for inner joins of two or more streams{why}",
            hint=instead,
        ).at(span)


def _number(node: exp.Expr, sql: str) -> int:
    """A number of tuples: whole, and 1 or more."""
    constant = constant_length(node)
    if constant is not None and not constant.parts and constant.number.denominator == 1:
        number = int(constant.number)
        if 1 <= number < MOST_ROWS:
            return number
    raise BindError(
        "bad-row-count",
        f"{text_of(node, sql)} is not a number of rows",
        reason="a count window holds a whole number of tuples, one or more",
        hint="write a plain number, for instance [ROWS 100] or WINDOW = 100 ROWS",
    ).at(span_of(node))


def _column(tree: exp.Expr, source: FromItem, sql: str) -> str:
    """The flat name of a column of PARTITION BY; the stream's name or alias may stand before it."""
    if not isinstance(tree, exp.Column) or isinstance(tree.this, exp.Star):
        raise BindError(
            "partition-by-expression",
            f"PARTITION BY {text_of(tree, sql)} is not a column of {source.alias}",
            hint="compute it in a derived table: FROM (SELECT .., f(x) AS k FROM a) a"
            " [PARTITION BY k ROWS 5]",
        ).at(span_of(tree))
    owners = {source.alias.lower(), source.stream.lower()}
    found = source.find(tree.name) if not tree.table or tree.table.lower() in owners else None
    if found is None:
        raise UnknownColumn(
            "unknown-column",
            f"PARTITION BY names {text_of(tree, sql)}, which {source.alias} does not have",
            reason="a window is divided by columns of its own stream",
            hint=f"{source.alias} has {nearest(tree.name, [name for name, _ in source.columns])}",
        ).at(span_of(tree))
    return found


def _beside_time(clause: exp.Expr, scope: Scope) -> PlanError:
    sources = scope.sources
    hint = f"write {sources[0].alias} [RANGE ..] in FROM"
    if len(sources) > 1 and sources[0].time and sources[1].time:
        length = example_length(scope.time_type)
        hint += (
            f", or a condition in WHERE: {sources[1].time} BETWEEN {sources[0].time} - {length}"
            f" AND {sources[0].time} + {length}"
        )
    return PlanError(
        "count-window-beside-window",
        f"{text_of(clause, scope.sql)} stands beside count windows",
        reason="it would be unclear which of them says when a tuple leaves",
        hint=hint,
    ).at(span_of(clause))


def windows_handed_on(
    sources: Sequence[FromItem], uniform: InnerWindow | None
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


def with_window_inside(source: FromItem, inside: tuple[InnerWindow, ...]) -> FromItem:
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
    sources = tuple(
        replace(source, range_ticks=source.node.alive_ticks, range_text="(windows inside)")
        if source.has_ends and source.range_ticks is None
        else source
        for source in scope.sources
    )
    return replace(scope, sources=sources)


def refuse_second_window(
    source: FromItem, inside: Iterable[InnerWindow], text: str, place: Span | None
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
            ).at(place)


def refuse_uniform_window(clause: exp.Expr, source: FromItem, sql: str) -> None:
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
    ).at(span_of(clause))


def refuse_windows_apart(sources: Sequence[FromItem]) -> None:
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
        ).at(stated[0].span)


def refuse_windows_inside_match(sources: Sequence[FromItem]) -> None:
    """Refuses windows inside the sources of a bestmatch join: theirs say what is best, and when."""
    for source in sources:
        for window in source.inside:
            if window.text:
                raise PlanError(
                    "windows-inside",
                    f"{window.text} stands inside {source.alias}, which a bestmatch join reads",
                    reason="a window of a bestmatch join says among which tuples a pair is best",
                    hint=f"write it outside: (SELECT ..) {source.alias} {window.text}",
                ).at(window.span)


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
            ).at(span_of(clause))
