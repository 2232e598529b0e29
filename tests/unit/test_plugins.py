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
        "  Windrow itself has what its plans take; the papers' other algorithms, and their"
        " experiments, are a package of their own\n"
        "  hint: in a checkout of Windrow: pip install ./papers\n"
    )


def test_without_the_papers_cost_measures_this_machine_and_says_what_to_install_for_more():
    own = run_python(WITHOUT_PLUGINS + COMMAND, "cost", "--help")
    assert own.returncode == 0
    assert "--calibrate" in own.stdout
    assert "--rate-a" not in own.stdout
    for words in ((), ("--rate-a", "2"), ("--calibrate", "--rate-a", "2")):
        done = run_python(WITHOUT_PLUGINS + COMMAND, "cost", *words)
        assert done.returncode == 2
        assert done.stderr.startswith("PlanError[not-installed]: the command 'cost' is in the")


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


def test_an_algorithm_of_a_package_that_is_not_installed_says_what_to_install():
    for asked in ("gca", "bew-tuple-at-a-time-hash"):
        done = run_python(
            WITHOUT_PLUGINS + SESSION + f"session.explain(QUERY, algorithm={asked!r})\n"
        )
        assert (
            f"PlanError[not-installed]: the algorithm '{asked}' is in the package windrow-papers,"
            " which is not installed\n" in done.stderr
        )
        assert "hint: in a checkout of Windrow: pip install ./papers" in done.stderr
    hinted = run_python(WITHOUT_PLUGINS + SESSION + "session.explain(HINTED)\n")
    assert "not-installed" in hinted.stderr
    assert "^^^" in hinted.stderr


def test_without_packages_our_own_algorithms_are_the_known_ones():
    done = run_python(WITHOUT_PLUGINS + SESSION + "session.explain(QUERY, algorithm='gco')\n")
    assert "PlanError[unknown-algorithm]: there is no algorithm 'gco'" in done.stderr
    assert "gca" not in done.stderr


SESSION = """
from collections import Counter
import pyarrow as pa
import windrow

session = windrow.Session()
for name, step in (("a", 2), ("b", 3), ("c", 5)):
    times = list(range(0, 60, step))
    table = pa.table({"ts": times, "k": [time % 4 for time in times]})
    session.stream(name, table, time="ts")
QUERY = "SELECT a.ts AS x, b.ts AS y, c.ts AS z FROM a, b, c WHERE a.k = b.k WINDOW = 4"
HINTED = QUERY.replace("SELECT", "SELECT /*+ algorithm(gca) */")

def bag(result):
    return Counter(tuple(row.values()) for row in result.to_arrow().to_pylist())
"""

DRIVER = (
    SESSION
    + """
import base64, pickle
import cases.brute_force
from plans import HOUR, Bound, join, query, renamed, scan, stream
from windrow.optimize.planner import optimize
from windrow.physical.options import Options

found, wanted = bag(session.sql(QUERY, algorithm="brute-force")), bag(session.sql(QUERY))
assert wanted and found == wanted, (found, wanted)
assert "Brute force, nested loop" in session.explain(QUERY, algorithm="brute-force")

sales = stream("sales", {"k": "int", "x": "int"})
near = Bound(0, 1, HOUR, HOUR)
joined = join({"a": scan(sales, "a"), "b": scan(sales, "b")}, "a.k = b.k", near)
plan = optimize(query(renamed(joined, {"x": "a.x"})), Options(algorithm="brute-force"))
node, = plan.root.inputs
print(base64.b64encode(pickle.dumps(node)).decode())
"""
)

WORKER = """
import base64, pickle, sys
from windrow.operators.engine.base import build
from windrow.physical.algorithms import ALGORITHMS

node = pickle.loads(base64.b64decode(sys.argv[1]))
print("brute-force" in ALGORITHMS)
build(node)
print("cases.brute_force" in sys.modules)
"""


def test_an_algorithm_that_a_script_adds_answers_and_reaches_workers_that_were_not_told():
    paths = (str(Path(__file__).parents[1]),)
    driver = run_python(DRIVER, paths=paths)
    assert driver.returncode == 0, driver.stderr
    worker = run_python(WORKER, driver.stdout.strip(), paths=paths)
    assert worker.stdout.split() == ["False", "True"], worker.stderr
