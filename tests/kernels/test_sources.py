"""Which kernels are compiled anew when a file changes: all whose code it is part of, no other."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import windrow_papers.kernels
from windrow.kernels import code_folders
from windrow.kernels.sources import KERNELS, digest_of, sources_of

PAPERS = Path(windrow_papers.kernels.__file__).parent
MODULES = sorted(
    ".".join((package, *file.relative_to(folder).with_suffix("").parts))
    for package, folder in {"windrow.kernels": KERNELS, "windrow_papers.kernels": PAPERS}.items()
    for file in folder.rglob("*.py")
    if file.name != "__init__.py"
)


@pytest.mark.parametrize("name", MODULES)
def test_all_that_a_module_has_from_other_kernel_modules_is_among_its_sources(name):
    module = importlib.import_module(name)
    sources = {file.resolve() for file in sources_of(Path(module.__file__))}
    homes = {str(getattr(value, "__module__", None)) for value in vars(module).values()}
    ours = {home for home in homes if home.startswith(("windrow.", "windrow_papers."))}
    files = {Path(importlib.import_module(home).__file__).resolve() for home in (name, *ours)}
    assert files <= sources


@pytest.fixture
def kernels(tmp_path) -> Path:
    """A package of four modules, one of which leads to another by way of a third."""
    texts = {
        "limit.py": "LIMIT = 10\n",
        "inner.py": (
            "from windrow.kernels.jit import kernel\n"
            "from windrow.kernels.limit import LIMIT\n\n"
            "@kernel\ndef inner(n):\n    return min(n, LIMIT)\n"
        ),
        "outer.py": (
            "from windrow.kernels.jit import kernel\n"
            "from windrow.kernels.inner import (\n    inner,\n)\n\n"
            "@kernel\ndef outer(n):\n    return 2 * inner(n)\n"
        ),
        "apart.py": (
            "from windrow.kernels.jit import kernel\n\n@kernel\ndef apart(n):\n    return -n\n"
        ),
    }
    folder = tmp_path / "windrow" / "kernels"
    folder.mkdir(parents=True)
    (tmp_path / "windrow" / "__init__.py").touch()
    (folder / "__init__.py").touch()
    for name in ("jit", "signals", "sources", "code_folders", "code_store", "compiling"):
        shutil.copy(KERNELS / f"{name}.py", folder)
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def test_a_change_reaches_all_that_lead_to_it_and_no_other(kernels):
    def digests() -> dict[str, str]:
        return {file.stem: digest_of(file, kernels) for file in kernels.glob("*.py")}

    before = digests()
    (kernels / "limit.py").write_text("LIMIT = 20\n")
    after = digests()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"limit", "inner", "outer"}


@pytest.mark.parametrize(
    "line",
    ["from windrow import kernels", "from windrow.kernels import limit", "from . import limit",
     "from .limit import LIMIT", "import windrow.kernels", "import os, windrow.kernels"],
)  # fmt: skip
def test_an_import_that_names_no_module_counts_as_one_of_all(kernels, line):
    (kernels / "apart.py").write_text(f"{line}\n")
    assert sources_of(kernels / "apart.py", kernels) == set(kernels.rglob("*.py"))


@pytest.mark.parametrize(
    "line", ["import windrow.kernels.limit as it", "    from windrow.kernels.limit import LIMIT"]
)
def test_a_module_is_named_by_any_kind_of_import(kernels, line):
    (kernels / "apart.py").write_text(f"{line}\n")
    assert sources_of(kernels / "apart.py", kernels) == {
        kernels / "apart.py",
        kernels / "limit.py",
    }


@pytest.fixture
def others(tmp_path) -> Path:
    """The kernels of another package: one made of another of its own and of ours, and one apart."""
    folder = tmp_path / "other" / "loops"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").touch()
    (folder / "own.py").write_text("from windrow.kernels.limit import LIMIT\n")
    (folder / "made.py").write_text("from other.loops.own import LIMIT\n")
    (folder / "apart.py").write_text("from windrow.kernels.jit import kernel\n")
    return folder


def test_kernels_of_another_package_are_made_of_its_modules_and_ours(kernels, others):
    found = sources_of(others / "made.py", kernels)
    assert found == {others / "made.py", others / "own.py", kernels / "limit.py"}
    assert others / "own.py" not in sources_of(others / "apart.py", kernels)


@pytest.mark.parametrize("line", ["from other import loops", "from .own import LIMIT"])
def test_an_import_of_another_package_that_names_no_module_counts_as_one_of_all(
    kernels, others, line
):
    (others / "apart.py").write_text(f"{line}\n")
    assert set(others.rglob("*.py")) <= sources_of(others / "apart.py", kernels)


ASK = """
from windrow.kernels.apart import apart
from windrow.kernels.outer import outer
print(outer(100), apart(1), sum(outer.stats.cache_hits.values()), sum(apart.stats.cache_hits.values()))
"""


def test_a_kernel_with_the_code_of_another_in_it_is_never_a_stale_one(kernels, tmp_path):
    """Tried in processes of their own: the one that is changed has another answer at once."""

    def asked() -> list[int]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(kernels.parent.parent),
            code_folders.FOLDER_SETTING: str(tmp_path / "cache"),
        }
        run = [sys.executable, "-c", ASK]
        answer = subprocess.run(run, env=environment, check=True, capture_output=True, text=True)
        return [int(number) for number in answer.stdout.split()]

    assert asked() == [20, -1, 0, 0]
    assert asked() == [20, -1, 1, 1]
    (kernels / "limit.py").write_text("LIMIT = 30\n")
    assert asked() == [60, -1, 0, 1]
