"""Numbers in the text: those that no type of SQL holds are refused before anyone computes with them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot.tokenizer_core import Token, TokenType

from windrow.errors import ParseError, Span

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_MOST_DIGITS = 400
"""A double has an exponent of 308 at most, a decimal 38 digits: far less than so many."""

_SHOWN = 40


def refuse_numbers(tokens: Iterable[Token]) -> None:
    """Refuses what looks like a number and is none, such as 1e5.1, or what no type can hold."""
    for token in tokens:
        if token.token_type != TokenType.NUMBER:
            continue
        text = token.text
        number = _NUMBER.fullmatch(text)
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}.."
        if number is None:
            raise ParseError(
                "bad-number",
                f"{shown} is no number",
                hint="write digits, a point and an exponent: 12, 1.5, 2e5, 1.5e-3",
                span=Span(token.start, token.end + 1),
            )
        exponent = (number[1] or "").lstrip("+-0")
        if len(text) > _MOST_DIGITS or int(exponent[:_MOST_DIGITS] or 0) > _MOST_DIGITS:
            raise ParseError(
                "bad-number",
                f"{shown} is beyond what any type holds",
                hint="a decimal has 38 digits, and a double an exponent of 308 at most",
                span=Span(token.start, token.end + 1),
            )
