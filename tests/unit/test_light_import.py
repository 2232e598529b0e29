from __future__ import annotations

import subprocess
import sys

import pytest

import windrow
from windrow.io.protocol import CONNECTORS
from windrow.registry import load

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
