"""EXPLAIN: what a query does, for people who decide whether to trust it, and for machines."""
