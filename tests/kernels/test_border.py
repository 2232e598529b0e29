"""What kernels return while a signal waits: the handler runs after it, and nothing breaks."""

from __future__ import annotations

import os
import subprocess
import sys

from windrow.kernels.code_folders import FOLDER_SETTING

MODULE = """
from typing import NamedTuple

import numpy as np

from windrow.kernels.jit import kernel

class Inner(NamedTuple):
    values: np.ndarray
    last: int

class Outer(NamedTuple):
    inner: Inner
    turns: int

@kernel
def busy(turns, told):
    told[0] = 1
    word = 1
    for _ in range(turns):
        word ^= (word << 13) & 0xFFFFFFFF
        word ^= word >> 17
        word ^= (word << 5) & 0xFFFFFFFF
    return Outer(Inner(np.full(2, word), word), turns)

"""

BUSY = """
import os, signal, threading
import numpy as np
from busy_kernel import Inner, Outer, busy

def interrupt(told):
    while not told[0]:
        pass
    os.kill(os.getpid(), signal.SIGINT)

first = busy(1, np.zeros(1, np.int64))
assert type(first) is Outer and type(first.inner) is Inner
assert first == (first.inner, 1) and first.inner.values.tolist() == [first.inner.last] * 2
for _ in range(3):
    told = np.zeros(1, np.int64)
    sender = threading.Thread(target=interrupt, args=(told,))
    sender.start()
    try:
        busy(100_000_000, told)
    except KeyboardInterrupt:
        print("interrupted")
    sender.join()
"""


def test_an_interrupt_waits_until_the_arrays_and_tuples_of_a_kernel_are_made(tmp_path):
    (tmp_path / "busy_kernel.py").write_text(MODULE)
    for compiled in ("now", "before"):
        ran = subprocess.run(
            [sys.executable, "-c", BUSY],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=tmp_path,
            env=os.environ | {FOLDER_SETTING: str(tmp_path / "cache")},
        )
        assert (ran.returncode, ran.stderr) == (0, ""), compiled
        assert ran.stdout.split() == ["interrupted"] * 3, compiled
