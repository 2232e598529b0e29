"""Random, repeatable shedding, and what can still be said about the whole.

In: rows and seeds; then the combinations found and the chances they had. Out: who is drawn; totals
and averages with their intervals. No state, no windows: operators that shed keep those.
"""
