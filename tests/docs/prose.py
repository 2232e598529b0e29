"""Markdown as the tests read it: code blocks, and the paths and targets that prose names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)\s*$")
_SPARK = "<!-- spark -->"
_NOT_RUN = "<!-- not run -->"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text, first line, and the text block right after it.

    `needs_spark` and `is_run` come from a comment in the line above: `<!-- spark -->`,
    `<!-- not run -->`.
    """

    language: str
    text: str
    line: int
    output: str | None = None
    needs_spark: bool = False
    is_run: bool = True


def pages() -> list[Path]:
    """Every page of prose in the project."""
    return [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page; a `text` block after a Python one is its output."""
    found = list(_fenced(page.read_text().splitlines()))
    joined = []
    for number, block in enumerate(found):
        following = found[number + 1] if number + 1 < len(found) else None
        end = block.line + block.text.count("\n") + 1
        follows = following is not None and following.line <= end + 3
        if follows and following is not None and following.language == "text":
            joined.append(Block(**{**block.__dict__, "output": following.text}))
        else:
            joined.append(block)
    return joined


def _fenced(lines: list[str]) -> Iterator[Block]:
    start, language, mark = None, "", ""
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if start is None:
            start, language = number, fence[1]
            above = [text.strip() for text in lines[max(0, number - 2) : number] if text.strip()]
            mark = above[-1] if above else ""
        else:
            text = "".join(f"{part}\n" for part in lines[start + 1 : number])
            yield Block(
                language,
                text,
                start + 1,
                needs_spark=mark == _SPARK,
                is_run=mark != _NOT_RUN,
            )
            start = None


def without_blocks(page: Path) -> str:
    """The prose of a page, its fenced blocks left out."""
    return re.sub(r"^```.*?^```\s*$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
