"""Where a query sheds, and what is expected of it."""
