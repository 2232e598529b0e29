"""What laws are tried under: hashes that hardly tell keys apart."""

from __future__ import annotations

import pytest

from windrow.operators.columns import key_columns


@pytest.fixture(scope="module")
def weak_hashes():
    """Hashes of texts and lists with one bit, so that most candidates are wrong."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("hashed_bytes", "hashed_lists"):
            strong = getattr(key_columns.kernels, name)
            patch.setattr(key_columns.kernels, name, lambda a, b, strong=strong: strong(a, b) & 1)
        yield
