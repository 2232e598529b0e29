"""What operators hand to one another and keep: change batches, chunks, keys, types, exact numbers."""
