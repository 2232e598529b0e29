"""What the pages name exists: paths, links, make targets, error conditions, options."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from docs.prose import ROOT, pages, without_blocks

TOP = {path.name for path in ROOT.iterdir()}
GENERATED = {".venv", "site"}
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_PYTHON_FILE = re.compile(r"[\w*./-]*\w\.py\b")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_CONDITION = re.compile(
    r"\b(?:\w+Error|Unavailable|UnknownColumn|cls)(?:\(\s*\"|\[)([a-z0-9]+(?:-[a-z0-9]+)+|[a-z0-9]+(?=\"))",
    re.MULTILINE,
)
"""Raised by us, or, with the kind of error before it, by an expression of Spark's."""
PAGES = [page.relative_to(ROOT).as_posix() for page in pages()]


@pytest.mark.parametrize("name", PAGES)
def test_every_path_that_a_page_names_exists(name):
    missing = []
    for span in _CODE_SPAN.findall(without_blocks(ROOT / name)):
        first = span.split("/")[0]
        looks_like_path = re.fullmatch(r"[\w.*-]+(?:/[\w.*-]*)+", span) is not None
        if looks_like_path and first in TOP - GENERATED and not list(ROOT.glob(span.rstrip("/"))):
            missing.append(span)
        if looks_like_path and first not in TOP | GENERATED and "src/windrow" in span:
            missing.append(span)
    assert not missing


@pytest.mark.parametrize("name", PAGES)
def test_every_python_file_that_a_page_names_exists_by_its_name_or_the_end_of_its_path(name):
    named = set(_PYTHON_FILE.findall(without_blocks(ROOT / name)))
    assert not [file for file in sorted(named) if not _is_there(file)]


def _is_there(file: str) -> bool:
    return any(path.match(file) for path in _python_files())


@cache
def _python_files() -> list[Path]:
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name in TOP - GENERATED]
    return [*ROOT.glob("*.py"), *(file for folder in folders for file in folder.rglob("*.py"))]


@pytest.mark.parametrize("name", PAGES)
def test_every_link_to_a_file_leads_somewhere(name):
    page = ROOT / name
    targets = [target for target in _LINK.findall(without_blocks(page)) if "://" not in target]
    assert not [target for target in targets if not (page.parent / target).exists()]


@pytest.mark.parametrize("name", PAGES)
def test_every_make_target_that_a_page_names_exists(name):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", (ROOT / name).read_text()))
    assert named <= targets


def test_every_error_condition_is_explained_and_no_other():
    raised = {
        condition
        for folder in ("src", "papers/src")
        for file in (ROOT / folder).rglob("*.py")
        for condition in _CONDITION.findall(file.read_text())
        if not condition.startswith("unsupported-")  # a family, explained as one
    }
    explained = set(
        re.findall(r"^\| `([a-z0-9-]+)` ", (ROOT / "docs/reference/errors.md").read_text(), re.M)
    )
    assert explained == raised


@pytest.mark.parametrize("page", ["sql.md", "options.md"])
def test_the_tables_of_the_reference_are_those_of_the_source(page):
    written = runpy.run_path(str(ROOT / "scripts/reference_tables.py"))["written"]
    text = (ROOT / "docs/reference" / page).read_text()
    assert written(page, text) == text, "run scripts/reference_tables.py, and read the difference"


def test_the_site_builds_without_a_warning(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").exists()


def test_the_paths_of_this_test_are_found(tmp_path):
    page = Path(tmp_path / "page.md")
    page.write_text("see `src/nowhere.py`\n```text\n`src/elsewhere.py`\n```\n")
    assert _CODE_SPAN.findall(without_blocks(page)) == ["src/nowhere.py"]
