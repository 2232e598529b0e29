"""How large the house is, and how far its rooms are apart: `python scripts/measure_code.py`.

Prints, one line each:

- modules and lines of `src/windrow`, files over 500 lines, modules that only one other imports; the
  papers' package apart;
- tests of what kind of node something is outside of the nodes' own files: each is a place that a new
  kind of node may have to change. They are `isinstance` and `case` with a class of nodes, and
  conditions on an attribute that stands for a kind (`KIND_ATTRIBUTES`): compared, or asked for itself.
  Whose attribute it is shows by name alone: something called a node, a join or a plan, or an attribute
  called so (`NODE_NAMES`). What is read and handed on, as a key of a table say, does not count;
- files whose code runs for a join of three streams in process, and the layers before its operator;
- accesses of private names in the tests, read, written or patched: attributes and imports with a
  leading underscore, not those of `self` or `cls`, and names like that as texts of `getattr`, `setattr`,
  `delattr` and `patch`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "windrow"
NODE_ROOMS = (PACKAGE / "plan" / "nodes", PACKAGE / "physical" / "nodes")
PAPERS = ROOT / "papers" / "src"
LONG = 500
PRIVATE = re.compile(r"_[a-zA-Z]\w*")
BY_TEXT = {"getattr", "setattr", "delattr", "hasattr", "patch"}
"""Functions that are told an attribute by a text."""

KIND_ATTRIBUTES = {"kind", "algorithm", "counts", "is_snapshot", "at_once"}
NODE_NAMES = re.compile(r"_?(?:node|join|plan|root|own|stated|child|below|top|first)s?")


def modules() -> dict[str, Path]:
    """The modules of the package by name."""
    files = sorted(PACKAGE.rglob("*.py"))
    names = [".".join(file.relative_to(ROOT / "src").with_suffix("").parts) for file in files]
    return {name.removesuffix(".__init__"): file for name, file in zip(names, files, strict=True)}


def is_of_nodes(file: Path) -> bool:
    """Whether a file is one of those in which kinds of nodes are made."""
    return any(file == room or room in file.parents for room in NODE_ROOMS)


def kinds() -> set[str]:
    """The names of all kinds of nodes."""
    found = set()
    for file in filter(is_of_nodes, PACKAGE.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found.add(node.name)
    return found


def kind_tests(tree: ast.AST, names: set[str]) -> int:
    """How often a module asks what kind of node something is."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            asked = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            count += bool(asked & names)
        elif isinstance(node, ast.MatchClass):
            count += getattr(node.cls, "id", "") in names
        else:
            count += sum(map(_is_of_kind, _conditions(node)))
    return count


def kind_tests_outside() -> int:
    """How often modules that are not of nodes ask."""
    names = kinds()
    outside = (file for file in modules().values() if not is_of_nodes(file))
    return sum(kind_tests(ast.parse(file.read_text()), names) for file in outside)


def _conditions(node: ast.AST) -> list[ast.expr]:
    """What decides in a piece of code: both sides of a comparison, and what is asked for itself."""
    if isinstance(node, ast.Compare):
        # One comparison is one test, whichever side the attribute is on.
        sides = [node.left, *node.comparators]
        return next(([side] for side in sides if _is_of_kind(side)), [])
    if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    return []


def _is_of_kind(asked: ast.expr) -> bool:
    """Whether an expression is an attribute that stands for the kind of a node."""
    if not (isinstance(asked, ast.Attribute) and asked.attr in KIND_ATTRIBUTES):
        return False
    called = {part.id for part in ast.walk(asked) if isinstance(part, ast.Name)}
    called |= {part.attr for part in ast.walk(asked.value) if isinstance(part, ast.Attribute)}
    return any(NODE_NAMES.fullmatch(name) for name in called)


def private_accesses(tree: ast.AST) -> int:
    """How often a module reaches for a private name of another."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and PRIVATE.fullmatch(node.attr):
            count += getattr(node.value, "id", "") not in {"self", "cls"}
        elif isinstance(node, ast.ImportFrom):
            count += sum(bool(PRIVATE.fullmatch(alias.name)) for alias in node.names)
        elif isinstance(node, ast.Call):
            count += _is_by_text(node)
    return count


def private_accesses_in_tests() -> int:
    """The same of all tests."""
    files = (ROOT / "tests").rglob("*.py")
    return sum(private_accesses(ast.parse(file.read_text())) for file in files)


def _is_by_text(call: ast.Call) -> bool:
    """Whether a call names a private attribute of another by a text."""
    func, first = call.func, call.args[0] if call.args else None
    name = getattr(func, "id", getattr(func, "attr", ""))
    is_patched = isinstance(func, ast.Attribute) and getattr(func.value, "id", "") == "patch"
    is_own = getattr(first, "id", "") in {"self", "cls"}
    if is_own or not (is_patched or name.strip("_") in BY_TEXT):
        return False
    texts = [part.value for part in call.args if isinstance(part, ast.Constant)]
    return any(isinstance(t, str) and PRIVATE.fullmatch(t.rpartition(".")[2]) for t in texts)


def importers(found: dict[str, Path]) -> dict[str, set[str]]:
    """Per module, those that import it."""
    by: dict[str, set[str]] = {name: set() for name in found}
    for name, file in found.items():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                parts = (f"{node.module}.{alias.name}" for alias in node.names)
                for imported in (node.module, *parts):
                    by.get(imported, set()).add(name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    by.get(alias.name, set()).add(name)
    return by


def three_way_join() -> tuple[int, list[str]]:
    """The files that a join of three streams crosses, and the classes before its operator."""
    import pyarrow as pa  # noqa: PLC0415

    import windrow  # noqa: PLC0415

    def answer() -> None:
        session = windrow.Session()
        for name in "abc":
            session.stream(name, [pa.table({"k": [1, 2], "t": [0, 1]})], time="t")
        session.sql("SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW = 5").to_arrow()

    files: set[str] = set()
    layers: list[str] = []

    def follow(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)):
            return
        files.add(code.co_filename)
        if code.co_name == "push" and code.co_qualname.endswith("Op.push") and not layers:
            layers.extend(dict.fromkeys(reversed(list(_classes_above(frame)))))

    answer()  # what is imported once counts for nothing
    sys.setprofile(follow)
    answer()
    sys.setprofile(None)
    return len(files), layers


def _classes_above(frame: FrameType) -> Iterator[str]:
    above = frame.f_back
    while above is not None:
        if above.f_code.co_filename.startswith(str(PACKAGE)):
            yield above.f_code.co_qualname.split(".")[0]
        above = above.f_back


def _lines(file: Path) -> int:
    return len(file.read_text().splitlines())


def main() -> None:
    """Measures and prints."""
    found = modules()
    lines = {file: _lines(file) for file in found.values()}
    one = sum(len(by) == 1 for by in importers(found).values())
    crossed, layers = three_way_join()
    figures = {
        "modules": f"{len(found)}, {one} of them with one importer",
        "lines": f"{sum(lines.values()):,}; {sum(own > LONG for own in lines.values())} files over {LONG}",
        "lines of the papers' package": f"{sum(_lines(file) for file in PAPERS.rglob('*.py')):,}",
        "tests of node kinds outside of nodes": kind_tests_outside(),
        "files crossed by a 3-way join in process": crossed,
        "layers before its operator": f"{len(layers)}: {', '.join(layers)}",
        "private accesses in tests": private_accesses_in_tests(),
    }
    for name, figure in figures.items():
        sys.stdout.write(f"{name:<42} {figure}\n")


if __name__ == "__main__":
    main()
