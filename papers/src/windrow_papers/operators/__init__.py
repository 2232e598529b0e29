"""What makes the papers' window joins run in queries, and MatWin over two sources of whole numbers."""
