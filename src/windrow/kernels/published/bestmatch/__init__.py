"""The bestmatch paper's loops over pages: rows in grid order, pages against pages, nested loops.

Rows lie in one array of page frames; a row is a line of whole numbers: y1 to yd, and its number in
its stream. Distances and cells are exact. What decides when and which pages is `matwin`, in Python.
"""
