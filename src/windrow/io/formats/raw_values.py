"""Messages as they are: one column of bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.io.formats.decoded import Decoded


class RawValues:
    """Makes a row of each value, whatever it holds."""

    columns = pa.schema([("value", pa.binary())])

    def decode(self, values: Sequence[bytes | None]) -> Decoded:
        """The values in a column."""
        column = pa.array(values, pa.binary())
        rows = pa.RecordBatch.from_arrays([column], schema=self.columns)
        return Decoded(rows, np.arange(len(values)))
