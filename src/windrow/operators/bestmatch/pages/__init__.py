"""Windows of bestmatch joins in pages on disk, where memory does not hold them."""
