"""Prose shows the costs that are built in, whatever was measured on the machine at hand."""

from __future__ import annotations

import pytest

from windrow.calibration import stored as machine
from windrow.optimize.choose.plans import REFERENCE_MACHINE


@pytest.fixture(autouse=True)
def built_in_costs(monkeypatch):
    monkeypatch.setattr(machine, "this_machine", lambda: REFERENCE_MACHINE)
