"""Rewrites of logical plans: one file, one function, one reason."""
