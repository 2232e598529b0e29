"""What `scripts/measure_code.py` counts, and how much of it there may be."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("measure_code", ROOT / "scripts/measure_code.py")
assert _spec is not None
assert _spec.loader is not None
measure_code = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(measure_code)

MOST_KIND_TESTS = 40
MOST_PRIVATE_ACCESSES = 60


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("isinstance(x, SetOp | str)", 1),
        ("isinstance(x, str)", 0),
        ("match x:\n    case SetOp(): pass\n    case str(): pass", 1),
        ("node.kind == 'left'", 1),
        ("'left' != self._node.kind", 1),
        ("own.kind in {'semi', 'anti'}", 1),
        ("plan.node.algorithm == first.node.algorithm", 1),
        ("node.counts is None", 1),
        ("if node.is_snapshot: pass", 1),
        ("x and not join.at_once", 1),
        ("KERNELS[node.algorithm]", 0),
        ("f(kind=node.kind)", 0),
        ("options.algorithm == 'bew'", 0),
        ("snapshot.kind == STATE", 0),
    ],
)
def test_what_asks_for_the_kind_of_a_node_is_counted(code: str, count: int) -> None:
    assert measure_code.kind_tests(ast.parse(code), {"SetOp"}) == count


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("x._hidden", 1),
        ("x._hidden = 5", 1),
        ("self._own", 0),
        ("x.__dict__", 0),
        ("from a import _b, c", 1),
        ("setattr(x, '_hidden', 5)", 1),
        ("monkeypatch.setattr(x, '_hidden', 5)", 1),
        ("monkeypatch.setattr('a.b._hidden', 5)", 1),
        ("object.__setattr__(x, '_hidden', 5)", 1),
        ("patch.object(x, '_hidden')", 1),
        ("setattr(x, 'shown', 5)", 0),
    ],
)
def test_what_reaches_for_a_private_name_is_counted(code: str, count: int) -> None:
    assert measure_code.private_accesses(ast.parse(code)) == count


def test_few_places_ask_for_the_kind_of_a_node() -> None:
    assert 0 < measure_code.kind_tests_outside() <= MOST_KIND_TESTS


def test_few_tests_reach_for_private_names() -> None:
    assert 0 < measure_code.private_accesses_in_tests() <= MOST_PRIVATE_ACCESSES
