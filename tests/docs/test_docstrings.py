"""What docstrings name in backticks exists: files, and names of modules, functions and classes."""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest
from docs.prose import ROOT

SPAN = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+\.py")
NAME = re.compile(r"(?:[a-z_]\w*[_.]\w[\w.]*|[A-Z]\w*[a-z]\w*(?:\.\w+)*)(?:\(\))?")
"""Words with an underscore or a dot, or with capitals: single small words may be English."""

OF_OTHERS = {"StreamingQueryProgress"}
"""What Spark calls its own."""


def modules() -> list[Path]:
    return [
        *sorted((ROOT / "src").rglob("*.py")),
        *sorted((ROOT / "papers" / "src").rglob("*.py")),
    ]


def other_code() -> list[Path]:
    """What docstrings may point to beside the packages."""
    return [
        path
        for folder in ("tests", "benchmarks", "scripts")
        for path in (ROOT / folder).rglob("*.py")
    ]


@cache
def known() -> set[str]:
    """Every name in code, and every word in its short texts: options, counters, import paths."""
    found = {*dir(builtins), *OF_OTHERS}
    for path in [*modules(), *other_code()]:
        found |= {path.stem, *path.parts}
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            is_text = token.type == tokenize.STRING and not token.string.startswith('"""')
            if is_text or token.type not in (tokenize.STRING, tokenize.COMMENT):
                found |= set(re.findall(r"[A-Za-z_]\w*", token.string))
    return found


@cache
def files() -> set[str]:
    return {path.name for path in [*modules(), *other_code()]}


def docstrings(text: str) -> list[str]:
    """Texts that stand alone: docstrings, and those below constants."""
    return [
        node.value.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]


def missing(text: str) -> list[str]:
    found = []
    for span in (span for own in docstrings(text) for span in SPAN.findall(own)):
        if FILE.fullmatch(span):
            gone = Path(span).name not in files()
        else:
            gone = NAME.fullmatch(span) and not set(re.findall(r"\w+", span)) <= known()
        if gone:
            found.append(span)
    return found


ROOMS = sorted({path.parent.relative_to(ROOT).as_posix() for path in modules()})


@pytest.mark.parametrize("room", ROOMS)
def test_what_docstrings_name_exists(room):
    found = {path.name: missing(path.read_text()) for path in (ROOT / room).glob("*.py")}
    assert not {name: gone for name, gone in found.items() if gone}


def test_a_name_that_is_gone_is_found():
    gone = "`it_was" + "_here`, `was" + "_here.py`, `Was" + "HereOnce.of()`"
    assert len(missing(f'"""See {gone}, `ChangeBatch`, `late_rule.py`, `windrow.extend`."""')) == 3
