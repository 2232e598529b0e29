"""Logical nodes, one class per kind: what a relation is, and all that a query asks of it.

Families that are read together share a file.

A relation has flat column names: a scan of stream `sales` under alias `s` gives `s.price`. The
topmost Project gives the names that the user sees. Beside its columns every row has an event time
in ticks, an end (the instant it stops being alive, or never), and a sign.
"""
