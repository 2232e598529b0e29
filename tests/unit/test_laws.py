"""A law is marked where it is written, whatever its file and folder are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def names_of(marks: object) -> set[str]:
    return {mark.name for mark in (marks if isinstance(marks, list) else [marks])}


def test_no_path_decides_what_is_a_law(request: pytest.FixtureRequest) -> None:
    """What pytest takes for laws are those that say so themselves, or whose module does."""
    for item in request.session.items:
        if not isinstance(item, pytest.Function):
            continue
        is_law = any(mark.name == "law" for mark in item.iter_markers())
        owners = (item.function, item.module)
        written = [names_of(owner.pytestmark) for owner in owners if hasattr(owner, "pytestmark")]
        assert is_law == any("law" in names for names in written), item.nodeid


def drawn_tests() -> Iterator[tuple[str, bool]]:
    """Each test that hands its cases to Hypothesis, and whether it or its module is marked."""
    for file in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(file.read_text())
        of_module = [
            ast.unparse(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        ]
        for test in tree.body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test"):
                inside = [node for node in ast.walk(test) if isinstance(node, ast.FunctionDef)]
                used = [ast.unparse(d) for node in inside for d in node.decorator_list]
                if any(decorator.startswith("given(") for decorator in used):
                    marks = [*of_module, *map(ast.unparse, test.decorator_list)]
                    is_law = any("pytest.mark.law" in mark for mark in marks)
                    yield f"{file.relative_to(TESTS)}::{test.name}", is_law


def test_whatever_draws_its_cases_is_marked_as_a_law() -> None:
    found = dict(drawn_tests())
    assert len(found) > 100
    assert not [name for name, is_law in found.items() if not is_law]
