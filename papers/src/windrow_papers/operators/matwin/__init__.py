"""MatWin as the bestmatch paper has it: windows of two streams in pages on disk, m of them in memory.

It takes two sources of whole numbers, eps, page size and buffers, tuple by tuple, and gives best pairs as
they become final: what experiments measure. Pages, frames, schedules and the grid order are those of
the operator of queries (`windrow.operators.bestmatch.pages`). Page reads, page writes and comparisons are counted;
kernels do what is done per row.
"""
