"""What to touch to add something: the table of ARCHITECTURE.md, and the checklists of CONTRIBUTING.md.

Every row names tests and files that are there; the checklists of joins name all the files that they mean.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "windrow"
PATH = re.compile(r"`((?:src|tests|docs|scripts|papers)/[\w./]+)`")


def rows() -> dict[str, list[str]]:
    """The cells of each row by what it is about, without that."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.partition("\n## To add\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    return {what: cells for what, *cells in lines[2:]}


def checklists() -> dict[str, str]:
    """Each checklist by what it is about."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## Checklists\n")[2]
    parts = re.findall(r"^\*\*(.+?)\*\*(.+?)(?=^\*\*|\Z)", section, re.MULTILINE | re.DOTALL)
    return {what.rstrip("."): text for what, text in parts}


TABLE = rows()
CHECKLISTS = checklists()


def files_that(is_named: Callable[[str], object]) -> set[str]:
    """The modules of Windrow whose text has something."""
    files = [file for file in PACKAGE.rglob("*.py") if is_named(file.read_text())]
    return {file.relative_to(ROOT).as_posix() for file in files}


def test_the_architecture_fits_three_screens():
    lines = (ROOT / "ARCHITECTURE.md").read_text().splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 110


def test_the_table_is_read():
    assert len(TABLE) > 9
    assert {len(cells) for cells in TABLE.values()} == {2}


def test_every_row_that_says_checklist_has_one():
    with_one = {
        what.removeprefix("a ").removeprefix("an ")
        for what in TABLE
        if "checklist" in TABLE[what][0]
    }
    assert len(with_one) > 6
    assert with_one <= {what.removeprefix("A ").removeprefix("An ") for what in CHECKLISTS}


@pytest.mark.parametrize("what", CHECKLISTS)
def test_the_files_of_a_checklist_are_there(what):
    assert not [name for name in PATH.findall(CHECKLISTS[what]) if not (ROOT / name).exists()]


@pytest.mark.parametrize("what", TABLE)
def test_every_row_is_shown_by_a_test_and_its_files_are_there(what):
    touched, shown = TABLE[what]
    tests = PATH.findall(shown)
    assert any(re.fullmatch(r"tests/.*/test_\w+\.py", name) for name in tests)
    assert not [name for name in [*PATH.findall(touched), *tests] if not (ROOT / name).exists()]


def test_a_join_with_a_syntax_of_its_own_takes_twelve_files_at_most():
    """By WINDOW JOIN: its node and operator, and what names its clause or asks for it."""
    named = re.compile(r'RangeAggregate|range_aggregate|RangeWindow|WINDOW JOIN|== "WINDOW"')
    files = files_that(named.search)
    assert set(PATH.findall(CHECKLISTS["A join with a syntax of its own"])) == files
    assert 3 < len(files) <= 12


def test_the_files_of_a_kind_of_window_join_are_those_that_name_one():
    """By ANTI: joins with tables, as-of joins and Spark's own know it as well, each by itself."""
    said = set(PATH.findall(CHECKLISTS["A kind of window join"]))
    with_tables = {
        "src/windrow/plan/nodes/table_join.py",
        "src/windrow/run/spark/relations.py",
        "src/windrow/sql/lower/changelog_sources.py",  # "a", or "an"
    }
    named = files_that(
        lambda text: any(
            isinstance(node, ast.Constant) and node.value == "anti"
            for node in ast.walk(ast.parse(text))
        )
    )
    assert named - with_tables == said
    assert with_tables < named
