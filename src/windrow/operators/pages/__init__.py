"""Windows of two streams in pages on disk, as MatWin has them, for what memory does not hold.

`paged_bestmatch` is the operator of queries; it takes batches of any rows. Page reads, page writes and
comparisons are counted; kernels do what is done per row.
"""
