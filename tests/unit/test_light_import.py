from __future__ import annotations

import subprocess
import sys

import pytest

import windrow
from windrow.io.protocol import CONNECTORS
from windrow.registry import load

HEAVY = ("numba", "pyspark", "pandas", "duckdb", "polars")


READS_TABLES = {
    # Rows of tables are counted and sampled.
    "columns", "columns.arrow_types", "columns.changes", "columns.nested",
    # DuckDB says the types of expressions, and how many rows of a sample pass them.
    "expressions", "expressions.duckdb_engine", "expressions.evaluate", "expressions.functions",
    "expressions.plain_comparisons",  # whichever of the two answers
}  # fmt: skip
"""The modules of `operators` that planning over tables takes."""

JOINS_BY_TIME = {
    "alive_index", "bew_hash", "bew_period", "bew_scan",  # the join itself
    "fetch", "keys",  # keys are hashed, and meet by their hashes
    "jit", "signals", "sources", "code_folders", "code_store", "compiling",  # what compiles kernels
}  # fmt: skip
"""The kernels of a join by time."""


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after the statement."""
    probe = f"{statement}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def loaded_after(statement: str) -> set[str]:
    """The heavy modules of these."""
    return modules_after(statement) & set(HEAVY)


def inside(room: str, modules: set[str]) -> set[str]:
    """The modules of a room of ours, by their names in it."""
    start = f"windrow.{room}."
    return {name.removeprefix(start) for name in modules if name.startswith(start)}


@pytest.mark.parametrize(
    "statement",
    [
        "import windrow",
        "import windrow; windrow.Session",
        "import windrow.errors, windrow.session",
        "import windrow.extend",
    ],
)
def test_importing_windrow_loads_no_engine(statement):
    assert loaded_after(statement) == set()


def test_a_process_that_only_declares_state_loads_no_kernel():
    # Spark starts one for every stage of a query that starts.
    statement = "from windrow.run.spark.processor import StageProcessor"
    assert loaded_after(statement) == {"pyspark"}


def test_planning_loads_no_operator():
    loaded = modules_after(
        "import pyarrow as pa, windrow\n"
        "session = windrow.Session()\n"
        "for name in 'ab':\n"
        "    rows = pa.table({'k': [1, 2] * 9, 'x': range(18), 't': range(18)})\n"
        "    session.stream(name, rows, time='t')\n"
        "session.explain('SELECT a.k FROM a, b WHERE a.k = b.k AND a.x < b.x WINDOW = 5')"
    )
    assert "numba" not in loaded
    assert inside("operators", loaded) == READS_TABLES
    # Text alone: measured costs are those of kernels as they were, or of no use.
    assert inside("kernels", loaded) == {"sources"}


def test_a_worker_loads_the_operators_and_the_kernels_of_its_stage_alone():
    loaded = modules_after(
        "import windrow.run.spark.batch_worker, windrow.run.spark.bucket_worker\n"
        "from windrow.physical.algorithms import ALGORITHMS, DEFAULT\n"
        "from windrow.physical.partitioning.buckets import HashShares, Slices\n"
        "from windrow.registry import load\n"
        "for place in (ALGORITHMS[DEFAULT].operator, HashShares.router, Slices.router):\n"
        "    load(place)"
    )
    assert inside("kernels", loaded) == JOINS_BY_TIME
    rooms = {name.split(".")[0] for name in inside("operators", loaded)}
    assert rooms == {"columns", "engine", "expressions", "joins", "routing"}
    others = {"table_join", "asof", "count_join", "outer_join", "snapshot_join"}
    assert not others & inside("operators.joins", loaded)
    assert "by_cells" not in inside("operators.routing", loaded)


def test_every_public_name_can_be_had():
    assert dir(windrow) == sorted(windrow.__all__)
    for name in windrow.__all__:
        assert getattr(windrow, name) is not None


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'windrow' has no attribute 'Sesion'"):
        windrow.Sesion  # noqa: B018


def test_every_connector_of_ours_is_a_public_name():
    ours = {name for name, place in CONNECTORS.items() if place.startswith("windrow.")}
    assert ours
    assert ours < set(windrow.__all__)
    assert all(getattr(windrow, name) is load(CONNECTORS[name]) for name in ours)


def test_hints_name_the_connectors_that_serve():
    with pytest.raises(windrow.BindError, match=r"come from files, kafka(,| or) generate.*Source"):
        windrow.terminal().source()
    with pytest.raises(
        windrow.BindError, match=r"go to files, kafka, postgres, delta, terminal.* or call, .*Sink"
    ):
        windrow.generate("id BIGINT", rate=1).sink()
