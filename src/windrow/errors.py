"""Every error a user can meet, by who must act.

A message has a stable condition in brackets, a sentence in the user's own names, the place in the
SQL, the reason, and a hint. Errors are built with `reason=` and `hint=` and pointed with `at(span)`;
the session adds the SQL text (`errors_in`). Nothing here knows the rest of Windrow.
"""

from __future__ import annotations

import difflib
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_ALTERNATIVES = 8


@dataclass(frozen=True)
class Span:
    """A place in the SQL text: character offsets, the end excluded."""

    start: int
    end: int


class WindrowError(Exception):
    """Base of all errors raised for the user."""

    who = "windrow"

    def __init__(
        self,
        condition: str,
        sentence: str,
        *,
        reason: str = "",
        hint: str = "",
        span: Span | None = None,
    ) -> None:
        self.condition = condition
        self.sentence = sentence
        self.reason = reason
        self.hint = hint
        self.span = span
        self.sql = ""
        super().__init__(sentence)

    @classmethod
    def said_by(cls, error: WindrowError, more: str = "") -> Self:
        """An error of this kind in the words of another, its sentence with more behind it."""
        sentence = error.sentence + more
        return cls(error.condition, sentence, reason=error.reason, hint=error.hint)

    def at(self, span: Span | None) -> Self:
        """The same error, pointing at a place in the SQL (the first place given stays)."""
        if self.span is None:
            self.span = span
        return self

    def in_sql(self, sql: str) -> Self:
        """The same error, with the SQL text that its span refers to."""
        if not self.sql:
            self.sql = sql
        return self

    def __str__(self) -> str:
        lines = [f"{type(self).__name__}[{self.condition}]: {self.sentence}"]
        if self.sql and self.span is not None:
            lines += excerpt(self.sql, self.span)
        if self.reason:
            lines.append(f"  {self.reason}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.__dict__))


def _rebuild(kind: type[WindrowError], state: dict[str, object]) -> WindrowError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (state["sentence"],)
    return error


@contextmanager
def errors_in(sql: str) -> Iterator[None]:
    """Gives the errors of a block the SQL text that their spans refer to."""
    try:
        yield
    except WindrowError as error:
        error.in_sql(sql)
        raise


class ParseError(WindrowError, ValueError):
    """The SQL text cannot be read; its author acts."""


class BindError(WindrowError, ValueError):
    """A name, a type or a window does not fit; the author of the SQL acts."""


class UnknownColumn(BindError, KeyError):
    """No stream in reach has that column."""


class PlanError(WindrowError, ValueError):
    """The question cannot be answered as asked; the author of the SQL acts."""


class UnsupportedError(WindrowError, ValueError):
    """Windrow does not do this; the hint says what to write instead.

    A ValueError like the other refusals of a question, and no NotImplementedError: Python keeps
    that for code that is still to be written, and tools take it for a stub. Some of what is refused
    here will never be done, such as Spark's progress without Spark.
    """


class DataError(WindrowError, ValueError):
    """The data breaks a promise; the owner of the data acts."""


class ResourceError(WindrowError, RuntimeError):
    """A limit or a setting stands in the way; the operator of the job acts."""


class InternalError(WindrowError, RuntimeError):
    """An invariant of Windrow broke; we act."""


def cover(*spans: Span | None) -> Span | None:
    """The smallest span that holds all the given ones."""
    known = [span for span in spans if span is not None]
    if not known:
        return None
    return Span(min(span.start for span in known), max(span.end for span in known))


LONGEST_EXCERPT = 400
"""Characters of a line of SQL that an error shows: programs write lines of any length."""


def excerpt(sql: str, span: Span) -> list[str]:
    """The line of the SQL that the span starts in, with its number, and carets below.

    Of a long line the part around the span:

        .. x <> 7 AND nosuch = 8 AND x <> ..
                      ^^^^^^
    """
    before = sql[: span.start]
    number = before.count("\n") + 1
    line_start = before.rfind("\n") + 1
    line_end = sql.find("\n", span.start)
    line = sql[line_start : line_end if line_end >= 0 else len(sql)]
    column = span.start - line_start
    width = max(1, min(span.end, line_start + len(line)) - span.start)
    if len(line) > LONGEST_EXCERPT:
        first = max(0, min(column - LONGEST_EXCERPT // 3, len(line) - LONGEST_EXCERPT))
        last = first + LONGEST_EXCERPT
        width = min(width, last - column)
        left, right = ".. " if first else "", " .." if last < len(line) else ""
        line, column = f"{left}{line[first:last]}{right}", column - first + len(left)
    gutter = f"{number:>3} | "
    return [f"{gutter}{line}", f"{'| ':>{len(gutter)}}{' ' * column}{'^' * width}"]


def nearest(name: str, available: Iterable[str]) -> str:
    """The available names, nearest to `name` first, at most eight, for a hint."""
    names = sorted(set(available))
    ranked = sorted(
        names, key=lambda other: -difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()
    )
    shown = ", ".join(ranked[:MOST_ALTERNATIVES])
    return shown + (", ..." if len(names) > MOST_ALTERNATIVES else "")


def text_inside(message: str) -> str:
    """The text of a Windrow error that another exception's message carries; "" for none.

    Spark wraps what a worker raises: our first line may stand anywhere in the message, and the
    lines that belong to it are indented. The plan that Spark prints below is not searched: it shows
    texts that a query would raise, whatever has happened.
    """
    message = message.partition("=== Streaming Query ===")[0]
    names = "|".join(sorted(_kinds(WindrowError)))
    found = re.search(rf"(?:{names})\[[a-z0-9-]+\]: .*(?:\n(?: {{2,}}| *\d+ \| ).*)*", message)
    return found[0].rstrip() if found else ""


def error_inside(message: str) -> WindrowError | None:
    """The Windrow error that another exception's message carries, made again from its text."""
    headline, *rest = text_inside(message).split("\n")
    if not headline:
        return None
    kind, _, told = headline.partition("[")
    condition, _, sentence = told.partition("]: ")
    # Spark puts the class of its own condition behind the message that it quotes.
    rest = [line.partition(" SQLSTATE: ")[0] for line in rest]
    hints = [line for line in rest if line.startswith("  hint: ")]
    reason = "\n".join(line for line in rest if line not in hints).removeprefix("  ")
    hint = hints[0].removeprefix("  hint: ") if hints else ""
    return _kinds(WindrowError)[kind](
        condition, sentence.partition(" SQLSTATE: ")[0], reason=reason, hint=hint
    )


def _kinds(base: type[WindrowError]) -> dict[str, type[WindrowError]]:
    """The class and all those made from it, by name."""
    kinds = {base.__name__: base}
    for child in base.__subclasses__():
        kinds |= _kinds(child)
    return kinds
