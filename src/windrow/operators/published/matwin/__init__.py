"""MatWin as the bestmatch paper has it: windows of two streams in pages on disk, m of them in memory.

In: two sources of whole numbers, eps, page size, buffers. Out: best pairs as they become final.
Page reads, page writes and comparisons are counted; kernels do what is done per row.
"""
