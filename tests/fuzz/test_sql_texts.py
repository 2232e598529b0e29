"""Every text gives a result that runs or an error of Windrow's: no other exception, crash or hang.

A few hundred texts are tried; `WINDROW_FUZZ=20000` tries so many, from `WINDROW_FUZZ_SEED` on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

COUNT = int(os.environ.get("WINDROW_FUZZ", "250"))
SEED = int(os.environ.get("WINDROW_FUZZ_SEED", "0"))
SLICE = 500
HERE = Path(__file__).parent


def test_every_text_gives_a_result_or_an_error_of_ours():
    broken = []
    for start in range(SEED, SEED + COUNT, SLICE):
        count = min(SLICE, SEED + COUNT - start)
        ended = subprocess.run(
            [sys.executable, "slice.py", str(start), str(count)],
            cwd=HERE,
            capture_output=True,
            text=True,
            check=False,
        )
        broken += [json.loads(line) for line in ended.stdout.splitlines()]
        if ended.returncode:
            broken.append({"ended": ended.returncode, "said": ended.stderr[-1500:]})
    shown = [f"{each.get('seed')}: {each.get('text')!r}\n{each['said']}" for each in broken[:20]]
    assert not broken, "\n\n".join(shown)
