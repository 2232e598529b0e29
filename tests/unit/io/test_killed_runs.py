"""A run that is killed with kill -9, as often as one likes, gives what one gives that never was.

WINDROW_KILLS says how many kills a run gets; a soak takes 100.
"""

from __future__ import annotations

import os

import pytest
from contracts.killed_run import answer_of, fill, run_through

KILLS = int(os.environ.get("WINDROW_KILLS", "4"))


@pytest.mark.law
@pytest.mark.parametrize("kind", ["joined", "merged", "totals"])
def test_a_run_that_was_killed_gives_what_one_gives_that_never_was(tmp_path, kind):
    for name in ("whole", "killed"):
        fill(tmp_path / name)
    run_through(tmp_path / "whole", kind, 0, 0)
    expected = answer_of(tmp_path / "whole", kind)
    assert len(expected) >= 13
    # Each kill is drawn anew; where a run ends before all of them came, another one begins.
    killed, seed = 0, 0
    while killed < KILLS:
        folder = tmp_path / f"killed-{seed}"
        fill(folder)
        more, begun = run_through(folder, kind, KILLS - killed, seed)
        assert more
        assert answer_of(folder, kind) == expected
        killed += more
        seed += 1
        assert begun
