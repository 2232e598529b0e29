from __future__ import annotations

import subprocess
import sys

import pytest

import windrow

HEAVY = ("numba", "pyspark", "pandas", "duckdb", "polars")


def loaded_after(statement: str) -> set[str]:
    """The heavy modules that a fresh interpreter has loaded after the statement."""
    probe = f"{statement}; import sys; print(*(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    ["import windrow", "import windrow; windrow.Session", "import windrow.errors, windrow.session"],
)
def test_importing_windrow_loads_no_engine(statement):
    assert loaded_after(statement) == set()


def test_a_process_that_only_declares_state_loads_no_kernel():
    # Spark starts one for every stage of a query that starts.
    statement = "from windrow.run.spark.processor import StageProcessor"
    assert loaded_after(statement) == {"pyspark"}


def test_every_public_name_can_be_had():
    assert dir(windrow) == sorted(windrow.__all__)
    for name in windrow.__all__:
        assert getattr(windrow, name) is not None


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'windrow' has no attribute 'Sesion'"):
        windrow.Sesion  # noqa: B018
