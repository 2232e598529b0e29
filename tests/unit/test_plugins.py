"""Packages that add to Windrow: found by their entry points, and missed by name where they are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import windrow

SOURCES = str(Path(windrow.__file__).parents[1])

WITHOUT_PLUGINS = """
import importlib.metadata as metadata

metadata.entry_points = lambda **asked: ()
"""
"""Python as it is where nothing is installed that adds to Windrow."""

COMMAND = "from windrow.cli.main import main\nmain()\n"


def run_python(code: str, *words: str, paths: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*paths, SOURCES])},
    )


def make_plugin(folder: Path, text: str) -> tuple[str, ...]:
    """An installed package `odd-package` with one module `odd`, which is its plugin."""
    (folder / "odd.py").write_text(text)
    info = folder / "odd_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[windrow.plugins]\nodd = odd\n")
    return (str(folder),)


def test_a_command_of_a_package_that_is_not_installed_says_what_to_install():
    done = run_python(WITHOUT_PLUGINS + COMMAND, "experiment", "list")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "PlanError[not-installed]: the command 'experiment' is in the package windrow-papers,"
        " which is not installed\n"
        "  Windrow alone has what its plans take; the papers' other algorithms, and their"
        " experiments, are a package of their own\n"
        "  hint: in a checkout of Windrow: pip install ./papers\n"
    )


def test_without_packages_the_list_has_our_own_commands_alone():
    done = run_python(WITHOUT_PLUGINS + COMMAND, "--help")
    assert done.returncode == 0
    assert "explain" in done.stdout
    assert "experiment" not in done.stdout


@pytest.mark.parametrize("words", [("odd", "greet"), ("--help",)])
def test_a_command_that_a_package_adds_is_there(tmp_path, words):
    paths = make_plugin(
        tmp_path,
        "import typer\n"
        "from windrow import extend\n"
        "app = typer.Typer(help='Odd things.')\n"
        "@app.command()\n"
        "def greet(): print('good day')\n"
        "@app.command()\n"
        "def leave(): pass\n"
        "extend.command('odd', 'odd:app')\n",
    )
    done = run_python(COMMAND, *words, paths=paths)
    assert done.returncode == 0, done.stderr
    assert ("good day" if words[0] == "odd" else "Odd things.") in done.stdout


def test_a_package_that_cannot_be_loaded_is_named_and_our_own_commands_work(tmp_path):
    paths = make_plugin(tmp_path, "import nowhere_to_be_found\n")
    broken = run_python(COMMAND, "other", paths=paths)
    assert broken.returncode == 2
    assert "PlanError[plugin-fails]: the package odd-package cannot be loaded" in broken.stderr
    assert "ModuleNotFoundError: No module named 'nowhere_to_be_found'" in broken.stderr
    own = run_python(COMMAND, "cost", "--help", paths=paths)
    assert own.returncode == 0
