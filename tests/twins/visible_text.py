"""Text as a terminal shows it, character by character, by what Unicode says of each."""

from __future__ import annotations

import unicodedata

_TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
_MARKS = {
    "LEFT-TO-RIGHT MARK", "RIGHT-TO-LEFT MARK", "ARABIC LETTER MARK",
    "ZERO WIDTH SPACE", "WORD JOINER", "ZERO WIDTH NO-BREAK SPACE",
}  # fmt: skip


def visible_text(text: str, *, is_line: bool = False) -> str:
    """The text, what would not be shown as itself replaced; in a line, lines and tabs too."""
    return "".join(
        _escaped(one) if _is_order(one) and (is_line or one not in "\n\t") else one for one in text
    )


def _is_order(character: str) -> bool:
    return (
        unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
        or unicodedata.bidirectional(character) in _TURNS
        or unicodedata.name(character, "") in _MARKS
    )


def _escaped(character: str) -> str:
    # As Python writes it where it may write no such character.
    return ascii(character)[1:-1]
