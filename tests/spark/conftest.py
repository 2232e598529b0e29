"""All tests of this folder need a JVM."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "/tests/spark/" in str(item.path):
            item.add_marker(pytest.mark.spark)
            # PySpark's own; ours are still errors.
            item.add_marker(pytest.mark.filterwarnings("ignore:::pyspark"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
