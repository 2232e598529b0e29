"""The process from which Spark forks its Python workers, with all that Windrow's workers load in it.

    spark.python.daemon.module = windrow.run.spark.worker_daemon

Spark's own has nothing loaded but itself, and each worker that it forks loads PyArrow, pandas, DuckDB,
numba and the operators anew. Here they are loaded once, before the first fork, which shares their memory
as well. None of them starts a thread before it is used: a thread would not outlive the fork.

Spark also puts an archive of PySpark's source in front of the installed package, so that each process
compiles what it loads of it. Where the archive is the installed package's own, the package is taken.
"""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

NEEDED = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "windrow.run.spark.batch_worker",
    "windrow.run.spark.bucket_worker",
    "windrow.operators.joins.bew_join",
    "windrow.optimize.planner",
)
"""What most stages take; what only some do is loaded by their workers."""


def prefer_installed(path: list[str]) -> None:
    """Takes archives of PySpark from the path, if they are those of the package that is installed."""
    kept = [place for place in path if not place.endswith("pyspark.zip")]
    before, path[:] = path[:], kept
    spec = find_spec("pyspark")
    installed = Path(spec.origin).parent if spec is not None and spec.origin else None
    archives = [Path(place) for place in before if place not in kept]
    if not all(archive.parents[2] == installed for archive in archives):
        path[:] = before


def load() -> None:
    """Loads what workers need; what cannot be loaded, the worker that needs it says."""
    for name in NEEDED:
        with suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()  # pages that are never looked through stay shared


if __name__ == "__main__":
    prefer_installed(sys.path)
    load()
    from pyspark.daemon import manager

    manager()
