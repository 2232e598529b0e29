"""The bestmatch paper's loops: pages against pages, and nested loops.

Rows lie in one array of page frames, in the order of `windrow.kernels.epsilon_grid`; a row is a line of
whole numbers: y1 to yd, and its number in its stream. Distances and cells are exact. What decides when
and which pages is `windrow_papers.operators.matwin`, in Python.
"""
