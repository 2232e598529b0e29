"""The papers' experiments as code: each gives a table and a figure, and decides the paper's claims.

In: nothing but a size; workloads are seeded. Out: an `Outcome`, and files when asked.
Algorithms run as published, on counted work and on time.
"""
