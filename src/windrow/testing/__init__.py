"""For tests of queries: stream tables as text, clocks to advance, bags to compare."""
