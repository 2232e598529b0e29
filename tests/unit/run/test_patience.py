"""What is away is waited for, and what is said when the waiting ends."""

from __future__ import annotations

import pytest

from windrow.io import Unavailable
from windrow.run.course import Patience


def away() -> None:
    raise Unavailable("away", "the sink is away", reason="it is", hint="start it")


def test_patience_that_ends_says_how_long_it_was_tried_again():
    with pytest.raises(Unavailable, match="the sink is away, and was tried again for 0s"):
        Patience(0.0, lambda _: None)(away)


def test_a_run_that_is_stopped_while_it_waits_says_so():
    patience = Patience(300.0, lambda _: patience.is_stopped.set())
    with pytest.raises(Unavailable) as stopped:
        patience(away)
    assert str(stopped.value) == (
        "Unavailable[away]: the sink is away, and the run was stopped while it waited\n"
        "  it is\n"
        "  hint: start it; the run goes on from its checkpoint when it is started again"
    )
