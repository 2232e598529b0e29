"""The 2004 paper's window operators under its three schedulings, a tuple at a time, as published.

    scan (W-Expire) --> select or look up --> W-Join --> W-Group-By, W-DISTINCT, W-MAX, answer

Operators are connected by first-in-first-out queues. Every step is counted, and moves a clock on.
"""
