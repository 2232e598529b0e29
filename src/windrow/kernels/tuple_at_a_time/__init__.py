"""Window joins a tuple at a time: forward evaluation, pipelines, a structure for each window.

Each algorithm has a module of its own, and counts the work it does in its own loops. What they share is
how tuples are laid out, how results and work are handed over (`tape`), and what an operator asks of them
(`machine`).
"""
