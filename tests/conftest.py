"""Which tests are laws: properties that hundreds of drawn cases try, and so take minutes."""

from __future__ import annotations

import pytest

LAWS = ("/tests/property/", "/tests/kernels/published/", "/tests/differential/")


def pytest_collection_modifyitems(items):
    for item in items:
        if any(folder in str(item.path) for folder in LAWS):
            item.add_marker(pytest.mark.laws)
