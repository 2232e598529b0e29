"""The papers' window joins as published: a tuple at a time, each algorithm with its own loops.

The 2002 and 2003 papers compare algorithms by the work they do. So that the comparison is one of
algorithms, each has a module of its own here, and counts in its own loops. What they share is how
tuples are laid out, and how results and work are handed over (`tape`). The 2004 paper's operators
and schedulings are in `scheduling`.
"""
