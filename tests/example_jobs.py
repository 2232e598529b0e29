"""The jobs in `examples/`, copied to where a test may run them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from docs.prose import ROOT


def copy_of_stores(folder: Path) -> Path:
    """The stores example with its data, in a folder of its own."""
    kept = shutil.ignore_patterns("data", "out")
    shutil.copytree(ROOT / "examples" / "stores", folder, ignore=kept)
    subprocess.run([sys.executable, str(folder / "make_data.py")], check=True, capture_output=True)
    return folder


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """All rows of the JSON files of a sink."""
    files = sorted(folder.glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]
