"""The paper, its workloads and the combinations of its figures, as these experiments name them."""

from __future__ import annotations

from windrow_papers.cost.combinations import Combination, Workload

PAPER = "Kang et al. 2003, Evaluating window joins over unbounded streams"
EIGHT = tuple(map(Combination.of, ("HH", "TT", "HT", "TH", "HN", "NH", "TN", "NT")))
"""Those of table 3 and figures 2 to 4, in the order of the table; the first letter is window A's."""

WORKLOADS = {
    "highly skewed": Workload(rate_a=2, rate_b=998, window_a=9_500, window_b=500),
    "moderately skewed": Workload(rate_a=800, rate_b=200, window_a=7_000, window_b=3_000),
    "even": Workload(rate_a=550, rate_b=450, window_a=4_000, window_b=6_000),
}
"""The three of figure 4 and table 3."""
