"""How large the house is, and how far its rooms are apart: `python scripts/measure_code.py`.

Prints, one line each:

- modules and lines of `src/windrow`, files over 500 lines, modules that only one other imports; the
  papers' package apart;
- tests of what kind of node something is (`isinstance`, `case`) outside of the nodes' own files:
  each is a place that a new kind of node may have to change;
- files whose code runs for a join of three streams in process, and the layers before its operator;
- accesses of private names in the tests.
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
PRIVATE = re.compile(r"(?<!\bself)(?<!\bcls)\._[a-z]\w*|import _[a-z]")


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
    return count


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
    found, names = modules(), kinds()
    lines = {file: _lines(file) for file in found.values()}
    outside = [file for file in found.values() if not is_of_nodes(file)]
    tests = sum(kind_tests(ast.parse(file.read_text()), names) for file in outside)
    one = sum(len(by) == 1 for by in importers(found).values())
    crossed, layers = three_way_join()
    private = sum(len(PRIVATE.findall(file.read_text())) for file in (ROOT / "tests").rglob("*.py"))
    figures = {
        "modules": f"{len(found)}, {one} of them with one importer",
        "lines": f"{sum(lines.values()):,}; {sum(own > LONG for own in lines.values())} files over {LONG}",
        "lines of the papers' package": f"{sum(_lines(file) for file in PAPERS.rglob('*.py')):,}",
        "tests of node kinds outside of nodes": tests,
        "files crossed by a 3-way join in process": crossed,
        "layers before its operator": f"{len(layers)}: {', '.join(layers)}",
        "private accesses in tests": private,
    }
    for name, figure in figures.items():
        sys.stdout.write(f"{name:<42} {figure}\n")


if __name__ == "__main__":
    main()
