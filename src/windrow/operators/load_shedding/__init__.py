"""Joins that keep, and probe with, a random part of their tuples; aggregates that estimate from it.

In: rows, seeds, and what there is for each pane. Out: the combinations found with the chances that they
had; totals and averages with their intervals. Who gets how much is decided in `windrow.allocation`.
"""
