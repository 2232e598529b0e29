"""Seeded streams: synthetic ones, generated retail ones, and real transactions.

Each workload gives `Streams`: event times and keys per stream, in order of time, which become the
tape of the window joins, or Arrow tables.
"""
