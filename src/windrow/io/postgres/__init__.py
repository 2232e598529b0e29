"""PostgreSQL: a table or a query as a table, and an answer kept current in a table.

`connector.py` is what users say; `table.py` reads, `sink.py` writes, by the statements of `changes.py`.
Rows go by COPY, as text that Arrow's kernels write (`copy_text.py`) and read (`table.py`, by the
types of `types.py`).
"""
