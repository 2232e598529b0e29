"""What operations cost here, for the planner: as measured, where the measurement still holds."""

from __future__ import annotations

from functools import cache

from windrow.calibration.errors import CalibrationError
from windrow.calibration.stored import recall
from windrow.optimize.choose.plans import REFERENCE_MACHINE, Machine
from windrow.optimize.cost.structures import Sizes


@cache
def this_machine() -> Machine:
    """The costs of this machine, read once; those that are built in where there are no others."""
    try:
        return Machine(recall(Sizes()), "measured on this machine")
    except CalibrationError:
        return REFERENCE_MACHINE
