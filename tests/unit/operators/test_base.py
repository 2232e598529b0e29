from __future__ import annotations

import pytest

from windrow.operators.engine.base import Operator


def test_an_operator_that_does_not_say_which_buffers_it_holds_cannot_be_made():
    """Its rows would never be spilled, and its memory have no bound."""

    class Silent(Operator):
        push = advance = due = snapshot = restore = None

    with pytest.raises(TypeError, match="buffers"):
        Silent()
