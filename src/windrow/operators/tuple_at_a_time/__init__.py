"""Window joins by algorithms that take a tuple at a time (`kernels/tuple_at_a_time`)."""
