"""The functions of a job: found in Python modules, and registered with the job's session."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import windrow
from windrow.cli.errors import JobError
from windrow.cli.job import Function, Job


def register_functions(session: windrow.Session, job: Job) -> list[ModuleType]:
    """Lets the session know the job's functions; gives their modules beside the job file."""
    modules = []
    for function in job.functions:
        module, body = _load(function, job.folder)
        session.function(
            function.name,
            body,
            arguments=function.arguments,
            returns=function.returns,
            vectorized=function.vectorized,
            partial_order=function.partial_order,
        )
        if Path(getattr(module, "__file__", None) or "").parent == Path(job.folder):
            modules.append(module)
    return modules


def _load(function: Function, folder: str) -> tuple[ModuleType, Any]:
    name, _, attribute = function.body.partition(":")
    try:
        with _looking_in(folder):
            module = importlib.import_module(name)
        return module, getattr(module, attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise JobError(
            "no-function",
            f"the function {function.name} is not found at {function.body!r}",
            reason=str(error),
            hint="write module:function, the module beside the job file or installed",
        ) from error
    except Exception as error:
        raise JobError(
            "function-module",
            f"the module {name!r} of the function {function.name} cannot be loaded",
            reason=f"{type(error).__name__}: {error}",
            hint=f"mend what fails in  python -c 'import {name}'  in the folder of the job file",
        ) from error


@contextmanager
def _looking_in(folder: str) -> Iterator[None]:
    """Modules beside the job file are found too."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
