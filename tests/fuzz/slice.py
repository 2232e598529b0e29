"""Tries a slice of drawn texts in a process of its own: `python slice.py seed count`.

Every text must give a result that runs, or an error of Windrow's. What does otherwise is printed, one
line of JSON each. A text that takes more than a minute ends the process.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import traceback
import warnings
from datetime import date
from decimal import Decimal

import pyarrow as pa
from texts import Texts

import windrow
from windrow.errors import WindrowError

LONGEST = 60


def rows(seed: int) -> pa.Table:
    point = pa.struct([("lat", pa.float64()), ("lon", pa.float64())])
    return pa.table(
        {
            "k": pa.array([1, 2, 1, None], pa.int32()),
            "x": pa.array([seed, 2, None, 7], pa.int64()),
            "y": pa.array([1, None, 3, 4], pa.int16()),
            "w": pa.array(["a", "b", None, "1"]),
            "f": pa.array([1.5, float("nan"), 0.0, None]),
            "d": pa.array([Decimal("1.50"), None, Decimal("0.25"), Decimal("9.99")], pa.decimal128(5, 2)),
            "ok": pa.array([True, False, None, True]),
            "tags": pa.array([[1, 2], [], None, [None, 3]], pa.list_(pa.int64())),
            "pt": pa.array([{"lat": 1.0, "lon": 2.0}, None, {"lat": None, "lon": 1.0}, None], point),
            "m": pa.array([[("a", 1)], [], None, [("b", None)]], pa.map_(pa.string(), pa.int64())),
            "day": pa.array([date(2024, 1, 1), None, date(1999, 12, 31), date(2024, 2, 29)]),
            "t": pa.array([0, 1, 4, 6], pa.int64()),
        }
    )  # fmt: skip


def streams_of_every_type() -> windrow.Session:
    found = windrow.Session()
    for number, name in enumerate("abc"):
        table = rows(number)
        found.stream(name, [table.slice(0, 2), table.slice(2)], time="t")
    found.table("dim", rows(5).drop_columns(["t"]))
    return found


def outcome(text: str) -> str:
    """ "" where the law holds; what happened where not."""
    try:
        streams_of_every_type().sql(text).to_arrow()
    except WindrowError as error:
        return "" if error.condition and str(error).strip() else "an error without a text"
    except BaseException:  # noqa: BLE001
        return traceback.format_exc()
    return ""


def main(seed: int, count: int) -> None:
    warnings.simplefilter("ignore")
    outcome("SELECT COUNT(*) AS n FROM a [RANGE 5]")  # what is loaded once counts for no text
    for number in range(seed, seed + count):
        text = Texts(number).text()
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        sys.stderr.write(f"trying {number}\n")
        said = outcome(text)
        faulthandler.cancel_dump_traceback_later()
        if said:
            sys.stdout.write(
                json.dumps({"seed": number, "text": text, "said": said[-1500:]}) + "\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
