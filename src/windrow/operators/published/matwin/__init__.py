"""MatWin as the bestmatch paper has it: windows of two streams in pages on disk, m of them in memory.

Twice. `matwin.py` takes two sources of whole numbers, eps, page size and buffers, tuple by tuple, and
gives best pairs as they become final: what experiments measure. `operator.py` is the operator of
queries; it takes batches of any rows, and has pages for what memory does not hold. Both have pages,
frames, schedules and the grid order from here. Page reads, page writes and comparisons are counted;
kernels do what is done per row.
"""
