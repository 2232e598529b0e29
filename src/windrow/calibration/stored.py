"""Weights in the user's cache folder: written once, read while what they hold for holds."""

from __future__ import annotations

import json
import math
import os
import platform
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from windrow.errors import WindrowError
from windrow.kernels.sources import KERNELS, digest_of
from windrow.optimize.choose.plans import REFERENCE_MACHINE, Machine
from windrow.optimize.cost.structures import Sizes, Structure, Weight, Weights

_MEASURE = "windrow cost --calibrate  measures them, in less than a minute"
_ELSEWHERE = "set XDG_CACHE_HOME to a folder that you may write to"


class CalibrationError(WindrowError, RuntimeError):
    """Weights of this machine cannot be had, or kept; who runs the command acts."""

    @classmethod
    def unreadable(cls, file: Path, problem: str) -> Self:
        """The file is not what was written."""
        return cls(
            "calibration-unreadable",
            f"{str(file)!r} holds no weights",
            reason=problem,
            hint=_MEASURE,
        )

    @classmethod
    def not_writable(cls, file: Path, problem: str) -> Self:
        """There is no place to keep them."""
        return cls(
            "calibration-not-writable",
            f"the weights cannot be written to {str(file)!r}",
            reason=problem,
            hint=_ELSEWHERE,
        )


_CPU_INFO = Path("/proc/cpuinfo")


def conditions(sizes: Sizes) -> dict[str, object]:
    """Everything that a change of which makes measured weights worthless, by name."""
    return {
        "processor": processor_model(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "kernels": digest_of(KERNELS / "structures" / "window.py"),
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


def weights_file() -> Path:
    """Where the weights of this user are kept.

    Raises:
        CalibrationError: the user has no home directory, as in some containers.
    """
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        home = Path(cache_home) if cache_home else Path("~/.cache").expanduser()
    except RuntimeError as error:
        raise CalibrationError(
            "calibration-nowhere",
            "there is nowhere to keep the weights of this machine",
            reason="the user has no home directory, and XDG_CACHE_HOME is not set",
            hint=_ELSEWHERE,
        ) from error
    return home / "windrow" / "weights.json"


def prepare() -> None:
    """Makes the folder, so that a measurement does not end with nowhere to go.

    Raises:
        CalibrationError: it cannot be made, or not be written to, or there is no place for it.
    """
    file = weights_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CalibrationError.not_writable(file, error.strerror or str(error)) from error
    if not os.access(file.parent, os.W_OK):
        raise CalibrationError.not_writable(file, "Permission denied")


def keep(weights: Weights, sizes: Sizes) -> Path:
    """Writes weights with what they hold for; gives the file.

    Raises:
        CalibrationError: the file cannot be written, or there is no place for it.
    """
    file = weights_file()
    text = json.dumps({"conditions": conditions(sizes), "weights": asdict(weights)}, indent=1)
    # Under another name at first: who reads meanwhile finds the old weights, whole.
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(text + "\n")
        fresh.replace(file)
    except OSError as error:
        raise CalibrationError.not_writable(file, error.strerror or str(error)) from error
    return file


def recall(sizes: Sizes) -> Weights:
    """The weights of this machine.

    Raises:
        CalibrationError: there are none, they are unreadable, or something has changed since.
    """
    file = weights_file()
    try:
        text = file.read_bytes()
    except FileNotFoundError as error:
        raise CalibrationError(
            "no-calibration",
            "the weights of this machine have not been measured",
            reason=f"there is no {str(file)!r}",
            hint=_MEASURE,
        ) from error
    except OSError as error:
        raise CalibrationError.unreadable(file, error.strerror or str(error)) from error
    try:
        found: dict[str, Any] = json.loads(text)
        weights, held_for = _weights(found["weights"]), dict(found["conditions"])
    except (ValueError, KeyError, TypeError) as error:
        raise CalibrationError.unreadable(file, f"{type(error).__name__}: {error}") from error
    changed = changes(held_for, conditions(sizes))
    if changed:
        raise CalibrationError(
            "calibration-outdated",
            "the weights were measured under other conditions",
            reason="; ".join(changed),
            hint=f"{_MEASURE}, with the sizes of buckets and nodes that are asked for",
        )
    return weights


def _weights(found: dict[str, Any]) -> Weights:
    by_structure = {
        one.name: Weight(_cost(found[one.name]["search"]), _cost(found[one.name]["update"]))
        for one in Structure
    }
    return Weights(**by_structure, unit=str(found["unit"]))


def _cost(found: Any) -> float:
    """What touching a tuple costs: never nothing, or plans could not be compared."""
    cost = float(found)
    if not 0 < cost < math.inf:
        message = f"a weight is {cost}"
        raise ValueError(message)
    return cost


@cache
def this_machine() -> Machine:
    """The costs of this machine, read once; those that are built in where there are no others."""
    try:
        return Machine(recall(Sizes()), "measured on this machine")
    except CalibrationError:
        return REFERENCE_MACHINE
