"""The process that Spark's workers are forked from: what it loads, and from where."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark")

from windrow.run.spark.worker_daemon import NEEDED, prefer_installed  # noqa: E402

OWN = str(Path(pyspark.__file__).parent / "python" / "lib" / "pyspark.zip")


def test_the_installed_package_is_taken_instead_of_its_own_archive():
    path = ["first", OWN, "last"]
    prefer_installed(path)
    assert path == ["first", "last"]


def test_an_archive_of_another_spark_stays_where_it_is():
    path = ["first", "/opt/spark/python/lib/pyspark.zip", OWN]
    prefer_installed(path)
    assert path == ["first", "/opt/spark/python/lib/pyspark.zip", OWN]


def test_all_that_it_loads_is_there():
    assert all(find_spec(name) for name in NEEDED)
