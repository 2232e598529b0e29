"""What laws are tried under: hashes that hardly tell keys apart, blocks that hold next to nothing."""

from __future__ import annotations

import pytest

from windrow.operators.columns import key_columns
from windrow.operators.joins import bew_search


@pytest.fixture(scope="module")
def weak_hashes():
    """Hashes of texts and lists with one bit, so that most candidates are wrong."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("hashed_bytes", "hashed_lists"):
            strong = getattr(key_columns.kernels, name)
            patch.setattr(key_columns.kernels, name, lambda a, b, strong=strong: strong(a, b) & 1)
        yield


@pytest.fixture(scope="module")
def tiny_blocks():
    """Blocks of two start rows and three matches, so that every search is cut many times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bew_search, "START_ROWS", 2)
        patch.setattr(bew_search, "MOST_FOUND", 3)
        yield
