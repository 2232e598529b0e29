"""What a kernel is made of: the text of its module, and of those of this room that it imports.

Read without loading any of them.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

KERNELS = Path(__file__).parent

_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\b|import\s+(.+))", re.MULTILINE)


def digest_of(module: Path, kernels: Path = KERNELS) -> str:
    """A digest of all that the kernels of a module are made of."""
    digest = hashlib.blake2b(digest_size=8)
    for source in sorted(sources_of(module, kernels)):
        text = source.read_bytes()
        digest.update(f"{source.name} {len(text)} ".encode())
        digest.update(text)
    return digest.hexdigest()


def sources_of(module: Path, kernels: Path = KERNELS) -> set[Path]:
    """The file of a module, those of the kernel modules that it imports, that they do, and so on.

    Args:
        module: the file.
        kernels: the folder of the package `windrow.kernels`.
    """
    found, waiting = {module}, [module]
    while waiting:
        new = _imported_by(waiting.pop(), kernels) - found
        found |= new
        waiting += new
    return found


def _imported_by(module: Path, kernels: Path) -> set[Path]:
    names: set[str] = set()
    for origin, listed in _IMPORT.findall(module.read_text(encoding="utf-8")):
        names.update([origin] if origin else re.findall(r"[\w.]+", listed))
    package = None if kernels in module.parents else _package_of(module)
    files: set[Path] = set()
    for name in names:
        if name.startswith("windrow.kernels."):
            file = kernels.joinpath(*name.split(".")[2:]).with_suffix(".py")
            files |= {file} if file.is_file() else set(kernels.rglob("*.py"))
        elif name.startswith(".") or name in ("windrow", "windrow.kernels"):
            files |= set(kernels.rglob("*.py"))
        if package is not None and name.startswith((".", package.name)):
            own = package.joinpath(*name.split(".")[1:]).with_suffix(".py")
            is_module = own.is_file() and not name.startswith(".")
            files |= {own} if is_module else set(package.rglob("*.py"))
    return files


def _package_of(module: Path) -> Path | None:
    """The folder of the package that a module is part of; None for a module by itself."""
    folders = [folder for folder in module.parents if folder.joinpath("__init__.py").is_file()]
    return folders[-1] if folders else None
