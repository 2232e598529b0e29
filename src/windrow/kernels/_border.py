"""What a kernel returns leaves compiled code without a line of Python being run.

numba makes the arrays and named tuples that a kernel returns with the help of Python: it asks a
function for their pickled classes, and calls that of a tuple. Between any two instructions of Python
the handler of a signal may run, and raise, as that of Ctrl-C does; numba then goes on with the class
that it has not got:

    kernel done --> unpickle the class --> make the object --> the caller
                          ^ Ctrl-C: no class, and the process dies

So classes are among the constants of our kernels, and their tuples are made by `tuple.__new__`, all of
it C. A signal waits until the kernel has returned. It is cheaper, too. Kernels of others keep numba's
way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types
from numba.core.boxing import box_array, box_namedtuple, box_tuple
from numba.core.pythonapi import _boxers

_modules: set[str] = set()


def guard_returns(function: Callable[..., Any]) -> None:
    """Has what a kernel, and others of its module, return be made by C alone."""
    _modules.add(function.__module__)
    _boxers.functions.update(_BOXERS)  # numba lets nobody register a type twice


def _is_ours(border: Any) -> bool:
    constants = border.env_manager
    return constants is not None and constants.env.globals.get("__name__") in _modules


def _box_array(kind: Any, value: Any, border: Any) -> Any:
    """The code that makes a Python object of a native array."""
    if not _is_ours(border):
        return box_array(kind, value, border)
    with _constants_for_pickles(border):
        return box_array(kind, value, border)


def _box_named_tuple(kind: Any, value: Any, border: Any) -> Any:
    """The code that makes a Python object of a native named tuple."""
    if not _is_ours(border):
        return box_namedtuple(kind, value, border)
    plain = box_tuple(kind, value, border)
    make, named = (_constant(border, known) for known in (tuple.__new__, kind.instance_class))
    made = border.pyapi.call_function_objargs(make, (named, plain))
    border.pyapi.decref(plain)
    return made


_BOXERS = {
    types.Array: _box_array,
    types.NamedTuple: _box_named_tuple,
    types.NamedUniTuple: _box_named_tuple,
}


@contextmanager
def _constants_for_pickles(border: Any) -> Iterator[None]:
    """Has code that is made meanwhile read what it would unpickle from the kernel's constants."""
    api = border.pyapi
    api.serialize_object = lambda known: known
    api.unserialize = lambda known: _constant(border, known)
    try:
        yield
    finally:
        del api.serialize_object, api.unserialize


def _constant(border: Any, known: Any) -> Any:
    constants = border.env_manager
    return constants.read_const(constants.add_const(known))
