"""Arrays in, arrays out: the compiled loops.

numba lives here and nowhere else. Imports nothing of Windrow, and cannot fail in a way a user
would see: callers check first.
"""
