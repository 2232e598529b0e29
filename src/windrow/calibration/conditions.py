"""What measured weights hold for: this machine, these versions, these sizes."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from windrow.kernels.sources import KERNELS, digest_of
from windrow.optimize.cost.structures import Sizes

_CPU_INFO = Path("/proc/cpuinfo")


def conditions(sizes: Sizes) -> dict[str, object]:
    """Everything that a change of which makes measured weights worthless, by name."""
    return {
        "processor": processor_model(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "kernels": digest_of(KERNELS / "structures" / "runs.py"),
        "bucket size": sizes.bucket,
        "node size": sizes.node,
    }


def changes(stored: dict[str, object], now: dict[str, object]) -> list[str]:
    """What differs, each in words."""
    return [
        f"{name} was {stored.get(name, 'not known')}, and is {value}"
        for name, value in now.items()
        if stored.get(name) != value
    ]


def processor_model() -> str:
    """The name of the processor, as exactly as the system tells it."""
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, [*named, platform.processor(), platform.machine()]), "unknown")
