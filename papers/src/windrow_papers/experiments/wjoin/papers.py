"""The two papers, as experiments name them."""

from __future__ import annotations

REPORT_2002 = "Hammad et al. 2002, Joining multiple data streams with window constraints"
PAPER_2003 = "Hammad et al. 2003, Stream window join"
