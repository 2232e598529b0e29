"""Rewrites of plans, each a function that keeps the answer: logical ones by theme, physical ones."""
