"""Sales of a day in files of an hour each, as an export would leave them.

python make_data.py
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

STORES = ("north", "south", "east")
SALES_PER_HOUR = 60


def sales(hour: int) -> pa.Table:
    numbers = range(hour * SALES_PER_HOUR, (hour + 1) * SALES_PER_HOUR)
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    return pa.table(
        {
            "store": [STORES[n % len(STORES)] for n in numbers],
            "price": [5 + n % 20 for n in numbers],
            "ts": pa.array(
                [begin + timedelta(minutes=n) for n in numbers], pa.timestamp("us", "UTC")
            ),
        }
    )


def main() -> None:
    folder = Path(__file__).parent / "data" / "sales"
    folder.mkdir(parents=True, exist_ok=True)
    for hour in range(24):
        # Complete when it has its name: a file that is seen is taken to be whole.
        unfinished = folder / f"_{hour:02}.parquet"
        pq.write_table(sales(hour), unfinished)
        unfinished.rename(folder / f"{hour:02}.parquet")
    print(f"24 files in {folder}")


if __name__ == "__main__":
    main()
