"""Every text gives a result that runs or an error of Windrow's: no other exception, crash or hang.

A few hundred texts are tried; `WINDROW_FUZZ=20000` tries so many, from `WINDROW_FUZZ_SEED` on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.texts import Texts

COUNT = int(os.environ.get("WINDROW_FUZZ", "120"))
SEED = int(os.environ.get("WINDROW_FUZZ_SEED", "0"))
SLICE = 500
HERE = Path(__file__).parent


def tried(start: int, count: int) -> tuple[list[dict[str, object]], int]:
    """What went wrong in a slice, and where the next one begins: behind a text that ended this one."""
    ended = subprocess.run(
        [sys.executable, "slice.py", str(start), str(count)],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    broken = [json.loads(line) for line in ended.stdout.splitlines()]
    if not ended.returncode:
        return broken, start + count
    lines = ended.stderr.splitlines()
    last = max((int(line[7:]) for line in lines if line.startswith("trying ")), default=start)
    said = "\n".join(line for line in lines if not line.startswith("trying "))
    text = Texts(last).text()
    fatal = {"seed": last, "text": text, "said": f"ended by {ended.returncode}: {said[:3000]}"}
    return [*broken, fatal], last + 1


@pytest.mark.law
def test_every_text_gives_a_result_or_an_error_of_ours():
    broken, start, end = [], SEED, SEED + COUNT
    while start < end:
        found, start = tried(start, min(SLICE, end - start))
        broken += found
    shown = [f"{each['seed']}: {each['text']!r}\n{each['said']}" for each in broken[:20]]
    assert not broken, "\n\n".join(shown)
