"""Run by every Python that Spark starts in tests, before anything else.

Spark puts PySpark as an archive of source text before the installed package; its process on the
driver, one for each stage of each streaming query, then compiles all that it loads, which takes
four times as long as the loading. The installed package is the same, and compiled.
"""

from __future__ import annotations

import sys

sys.path[:] = [place for place in sys.path if not place.endswith("pyspark.zip")]
