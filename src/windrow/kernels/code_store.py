"""Compiled kernels as files: one for each kernel, signature and processor.

    <root>/<version>/bew_hash.probe_buckets-5f0c..a1.kernel

    | windrow kernel 1 | digest of the rest | the key, and what numba made of the kernel |

The name is a digest of the key: signature, processor with its features, and the code of the function.
What is there for this very processor comes first, then code for all of its kind, which `windrow warm
--portable` compiles: an image is built on one machine, and run on others.
A file is written under a temporary name and renamed, so that it is there whole or not at all. It is read
only if its digest is right and its key the very one that is asked for; what is damaged or of something
else counts as not there, is compiled again, and replaced. No file is read that somebody else may have
written (`code_folders.py`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

from windrow.kernels.code_folders import is_trusted, portable_processor, runs_portable_code
from windrow.kernels.compiling import COMPILING

_MARK = b"windrow kernel 1\n"
_DIGEST_BYTES = 32
SUFFIX = ".kernel"

FILES: set[str] = set()
"""The files that this process has read or written."""


class StoredCode:
    """The files of a module's kernels.

    Args:
        own: the folder that is written and read first; None for none.
        others: folders that are only read.
    """

    def __init__(self, own: str | None, others: tuple[str, ...] = ()) -> None:
        self.own = own
        self._folders = [Path(folder) for folder in (own, *others) if folder is not None]

    def load(self, name: str, key: object) -> Any:
        """What was stored under that key; None for nothing."""
        for folder in self._folders:
            found = _read(folder / name, key)
            if found is not None:
                FILES.add(str(folder / name))
                return found
        return None

    def save(self, name: str, key: object, data: object) -> None:
        """Stores it, if there is a place."""
        if self.own is None:
            return
        payload = dumps((key, data))  # type: ignore[no-untyped-call]
        text = _MARK + _digest(payload) + payload
        file = Path(self.own, name)
        with contextlib.suppress(OSError):  # a kernel that cannot be kept is compiled again
            _replace(file, text)
            FILES.add(str(file))


def is_whole(file: Path) -> bool:
    """Whether a file is there, and as it was written."""
    return _payload(file) is not None


def _payload(file: Path) -> bytes | None:
    try:
        with file.open("rb") as opened:
            if not is_trusted(os.fstat(opened.fileno())):
                return None
            text = opened.read()
    except OSError:
        return None
    start = len(_MARK) + _DIGEST_BYTES
    payload = text[start:]
    return payload if text[:start] == _MARK + _digest(payload) else None


def _read(file: Path, key: object) -> Any:
    payload = _payload(file)
    if payload is None:
        return None
    try:
        stored, data = pickle.loads(payload)
    except Exception:  # noqa: BLE001  # whatever it was, it cannot be read
        return None
    return data if stored == key else None


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST_BYTES).digest()


def _replace(file: Path, text: bytes) -> None:
    new = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    try:
        with new.open("xb") as opened:
            opened.write(text)
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


class KernelCache(FunctionCache):
    """What numba asks for compiled code, and gives it to."""

    def __init__(self, function: Any, store: StoredCode) -> None:
        self._py_func = function
        self._store = store
        self._impl = _Made(function)
        self._cache_path = store.own
        self._stem = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"
        self._enabled = True

    def __repr__(self) -> str:
        return f"<kernels of {self._stem}>"

    def flush(self) -> None:
        """Nothing: files are named by what is in them."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel of a signature; None where it must be compiled."""
        data = None
        for key in self._keys(sig, target_context.codegen()):
            data = self._store.load(self._file_of(key), key)
            if data is not None:
                break
        else:
            COMPILING.began(self._stem)
            return None
        target_context.refresh()
        return self._impl.rebuild(target_context, data)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Stores a kernel that has been compiled."""
        if self._impl.check_cachable(data):
            key = self._key(sig, data.codegen)
            self._store.save(self._file_of(key), key, self._impl.reduce(data))

    def _key(self, signature: Any, codegen: Any) -> Any:
        return self._index_key(signature, codegen)  # type: ignore[no-untyped-call]

    def _keys(self, signature: Any, codegen: Any) -> Iterator[Any]:
        """Of code for this very processor, and of code that this processor runs as well."""
        key = self._key(signature, codegen)
        yield key
        if runs_portable_code():
            kind, (triple, _processor, _features), *rest = key
            yield (kind, (triple, portable_processor(), ""), *rest)

    def _file_of(self, key: Any) -> str:
        told = hashlib.blake2b(repr(key).encode(), digest_size=16).hexdigest()
        stem = "".join(
            letter if letter.isalnum() or letter in "_." else "-" for letter in self._stem
        )
        return f"{stem[:100]}-{told}{SUFFIX}"


class _Made(CompileResultCacheImpl):
    """How numba takes a compiled kernel apart and puts it together; without its choice of a place."""

    def __init__(self, function: Any) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = self
        self._py_file = function.__code__.co_filename


def store_compiled(kernel: Any, store: StoredCode) -> None:
    """Has numba look for a kernel's compiled code in the store, and put it there."""
    if hasattr(kernel, "py_func"):  # numba may be told not to compile at all
        kernel._cache = KernelCache(kernel.py_func, store)
