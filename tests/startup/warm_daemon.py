"""The process from which Spark forks its Python workers in tests, with all that they need loaded.

A worker that loads PyArrow, pandas, Numba and the operators by itself takes longer to start than a
short query takes to run. Spark forks from a process without them, since a library may start
threads, which do not outlive a fork; none of these does until it is used.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

NEEDED = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "windrow.run.spark.query",
    "windrow.run.spark.bucket_worker",
)

if __name__ == "__main__":
    for name in NEEDED:
        import_module(name)
    gc.freeze()
    manager()
