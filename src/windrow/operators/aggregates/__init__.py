"""Aggregates and set operations over the rows alive at each instant."""
