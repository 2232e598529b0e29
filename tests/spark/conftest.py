"""One Spark session per test process, for all tests of this folder."""

from __future__ import annotations

import os
import sys

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "/tests/spark/" in str(item.path):
            item.add_marker(pytest.mark.spark)
            # PySpark's own; ours are still errors.
            item.add_marker(pytest.mark.filterwarnings("ignore:::pyspark"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    from windrow.run.spark.query import PROVIDER_SETTING, ROCKSDB

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("windrow tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config(PROVIDER_SETTING, ROCKSDB)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
