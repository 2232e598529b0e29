"""Prose shows the costs that are built in, whatever was measured on the machine at hand."""

from __future__ import annotations

import pytest

from windrow import session
from windrow.optimize.plans import REFERENCE_MACHINE


@pytest.fixture(autouse=True)
def built_in_costs(monkeypatch):
    monkeypatch.setattr(session, "_machine", lambda: REFERENCE_MACHINE)
