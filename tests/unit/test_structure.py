"""The house rules that no linter knows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src", "papers/src")
CODE_FOLDERS = (*SOURCES, "tests", "benchmarks", "examples")
MOST_LINES = 500
MAY_BE_LONGER: dict[str, str] = {}
"""Files over the limit, each with the reason why it is one thing."""

DRAWERS = {"utils", "util", "helpers", "common", "misc", "core"}
HEAVY = ("numba", "pyspark", "pandas", "duckdb")

FORBIDDEN = {
    "a path of some machine": r"(?<![\w.])/(?:home|root|tmp|work|Users)/\w",
    "a package index": r"(?:files\.pythonhosted|pypi|conda)\.(?:org|io)\b|/simple/",
    "something left for later": r"\b(?:TODO|FIXME|XXX)\b",
}
"""What no file of the project says, as patterns that do not match themselves."""


def code_files() -> Iterator[Path]:
    for folder in CODE_FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def source_files() -> Iterator[Path]:
    for folder in SOURCES:
        yield from sorted((ROOT / folder).rglob("*.py"))


def text_files() -> Iterator[Path]:
    yield from code_files()
    yield from sorted([*ROOT.glob("*.md"), *ROOT.glob("papers/*.md")])
    yield from sorted(ROOT.glob("docs/**/*.md"))
    yield from sorted(file for file in (ROOT / "scripts").iterdir() if file.is_file())
    names = ("Makefile", "pyproject.toml", "papers/pyproject.toml", "mkdocs.yml", ".ci/run")
    yield from (ROOT / name for name in names)


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def test_no_file_is_too_long():
    lengths = {name_of(file): len(file.read_text().splitlines()) for file in code_files()}
    too_long = {name: lines for name, lines in lengths.items() if lines > MOST_LINES}
    assert set(too_long) == set(MAY_BE_LONGER), too_long


def test_files_are_named_after_what_they_hold():
    assert not [name_of(file) for file in code_files() if file.stem in DRAWERS]


def test_only_the_one_decorator_names_the_compiler():
    bare = [
        name_of(file)
        for file in source_files()
        if re.search(r"\bn?jit\(|@(?:numba\.)?n?jit\b|import n?jit\b", file.read_text())
        and not file.as_posix().endswith("kernels/jit.py")
    ]
    assert not bare


def test_pyspark_is_named_in_one_room_alone_types_included():
    naming = [
        name_of(file)
        for file in source_files()
        if re.search(r"^\s*(?:from|import) (?:pyspark|py4j)\b", file.read_text(), re.MULTILINE)
    ]
    assert naming
    assert not [name for name in naming if not name.startswith("src/windrow/run/spark/")]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_says_what_is_forbidden(what):
    found = [
        f"{name_of(file)}:{number}: {line.strip()}"
        for file in text_files()
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(FORBIDDEN[what], line) and file != Path(__file__).resolve()
    ]
    assert not found, "\n".join(found)


def test_importing_windrow_loads_nothing_heavy():
    code = f"import sys, windrow; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_command_line_loads_nothing_heavy():
    code = f"import sys, windrow.cli.main; print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
