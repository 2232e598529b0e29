r"""The terminal, as the one place through which text goes there.

Much of what is shown is not ours: values, names of columns, streams and files, what other programs
say of their errors. None of it is markup to Rich, a code for an emoji, or an order to the terminal:
a character that would not be shown as itself is shown as the escape that Python writes for it.

    in the data     on the terminal
    [error]         [error]
    :x:             :x:
    ESC [31m        \x1b[31m
    a lone U+DC80   \udc80
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa
from rich.console import Console, Group, JustifyMethod
from rich.table import Table
from rich.text import Text

_ORDERS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # what terminals obey; lines and tabs are below
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the direction of what follows
    r"\u2028\u2029"  # lines, to some terminals
    r"\u200b\u2060\ufeff"  # nothing at all, so that different texts look alike
    r"\ud800-\udfff"  # halves of characters, of names that are not UTF-8
)
_IN_LINES = re.compile(f"[{_ORDERS}]")
_IN_ONE_LINE = re.compile(rf"[{_ORDERS}\t\n]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    r"""Lines of text that a terminal shows as they are.

    Examples:
        >>> print(visible("[bold] \x1b[31m :x:"))
        [bold] \x1b[31m :x:
    """
    return _IN_LINES.sub(_escape, text)


def visible_line(text: str) -> str:
    r"""One line of it, whatever lines the text has: a value or a name.

    Examples:
        >>> print(visible_line("one\ntwo"))
        one\ntwo
    """
    return _IN_ONE_LINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Terminal(Console):
    """A console of Rich's to which every text is just text; styles are given as `Text`.

    Args:
        stderr: whether it is the terminal's second stream.
        file: where to write instead.
        width: of the lines; None: the terminal's.
    """

    def __init__(
        self, *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None
    ) -> None:
        super().__init__(
            stderr=stderr, file=file, width=width, markup=False, emoji=False, highlight=False
        )

    def render_str(self, text: str, **how: Any) -> Text:
        """The text as Rich shows it: all strings come this way, those in tables and titles too."""
        # A terminal in another encoding cannot take all characters; an error would end the run.
        known = visible(text).encode(self.encoding, "backslashreplace").decode(self.encoding)
        return super().render_str(known, **{**how, "markup": False, "emoji": False})

    def on_broken_pipe(self) -> None:
        """Leaves it to the caller what follows: Rich would end the process."""
        self.quiet = True
        raise  # noqa: PLE0704  # inside of Rich's handler

    def say(self, text: str) -> None:
        """Prints lines of text; the terminal wraps them, so that they can be searched and copied."""
        self.print(text, soft_wrap=True)


@contextmanager
def telling(stderr: Terminal) -> Iterator[Callable[[str], None]]:
    """Shows what is measured now: redrawn on a terminal, a line each elsewhere."""
    started = time.monotonic()

    def stamped(text: str) -> str:
        return f"{time.monotonic() - started:6.1f} s  {text}"

    if not stderr.is_terminal:
        yield lambda text: stderr.say(stamped(text))
        return
    with stderr.status("starting") as status:
        yield lambda text: status.update(Text(visible_line(stamped(text))))


def readable(rows: pa.Table, *, total: int | None = None, title: str | None = None) -> Group:
    """Rows as a table for people, on a `Terminal`; the line below says how many there are in all."""
    total = rows.num_rows if total is None else total
    more = f", {rows.num_rows} shown" if total > rows.num_rows else ""
    shown = Table(title=title, title_justify="left")
    for field in rows.schema:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        is_number = is_number or pa.types.is_decimal(field.type)
        justify: JustifyMethod = "right" if is_number else "left"
        # What does not fit goes on in the next line: nothing of a value is lost.
        shown.add_column(visible_line(field.name), justify=justify, overflow="fold")
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        shown.add_row(*map(_cell, row))
    return Group(shown, Text(f"{total:,} rows{more}"))


def _cell(value: Any) -> str:
    # Instants are all in UTC; saying so in every cell makes the table hard to read.
    text = "NULL" if value is None else show_value(value).removesuffix("+00:00")
    return visible_line(text)


def show_value(value: Any) -> str:
    """A value as people read it: floats short, instants with a blank between day and time."""
    if isinstance(value, float):
        return f"{value:.10g}"
    if hasattr(value, "isoformat"):
        return str(value.isoformat(sep=" ") if hasattr(value, "hour") else value.isoformat())
    return str(value)
