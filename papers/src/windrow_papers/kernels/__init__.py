"""The papers' loops: window joins that plans do not take, MatWin's pages, scheduled operators.

The papers compare algorithms by the work they do. So that the comparison is one of algorithms, each has
a module of its own, and counts in its own loops. Tuples are laid out as in
`windrow.kernels.tuple_at_a_time`; `runs` lets any of the window joins take a whole tape.
"""
