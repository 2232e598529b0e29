"""The table "To add" of ARCHITECTURE.md: every row names tests that are there, and files that are touched."""

from __future__ import annotations

import ast
import re
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


TABLE = rows()


def test_the_table_is_read():
    assert len(TABLE) > 9
    assert {len(cells) for cells in TABLE.values()} == {2}


@pytest.mark.parametrize("what", TABLE)
def test_every_row_is_shown_by_a_test_and_its_files_are_there(what):
    touched, shown = TABLE[what]
    tests = PATH.findall(shown)
    assert any(re.fullmatch(r"tests/.*/test_\w+\.py", name) for name in tests)
    assert not [name for name in [*PATH.findall(touched), *tests] if not (ROOT / name).exists()]


def test_a_join_with_a_syntax_of_its_own_takes_twelve_files_at_most():
    """By WINDOW JOIN: its node and operator, and what names its clause or asks for it."""
    named = re.compile(r"RangeAggregate|range_aggregate|WINDOW JOIN")
    files = [file for file in PACKAGE.rglob("*.py") if named.search(file.read_text())]
    assert 3 < len(files) <= 12, sorted(map(str, files))


def test_the_files_of_a_kind_of_window_join_are_those_that_name_one():
    """By ANTI: joins with tables, as-of joins and Spark's own know it as well, each by itself."""
    (what,) = [what for what in TABLE if what.startswith("a kind of window join")]
    said = {name for name in PATH.findall(TABLE[what][0]) if name.endswith(".py")}
    with_tables = {
        "src/windrow/plan/nodes/table_join.py",
        "src/windrow/run/spark/relations.py",
        "src/windrow/sql/lower/changelog_sources.py",  # "a", or "an"
    }
    named = {
        file.relative_to(ROOT).as_posix()
        for file in PACKAGE.rglob("*.py")
        if any(
            isinstance(node, ast.Constant) and node.value == "anti"
            for node in ast.walk(ast.parse(file.read_text()))
        )
    }
    assert named - with_tables == said
    assert with_tables < named
