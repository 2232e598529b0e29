"""Bestmatch joins: candidates, orders, and the pairs that none dominates."""
